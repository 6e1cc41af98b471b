"""The lowest layer of two networks of any depth: α_kj and the gradient g_1 at given points."""

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.nets.mlp import MLP, absolute
from relulab.subjects.specialization.instruments.top_down import Layer, top_down_layers
from relulab.subjects.specialization.tools.creases import gradient_at

CHUNK = 2000  # points per pass, so that memory does not grow with the data


@torch.no_grad()
def lowest_alpha(teacher: MLP, student: MLP, x: Float[Tensor, "N d"], j: int) -> Float[Tensor, "N n"]:
    """|α_kj(x)| = |v_k(x)ᵀ v*_j(x)| of every student k of the lowest layer, 0 where it is rounding only.

    V_1(x) = ∂f_L/∂f_1 depends on x through the gates of the upper layers, so α_kj is constant in every linear region.

    Args:
        teacher: One (leaky) ReLU network in float64.
        student: Another one with the same inputs and outputs.
        x: Points, (N, d), in float64.
        j: Index of a teacher node of the lowest layer, from 0.
    """
    n, K_eps = student.widths[1], _rounding(teacher, student)
    least = K_eps * (_largest(student).V[0, 0, :, :n].mT @ _largest(teacher).V[0, 0, :, j])
    parts = []
    for part in x.split(CHUNK):
        V, V_star = (top_down_layers(net, part)[0].V[0] for net in (student, teacher))
        alpha = (V[..., :n].mT @ V_star[..., j].unsqueeze(-1)).squeeze(-1).abs()
        parts.append(alpha.where(alpha > least, 0))
    return torch.cat(parts) if parts else x.new_zeros(0, n)


@torch.no_grad()
def lowest_gradient(
    teacher: MLP, student: MLP, x: Float[Tensor, "N d"]
) -> tuple[Float[Tensor, "N n"], Float[Tensor, "N n"]]:
    """g_1(x) = D_1 V_1ᵀ(f*_L − f_L) of every student node of the lowest layer, and its rounding allowance.

    Args:
        teacher: One (leaky) ReLU network in float64.
        student: Another one with the same inputs and outputs.
        x: Points, (N, d), in float64.
    """
    if teacher.depth == student.depth == 2:
        return gradient_at(teacher, student, x)
    n, K_eps = student.widths[1], _rounding(teacher, student)
    most = _largest(student).V[0, 0, :, :n]
    bounds, parts = [absolute(net) for net in (teacher, student)], []
    for part in x.split(CHUNK):
        lowest = top_down_layers(student, part)[0]
        residue = teacher(part)[0] - student(part)[0]
        g = (lowest.V[0, ..., :n].mT @ residue.unsqueeze(-1)).squeeze(-1) * lowest.D[0, :, :n]
        size = torch.stack([net(part.abs())[0] for net in bounds]).sum(0)
        parts.append((g, K_eps * size @ most))
    if not parts:
        return x.new_zeros(0, n), x.new_zeros(0, n)
    g, allowance = (torch.cat(both) for both in zip(*parts, strict=True))
    return g, allowance


@torch.no_grad()
def composition_rounding(teacher: MLP, student: MLP, farthest: Float[Tensor, " d"]) -> float:
    """Rounding of g_1 if V_1 and V*_1 are multiplied out, at all points whose coordinates are at most ``farthest``.

    Args:
        teacher: One (leaky) ReLU network in float64.
        student: Another one with the same inputs and outputs.
        farthest: The largest |x_i|, (d,).
    """
    size = torch.stack([absolute(net)(farthest[None])[0, 0] for net in (teacher, student)]).sum(0)
    return _rounding(teacher, student) * float((size @ _largest(student).V[0, 0, :, : student.widths[1]]).max())


def _largest(net: MLP) -> Layer:
    """The lowest layer of the network with absolute weights and open gates, which bounds that of the network."""
    bound = absolute(net)
    for b in bound.b:
        b.data += 1  # so that no gate is closed
    return top_down_layers(bound, bound.W[0].new_ones(1, bound.widths[0]).detach())[0]


def _rounding(teacher: MLP, student: MLP) -> float:
    return 4 * (sum(teacher.widths) + sum(student.widths)) * torch.finfo(torch.float64).eps
