r"""The flow of the factor matrices themselves (T5 eq. 5.3), for any start, balanced or not.

    W_l' = −(W_L ⋯ W_{l+1})ᵀ ∇ℓ₁(w)ᵀ (W_{l−1} ⋯ W_1)ᵀ

The part of W_1 outside the span of the points never changes, so it is left out of the state and added when w is read.
For balanced starts the result is the same as in ``product_flow.py``, with as many unknowns as there are weights.
"""

from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.subjects.distillation.flow.product_flow import Square, Student, Vector
from relulab.subjects.distillation.flow.reduced_problem import Reduced
from relulab.subjects.distillation.tools.balanced_start import Factors, product


class FactorFlow:
    """The state is (W_1Vᵀ, W_2, …, W_L), flattened; s is t."""

    def __init__(self, points: Reduced, start: Factors):
        self.points = points
        V = torch.from_numpy(points.V)
        self.fixed = start[0] - start[0] @ V.mT @ V
        inside = [start[0] @ V.mT, *start[1:]]
        self.shapes = [tuple(W.shape) for W in inside]
        self.y0 = torch.cat([W.flatten() for W in inside]).numpy()
        self.scale = np.full(len(self.y0), max(np.abs(self.y0).max(), np.finfo(float).tiny))
        speed = np.linalg.norm(self.rhs(0.0, self.y0))
        self.first = float(np.linalg.norm(self.y0) / speed) if speed else 1.0

    def rhs(self, s: float, y: Vector) -> Vector:
        W = self.matrices(y)
        g = torch.from_numpy(self.points.gradient(product(W).numpy() - self.points.c_hat))
        return -torch.cat([G.flatten() for G in factor_gradients(W, g)]).numpy()

    def jacobian(self, s: float, y: Vector) -> Square:
        """−(MᵀHM + Σ_k g_k ∇²c_k), where c is the product and M its derivative with respect to all weights."""
        x = self.read(y).x
        H, g = (torch.from_numpy(f(x)) for f in (self.points.hessian, self.points.gradient))

        def c(flat: Tensor) -> Tensor:
            return product(self._split(flat))

        flat = torch.from_numpy(y)
        M = torch.func.jacrev(c)(flat)
        return -(M.mT @ H @ M + torch.func.jacrev(torch.func.grad(lambda flat: g @ c(flat)))(flat)).numpy()

    def read(self, y: Vector) -> Student:
        W = self.matrices(y)
        c, outside = product(W).numpy(), product([self.fixed, *W[1:]]).numpy()
        return Student(c, c - self.points.c_hat, outside)

    def clock(self, y: Vector) -> float:
        return 1.0

    def successor(self, s: float, y: Vector) -> None:
        return None

    def matrices(self, y: Vector) -> Factors:
        """The matrices W_1Vᵀ, W_2, …, W_L of a state."""
        return self._split(torch.from_numpy(np.ascontiguousarray(y)))

    def weights(self, y: Vector) -> Factors:
        """The matrices W_1, …, W_L of a state."""
        W = self.matrices(y)
        return [self.fixed + W[0] @ torch.from_numpy(self.points.V), *W[1:]]

    def _split(self, flat: Tensor) -> list[Tensor]:
        ends = np.cumsum([0, *(a * b for a, b in self.shapes)])
        return [flat[i:j].reshape(shape) for (i, j), shape in zip(pairwise(ends), self.shapes, strict=True)]


def factor_gradients(W: Factors, g: Float64[Tensor, " r"]) -> Factors:
    """The gradients ∂ℓ/∂W_l for all l, given ∇ℓ₁(w) = g."""
    below = [g[:, None]]  # W_{l−1} ⋯ W_1 g, a column
    for matrix in W[:-1]:
        below.append(matrix @ below[-1])
    above, gradients = g.new_ones(1, 1), []  # W_L ⋯ W_{l+1}, a row
    for matrix, column in zip(reversed(W), reversed(below), strict=True):
        gradients.append(above.mT @ column.mT)
        above = above @ matrix
    return gradients[::-1]
