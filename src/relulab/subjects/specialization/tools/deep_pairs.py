"""Networks with three layers for demonstrations of theorems on their lowest layer."""

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.nets.mlp import MLP
from relulab.subjects.specialization.tools.nodes import lowest, regular
from relulab.subjects.specialization.tools.shifted_students import shifted_students

NEAR = 0.004  # distance of points near a boundary


def deep_shifted_students(
    shift: float, n: int = 8000, slope: float = 0.0, spare: float = 0.0
) -> tuple[MLP, MLP, Float[Tensor, "N 2"]]:
    """Return the pair of ``shifted_students`` with a second hidden layer of two units, and points in a square.

    One unit of the second layer is active everywhere in the square. The boundary of the other one is bent where it
    meets those of the lowest layer.

    Args:
        shift: Shift of the biases of the lowest layer of the student.
        n: Number of points.
        slope: Slope of the leaky ReLUs of both networks.
        spare: Weights of two further students of the lowest layer that cancel each other. Large ones cost digits.
    """
    two, wide, _ = shifted_students(shift, 1, slope=slope)
    star = MLP((2, 2, 2, 2), slope=slope, dtype=torch.float64)
    student = MLP((2, 6 if spare else 4, 2, 2), slope=slope, dtype=torch.float64)
    W, b = torch.tensor([[1.0, 0.5], [0.5, 1.0]]).double(), torch.tensor([0.3, -0.4]).double()
    v = torch.tensor([[1.0, 0.2], [0.1, 1.0]]).double()
    for net, below, share in ((star, two, 1.0), (student, wide, 0.5)):
        units = below.widths[1]
        net.W[0].data[..., :units], net.b[0].data[..., :units] = below.W[0].data, below.b[0].data
        net.W[1].data[0, :units], net.b[1].data[0, 0] = share * W.repeat(units // 2, 1), b
        net.W[2].data[0] = v
    if spare:
        for unit, sign in ((4, 1.0), (5, -1.0)):
            net.W[0].data[0, :, unit], net.b[0].data[0, 0, unit] = torch.tensor([0.6, 0.8]).double(), 0.1
            net.W[1].data[0, unit] = sign * spare
    return star, student, points_near(star, n)


def bent_above(n: int = 8000) -> tuple[MLP, MLP, Float[Tensor, "N 2"]]:
    """Return networks with equal outputs in the square. The second layer of the student bends for a teacher node.

    The teacher is σ(x₁) + (x₁ + 5) + σ(x₂), and no boundary of its second layer meets the square. The student computes
    p = σ(x₁ + 5) in its lowest layer and σ(p − 5) = σ(x₁) in the second, so none of its lowest nodes is aligned with
    σ(x₁). Student node p observes that node with α_kj = 1 or 2.

    Args:
        n: Number of points.
    """
    star, student = (MLP((2, width, 3, 1), dtype=torch.float64) for width in (3, 2))
    star.W[0].data[0], star.b[0].data[0, 0] = torch.tensor([[1.0, 1, 0], [0, 0, 1]]), torch.tensor([0.0, 5, 0])
    star.W[1].data[0], star.b[1].data[0, 0] = torch.eye(3), 1.0
    student.W[0].data[0], student.b[0].data[0, 0] = torch.eye(2), torch.tensor([5.0, 0])
    student.W[1].data[0] = torch.tensor([[1.0, 1, 0], [0, 0, 1]])
    student.b[1].data[0, 0] = torch.tensor([-5.0, 1, 1])
    for net, constant in ((star, -3.0), (student, -2.0)):
        net.W[2].data[0], net.b[2].data[0, 0] = 1.0, constant
    return star, student, points_near(star, n)


def points_near(net: MLP, n: int) -> Float[Tensor, "N 2"]:
    """Draw points in the square [−1, 1]². A quarter is uniform, the others are near boundaries of the lowest layer.

    Args:
        net: A network with two inputs.
        n: Number of points.
    """
    generator = torch.Generator().manual_seed(0)
    w, b = regular(lowest(net))
    x, shift = (2 * torch.rand(n, size, generator=generator, dtype=torch.float64) - 1 for size in (2, 1))
    j = torch.arange(n) % len(b)
    onto = x - ((x * w[j]).sum(1) + b[j] + NEAR * shift[:, 0])[:, None] * w[j]
    near = (torch.arange(n) % 4 > 0) & (onto.abs() <= 1).all(1)
    return torch.where(near[:, None], onto, x)
