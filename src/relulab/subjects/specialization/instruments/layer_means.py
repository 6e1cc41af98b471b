"""The matrices of LM theorem 2 in every hidden layer: L, D, E[β] and H, of a student alone and with its teacher."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.threads import threads_for
from relulab.lab.instrument import instrument
from relulab.nets.hooks import hidden, points
from relulab.nets.mlp import MLP, as_mlp, check_points
from relulab.subjects.specialization.tools.streamed_means import Means, Network, streamed_means


class LayerMeans(NamedTuple):
    """Means over points in one hidden layer with n student nodes and m teacher nodes; without a teacher, m = 0.

    Attributes:
        L: E[f_j f_j'], how strongly two nodes are active together, (…, n, n).
        D: E[f'_j f'_j'], how often both nodes are active, (…, n, n).
        beta: E[β_jj'], the mean top-down modulation, (…, n, n).
        H: E[β] ∘ D, entry by entry, (…, n, n).
        L_star: E[f_j f*_j°] with the teacher's nodes, (…, n, m).
        D_star: E[f'_j f*'_j°], (…, n, m).
        beta_star: E[β*_jj°], (…, n, m).
        H_star: E[β*] ∘ D*, (…, n, m).
    """

    L: Float[Tensor, "*lane n n"]
    D: Float[Tensor, "*lane n n"]
    beta: Float[Tensor, "*lane n n"]
    H: Float[Tensor, "*lane n n"]
    L_star: Float[Tensor, "*lane n m"]
    D_star: Float[Tensor, "*lane n m"]
    beta_star: Float[Tensor, "*lane n m"]
    H_star: Float[Tensor, "*lane n m"]


@instrument(source="LM theorem 2", ids=("LM.T2", "LM.F11"))
@torch.no_grad()
def layer_means(
    student: nn.Module, x: Float[Tensor | np.ndarray, "*lane N d"], teacher: nn.Module | None = None
) -> dict[str, LayerMeans]:
    r"""Compute L = E[f fᵀ], D = E[f' f'ᵀ], E[β] and H = E[β] ∘ D in every hidden layer, and their starred twins.

    β_jj'(x) = Σ_c ∂f_c/∂f_j ∂f_c/∂f_j', where c runs over the outputs, and β*_jj°(x) has the teacher's derivatives in
    place of the second ones (LM eq. 3). The means are exact means over the points, computed in float64 and block by
    block: no matrix is kept per point. Memory grows as n² per layer, and time as N · C · n², or as N · n² for networks
    with up to three layers of weights.

    Args:
        student: An ``MLP`` or a plain Linear-ReLU-…-Linear module.
        x: Points, (N, d), or for an ``MLP`` also (lane, N, d); at least one.
        teacher: Another such network with the same inputs, outputs and depth, with one lane or as many lanes as the
            student.

    Returns:
        The means for each hidden layer, by name, with a lane axis for an ``MLP``.

    >>> from relulab.nets.initial import torch_default
    >>> teacher, student = (torch_default((3, n, n, 2), seeds=[0]) for n in (4, 5))
    >>> means = layer_means(student, torch.eye(3), teacher)
    >>> list(means), tuple(means["1"].H_star.shape)
    (['1', '2'], (1, 5, 4))
    """
    mlp, x = as_mlp(student), points(x)
    star = None if teacher is None else as_mlp(teacher)
    names = [str(l) for l in range(1, mlp.depth)] if isinstance(student, MLP) else list(hidden(student, x[:1]))
    lanes = zip(*(_cut(means, star is not None) for means in lane_means(mlp, x, star)), strict=True)
    found = [LayerMeans(*(torch.stack(parts).to(mlp.dtype) for parts in zip(*layer, strict=True))) for layer in lanes]
    if not isinstance(student, MLP):
        found = [LayerMeans(*(part[0] for part in layer)) for layer in found]
    return dict(zip(names, found, strict=True))


def lane_means(student: MLP, x: Float[Tensor, "*lane N d"], teacher: MLP | None = None) -> list[list[Means]]:
    """Return the means of every lane with the bias units, in float64: those of the student, then the starred ones.

    Args:
        student: The students.
        x: Points, (N, d) or (lane, N, d).
        teacher: The teachers, one or as many as students, or None.
    """
    x = x.detach()
    check_points(student, x.to(student.dtype))
    if not x.numel():
        raise UserError(f"expected at least one point, got x of shape {tuple(x.shape)}: give more points")
    if teacher is not None:
        check_pair(teacher, student)
    x = x.double().expand(student.lanes, *x.shape[-2:])
    found = []
    for i in range(student.lanes):
        one = Network.of(student, i)
        pair = [one] if teacher is None else [one, Network.of(teacher, i % teacher.lanes)]
        with threads_for(one.W[-1].shape[1] * max(W.numel() for W in one.W) / 4):
            found.append(streamed_means(one, pair, x[i]))
    return found


def check_pair(teacher: MLP, student: MLP) -> None:
    """Raise a ``UserError`` unless teacher and student have the same inputs, outputs, depth and lanes.

    Args:
        teacher: The teachers.
        student: The students.
    """
    ends = [(net.widths[0], net.widths[-1], net.depth) for net in (teacher, student)]
    if ends[0] != ends[1]:
        raise UserError(
            "expected a teacher and a student with the same inputs, outputs and number of layers, got "
            f"{'-'.join(map(str, teacher.widths))} and {'-'.join(map(str, student.widths))}: use networks that match"
        )
    if teacher.lanes not in (1, student.lanes):
        raise UserError(
            f"got {teacher.lanes} teachers for {student.lanes} students: expected one teacher, or one per student"
        )


def _cut(means: list[Means], with_teacher: bool) -> list[tuple[Tensor, ...]]:
    """Return for each hidden layer the eight matrices without the bias units."""
    layers = []
    for l in range(1, len(means[0].L)):
        parts = [[m.L[l], m.D[l], m.beta[l - 1], m.H(l)] for m in means]
        if not with_teacher:
            parts.append([part[:, :1] for part in parts[0]])  # one column, the bias unit, is cut below
        layers.append(tuple(part[:-1, :-1] for four in parts for part in four))
    return layers
