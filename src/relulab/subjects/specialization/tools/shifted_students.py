"""Two networks for demonstrations of several SS theorems: students on both sides of each teacher node."""

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.nets.mlp import MLP
from relulab.subjects.specialization.tools.teacher import teacher


def shifted_students(shift: float, n: int = 40_000, slope: float = 0.0) -> tuple[MLP, MLP, Float[Tensor, "N 2"]]:
    """Return a teacher with two nodes in the plane, a student with four nodes, and points in a square.

    Each teacher node is replaced by the mean of two student nodes whose biases differ from it by ± shift.

    Args:
        shift: Shift of the biases.
        n: Number of points, uniform in [−1, 1]².
        slope: Slope of the leaky ReLUs of both networks.
    """
    w, b = torch.eye(2, dtype=torch.float64), torch.tensor([0.0, 0.25], dtype=torch.float64)
    v = torch.tensor([[1.0, 0.5], [0.5, 1.0]], dtype=torch.float64)
    star, student = (MLP((2, width, 2), slope=slope, dtype=torch.float64) for width in (2, 4))
    star.W[0].data[0], star.b[0].data[0, 0], star.W[1].data[0] = w.T, b, v
    student.W[0].data[0], student.b[0].data[0, 0] = torch.cat([w, w]).T, torch.cat([b + shift, b - shift])
    student.W[1].data[0] = torch.cat([v, v]) / 2
    x = 2 * torch.rand(n, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64) - 1
    return star, student, x


def near_copy(n: int, d: int = 5, m: int = 2, off: float = 1e-6) -> tuple[MLP, MLP, Float[Tensor, "N d"]]:
    """Return a teacher in R^d, a student whose weights are nearly the same, and points from N(0, I).

    Args:
        n: Number of points.
        d: Number of inputs.
        m: Number of nodes of the teacher, and of the student.
        off: Standard deviation of the differences between the weights.
    """
    generator = torch.Generator().manual_seed(0)
    star = teacher((d, m, 3), seeds=[0])
    net = MLP.of(star.module())
    for p in net.parameters():
        p.data += off * torch.randn(p.shape, generator=generator, dtype=p.dtype)
    return star, net, torch.randn(n, d, generator=generator, dtype=torch.float64)
