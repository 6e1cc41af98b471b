"""Correlations of teacher and student nodes over samples that come in parts, in one pass."""

import torch
from jaxtyping import Float
from torch import Tensor


class StreamedCorrelation:
    """Collects ρ = f̃*ᵀ(f − c)/‖f − mean f‖, where f̃* has mean zero and norm one over all samples.

    Since the mean of f̃* is zero, ρ does not depend on the constant c. It is the mean over the first part, which avoids
    cancellation in the variance. A constant student node has correlation 0 instead of amplified rounding errors.
    """

    def __init__(self) -> None:
        self.N = 0

    def add(self, f_star: Float[Tensor, "N m"], f: Float[Tensor, "N n"]) -> None:
        """Add samples. ``f`` is changed.

        Args:
            f_star: Activations of the teacher nodes, normalized over all samples.
            f: Activations of the student nodes at the same samples.
        """
        if not self.N:
            self.c = f.mean(0)
            self.cross = f.new_zeros(f_star.shape[1], f.shape[1])
            self.total, self.square = f.new_zeros(2, f.shape[1], dtype=torch.float64)
        self.N += len(f)
        f = f.sub_(self.c)
        self.cross = self.cross + f_star.mT @ f
        self.total += f.sum(0)
        self.square += f.square_().sum(0)

    def value(self) -> Float[Tensor, "m n"]:
        """Return the correlations of the samples that were added."""
        spread = (self.square - self.total.square() / self.N).clamp(min=0)
        size = (self.square + 2 * self.total * self.c + self.N * self.c.double().square()).clamp(min=0)
        constant = spread <= (8 * torch.finfo(self.cross.dtype).eps) ** 2 * size
        rho = torch.where(constant, 0, self.cross / spread.where(~constant, 1).sqrt())
        return rho.to(self.cross.dtype).clamp(-1, 1)
