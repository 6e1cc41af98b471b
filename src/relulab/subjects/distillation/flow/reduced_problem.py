"""The training problem reduced to the span of the points, which contains all gradients (T5 theorem D.1).

The rows of V are an orthonormal basis of the span. Then w = Vᵀc + a e for a unit vector e orthogonal to all points, and
the student's logits are Zc with Z = XVᵀ. So the flow has rank(X) + 1 dimensions instead of d.

Everything is computed from x = c − ĉ, where ĉ is the teacher's part in the span. Points with almost hard labels may
have gradients 10⁻¹⁰ times as large as others. Rounding errors of c would outweigh them, but x keeps its relative
precision. The basis starts with the point of the largest curvature at the minimum, and each next vector is the
direction that the next point adds. So the weakest points only involve the last coordinates.
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
    """Points Z in the basis V of their span, the teacher's part ĉ and logits z, and the direction e outside."""

    Z: Float64[np.ndarray, "n r"]
    V: Float64[np.ndarray, "r d"]
    c_hat: Float64[np.ndarray, " r"]
    z: Float64[Tensor, " n"]
    e: Float64[np.ndarray, " d"]

    @classmethod
    def of(cls, X: Float64[Tensor, "n d"], w_star: Float64[Tensor, " d"], w_0: Float64[Tensor, " d"]) -> "Reduced":
        """Reduce a problem; e is the direction of ``w_0`` outside the span, or zero if ``w_0`` lies in it."""
        row_span = span(X)
        V = row_span.V[row_span.kept]
        Z = X @ V.mT
        z = Z @ (V @ w_star)
        order = curvature(z).argsort(descending=True)
        turn, sorted_points = torch.linalg.qr(Z[order].mT)  # Z = sorted pointsᵀ turnᵀ, with exact zeros
        V, Z, outside = turn.mT @ V, sorted_points.mT[order.argsort()].contiguous(), w_0 - row_span.projected(w_0)
        # For a start in the span, only rounding is left outside.
        real = outside.norm() > 8 * len(w_0) * torch.finfo(w_0.dtype).eps * w_0.norm()
        e = outside / outside.norm() if real else torch.zeros_like(outside)
        return cls(Z.numpy(), V.numpy(), (V @ w_star).numpy(), z, e.numpy())

    def coordinates(self, w: Float64[Tensor, " d"]) -> tuple[Coordinates, float]:
        """The coordinates c and a of w."""
        return self.V @ w.numpy(), float(self.e @ w.numpy())

    def gradient(self, x: Coordinates) -> Coordinates:
        """The gradient ∇ℓ₁ in coordinates (D.4)."""
        return self.Z.T @ pull(self.z, self._delta(x)).numpy() / len(self.Z)

    def hessian(self, x: Coordinates) -> Float64[np.ndarray, "r r"]:
        """The Hessian ∇²ℓ₁ in coordinates (D.8)."""
        D = curvature(self.z + self._delta(x)).numpy()
        return self.Z.T @ (D[:, None] * self.Z) / len(self.Z)

    def loss(self, x: Float64[np.ndarray, "looks r"]) -> Float64[Tensor, " looks"]:
        """The loss ℓ₁ at each row of x."""
        delta = torch.from_numpy(x @ self.Z.T)
        return divergence(self.z.expand_as(delta), delta).mean(-1)

    def newton(self, x: Coordinates) -> float:
        """The length ‖H⁻¹∇ℓ₁‖ of the Newton step, an estimate of the distance to the minimum in the span.

        A small gradient alone is not enough, because the curvature may be small too.
        """
        delta = self._delta(x)
        D, rho = curvature(self.z + delta).numpy(), pull(self.z, delta).numpy()
        if not D.min() > 1e-300:
            return float("inf")  # the curvature of a logit beyond 690 underflows
        root = np.sqrt(D)
        A = root[:, None] * self.Z
        peak = np.abs(A).max(0)
        if not peak.min() > 0:
            return float("inf")  # so does the product with a short point
        size = peak * np.linalg.norm(A / peak, axis=0)  # scale columns to unit length
        step, _, rank, _ = np.linalg.lstsq(A / size, rho / root)
        if rank < len(size):
            return float("inf")  # rounding hides a direction, and with it the distance along it
        return float(np.linalg.norm(step / size))

    def _delta(self, x: np.ndarray) -> Tensor:
        return torch.from_numpy(self.Z @ x)
