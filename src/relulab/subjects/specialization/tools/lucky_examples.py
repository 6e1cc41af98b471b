"""Teachers and students near them, for demonstrations of the theorems of LM."""

import math

import torch

from relulab.core.seeds import Role, stream
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.tools.nodes import Nodes


def orthogonal(bias: float, n: int = 6) -> Nodes:
    """Return nodes along the axes, with equal biases.

    Args:
        bias: Bias of all nodes.
        n: Number of nodes and of inputs.
    """
    return Nodes(torch.eye(n, dtype=torch.float64), torch.full((n,), bias, dtype=torch.float64))


def near_nodes(m: int = 4, d: int = 6, bias: float = -2.5, angle: float = 0.02, index: int = 9) -> tuple[Nodes, Nodes]:
    """Orthogonal teacher nodes with equal biases, and students at about the same angle from them.

    Args:
        m: Number of teacher nodes, at most d.
        d: Number of inputs.
        bias: Bias of all nodes.
        angle: Angle of every student with its teacher node, in radians.
        index: Number of the random stream.
    """
    rng = stream(0, Role.DEMONSTRATION, index)
    star = torch.linalg.qr(torch.from_numpy(rng.standard_normal((d, d)))).Q[:m]
    across = torch.from_numpy(rng.standard_normal((m, d)))
    across -= (across * star).sum(1, keepdim=True) * star
    across /= across.norm(dim=1, keepdim=True)
    b = torch.full((m,), bias, dtype=torch.float64)
    return Nodes(star, b), Nodes(math.cos(angle) * star + math.sin(angle) * across, b)


def one_arrived(bias: float = 0.0, angle: float = 0.1) -> tuple[Nodes, Nodes]:
    """Two orthogonal teacher nodes, one student that has arrived, and one at an angle toward the other teacher node.

    Args:
        bias: Bias of all nodes.
        angle: The angle of the second student, in radians.
    """
    star, b = torch.eye(2, dtype=torch.float64), torch.full((2,), bias, dtype=torch.float64)
    near = torch.tensor([[1.0, 0.0], [math.sin(angle), math.cos(angle)]], dtype=torch.float64)
    return Nodes(star, b), Nodes(near, b)


def lucky_pair(
    bias: float = -4.0, m: int = 3, r: int = 3, angle: float = 0.005, off: float = 0.05, fan_out: float = 1.0,
    spread: bool = True,
) -> tuple[MLP, MLP]:  # fmt: skip
    """A teacher and a student whose first nodes are near its own. Fan-outs have 4 outputs.

    Args:
        bias: Bias of all hidden nodes, whose weights have norm one.
        m: Number of teacher nodes.
        r: Number of further students.
        angle: Angle of the first students with their teacher nodes, in radians.
        off: Distance of their fan-outs from those of the teacher nodes, as a share of ``fan_out``.
        fan_out: Norm of the fan-outs of the teacher; those of further students are half as long.
        spread: Whether the nodes are orthogonal, in as many dimensions. If not, they are evenly spread in the plane.
    """
    rng, n = stream(0, Role.DEMONSTRATION, 10), m + r
    noise = [torch.from_numpy(rng.standard_normal((n, size))) for size in (n if spread else 2, 4, 4)]
    turns = 2 * math.pi * torch.arange(n, dtype=torch.float64) / n
    star = torch.eye(n, dtype=torch.float64) if spread else torch.stack([turns.cos(), turns.sin()], 1)
    across = noise[0] - (noise[0] * star).sum(1, keepdim=True) * star
    across, v, dv = (one / one.norm(dim=1, keepdim=True) for one in (across, *noise[1:]))
    near = math.cos(angle) * star + math.sin(angle) * across
    teacher, student = (MLP((star.shape[1], width, 4), dtype=torch.float64) for width in (m, n))
    teacher.W[0].data[0], teacher.W[1].data[0] = star[:m].T, fan_out * v[:m]
    student.W[0].data[0] = torch.cat([near[:m], star[m:]]).T
    student.W[1].data[0] = fan_out * torch.cat([(v + off * dv)[:m], v[m:] / 2])
    for net in (teacher, student):
        net.b[0].data.fill_(bias)
    return teacher, student
