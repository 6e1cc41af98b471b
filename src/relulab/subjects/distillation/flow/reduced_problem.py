"""A student's problem in the span of its points, where all of its gradients lie (T5 theorem D.1).

With an orthonormal basis of the span in the rows of V, w = Vᵀc + a e for a unit vector e orthogonal to all points, and
the student's logits are Zc with Z = XVᵀ. Of d dimensions the flow sees rank(X), and one more.

Everything is computed from x = c − ĉ, the way that is left to the teacher's part ĉ in the span. Points that the teacher
is sure of pull 1e-10 times as weakly as others, and rounding of c in the directions of the others would outweigh them;
x has all of its digits. The basis begins with the point of the largest curvature at the minimum, and each next vector
is what the next point adds: the weakest points are seen by the last coordinates alone.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.subjects.distillation.tools.distillation_loss import curvature, divergence, pull
from relulab.subjects.distillation.tools.span import span

Coordinates = Float64[np.ndarray, " r"]


@dataclass(frozen=True)
class Reduced:
    """Points Z in the basis V of their span, the teacher's part ĉ in it, its logits z, and the direction e outside."""

    Z: Float64[np.ndarray, "n r"]
    V: Float64[np.ndarray, "r d"]
    c_hat: Float64[np.ndarray, " r"]
    z: Float64[Tensor, " n"]
    e: Float64[np.ndarray, " d"]

    @classmethod
    def of(cls, X: Float64[Tensor, "n d"], w_star: Float64[Tensor, " d"], w_0: Float64[Tensor, " d"]) -> "Reduced":
        """``w_0`` gives the direction e, zero where it lies in the span."""
        found = span(X)
        V = found.V[found.kept]
        Z = X @ V.mT
        z = Z @ (V @ w_star)
        order = curvature(z).argsort(descending=True)
        turn, sorted_points = torch.linalg.qr(Z[order].mT)  # Z = sorted pointsᵀ turnᵀ, with exact zeros
        V, Z, outside = turn.mT @ V, sorted_points.mT[order.argsort()].contiguous(), w_0 - found.projected(w_0)
        # of a start in the span rounding is left, which is no direction outside
        real = outside.norm() > 8 * len(w_0) * torch.finfo(w_0.dtype).eps * w_0.norm()
        e = outside / outside.norm() if real else torch.zeros_like(outside)
        return cls(Z.numpy(), V.numpy(), (V @ w_star).numpy(), z, e.numpy())

    def coordinates(self, w: Float64[Tensor, " d"]) -> tuple[Coordinates, float]:
        """c and a of w."""
        return self.V @ w.numpy(), float(self.e @ w.numpy())

    def gradient(self, x: Coordinates) -> Coordinates:
        """∇ℓ₁ in coordinates (D.4)."""
        return self.Z.T @ pull(self.z, self._delta(x)).numpy() / len(self.Z)

    def hessian(self, x: Coordinates) -> Float64[np.ndarray, "r r"]:
        """∇²ℓ₁ in coordinates (D.8)."""
        D = curvature(self.z + self._delta(x)).numpy()
        return self.Z.T @ (D[:, None] * self.Z) / len(self.Z)

    def loss(self, x: Float64[np.ndarray, "looks r"]) -> Float64[Tensor, " looks"]:
        delta = torch.from_numpy(x @ self.Z.T)
        return divergence(self.z.expand_as(delta), delta).mean(-1)

    def newton(self, x: Coordinates) -> float:
        """‖H⁻¹∇ℓ₁‖, the length of Newton's step: how far the minimum in the span is, as seen from here.

        A small gradient alone says little where the curvature is small too.
        """
        delta = self._delta(x)
        D, rho = curvature(self.z + delta).numpy(), pull(self.z, delta).numpy()
        if not D.min() > 1e-300:
            return float("inf")  # a logit beyond 690 has no curvature that float64 can hold
        root = np.sqrt(D)
        A = root[:, None] * self.Z
        size = np.linalg.norm(A, axis=0)  # columns of unit length: no direction is slow
        return float(np.linalg.norm(np.linalg.lstsq(A / size, rho / root)[0] / size))

    def _delta(self, x: np.ndarray) -> Tensor:
        return torch.from_numpy(self.Z @ x)
