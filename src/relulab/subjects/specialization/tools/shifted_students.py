"""Two networks for demonstrations of several SS theorems: students on both sides of each teacher node."""

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.nets.mlp import MLP


def shifted_students(shift: float, n: int = 40_000) -> tuple[MLP, MLP, Float[Tensor, "N 2"]]:
    """Return a teacher with two nodes in the plane, a student with four nodes, and points in a square.

    Each teacher node is replaced by the mean of two student nodes whose biases differ from it by ± shift.

    Args:
        shift: Shift of the biases.
        n: Number of points, uniform in [−1, 1]².
    """
    w, b = torch.eye(2, dtype=torch.float64), torch.tensor([0.0, 0.25], dtype=torch.float64)
    v = torch.tensor([[1.0, 0.5], [0.5, 1.0]], dtype=torch.float64)
    teacher, student = MLP((2, 2, 2), dtype=torch.float64), MLP((2, 4, 2), dtype=torch.float64)
    teacher.W[0].data[0], teacher.b[0].data[0, 0], teacher.W[1].data[0] = w.T, b, v
    student.W[0].data[0], student.b[0].data[0, 0] = torch.cat([w, w]).T, torch.cat([b + shift, b - shift])
    student.W[1].data[0] = torch.cat([v, v]) / 2
    x = 2 * torch.rand(n, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64) - 1
    return teacher, student, x
