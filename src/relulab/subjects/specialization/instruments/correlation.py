"""Normalized correlation of activations: which student follows which teacher node, and how closely."""

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.lab.instrument import instrument
from relulab.nets.hooks import hidden


def normalized(f: Float[Tensor, "*lane N n"]) -> Float[Tensor, "*lane N n"]:
    """Each unit's activations with mean 0 and norm 1 over the samples; a unit that does not change becomes 0.

    Changes that are no larger than the rounding of the values themselves count as none.
    """
    largest = f.abs().amax(-2, keepdim=True)
    f = f / largest.where(largest > 0, 1)  # squares of very large or small activations would leave the number range
    centered = f - f.mean(-2, keepdim=True)
    norm = centered.norm(dim=-2, keepdim=True)
    constant = norm <= 8 * torch.finfo(f.dtype).eps * f.norm(dim=-2, keepdim=True)
    return torch.where(constant, 0, centered / norm.where(~constant, 1))


@instrument(source="SS (9), LM section 5", ids=("SS.F5", "SS.F7", "SS.F8"))
def correlation(f_star: Float[Tensor, "*lane N m"], f: Float[Tensor, "*lane N_ n"]) -> Float[Tensor, "*lane m n"]:
    r"""Normalized correlation of every teacher node with every student node.

    ρ_{jj'} = f̃*_jᵀ f̃_{j'}, with f̃ the activations over the samples, mean removed, norm one (SS eq. 9). A node whose
    activation is constant has correlation 0 with all. Unchanged by positive rescaling of any unit.

    Args:
        f_star: Activations of the teacher's nodes, (…, N, m), at N ≥ 2 samples.
        f: Activations of the student's nodes, (…, N, n), at the same samples and of the same floating type.

    >>> f = torch.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0]])
    >>> correlation(f, 3 * f).diagonal().round(decimals=6).tolist()
    [1.0, 1.0]
    """
    if f_star.shape[-2] != f.shape[-2]:
        raise UserError(f"{f_star.shape[-2]} samples of the teacher, {f.shape[-2]} of the student: use the same inputs")
    if f_star.dtype != f.dtype:
        raise UserError(f"the teacher's activations are {f_star.dtype}, the student's {f.dtype}: cast one of them")
    if f.shape[-2] < 2:
        raise UserError("a correlation needs at least two samples")
    return (normalized(f_star).mT @ normalized(f)).clamp(-1, 1)


def layer_correlations(teacher: nn.Module, student: nn.Module, x: Tensor | np.ndarray) -> dict[str, Tensor]:
    """``correlation`` of teacher and student in each hidden layer, by the student's layer names.

    Takes relulab's networks and any module with ReLU modules in it; both need the same number of hidden layers. With
    an ``MLP`` on either side there is a lane axis; a single network is compared with every lane of the other.

    Args:
        teacher: An ``MLP``, or any module with ReLU modules in it.
        student: Another, with as many hidden layers.
        x: Points, (N, d), or whatever both networks take.

    >>> net = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))
    >>> {name: tuple(rho.shape) for name, rho in layer_correlations(net, net, torch.eye(3)).items()}
    {'1': (5, 5)}
    """
    f_star, f = hidden(teacher, x), hidden(student, x)
    if len(f_star) != len(f):
        raise UserError(f"the teacher has {len(f_star)} ReLU layers, the student {len(f)}: layers cannot be paired")
    found = {}
    for a, (name, b) in zip(f_star.values(), f.items(), strict=True):
        finer = torch.promote_types(a.dtype, b.dtype)
        if a.dim() == b.dim() == 3 and 1 not in (len(a), len(b)) and len(a) != len(b):
            raise UserError(f"{len(a)} teachers and {len(b)} students: as many of each, or one")
        lanes = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        found[name] = correlation(*(f.to(finer).expand(*lanes, *f.shape[-2:]) for f in (a, b)))
    return found


@instrument(source="SS section 7", ids=("SS.F7", "SS.F8"))
def best_match(
    rho: Float[Tensor, "*lane m n"],
) -> tuple[Float[Tensor, "*lane m"], Int[Tensor, "*lane m"]]:
    """Correlation and index of the student that follows each teacher node best.

    Args:
        rho: Correlations of m teacher and n student nodes, (…, m, n), as ``correlation`` gives them.

    >>> [t.tolist() for t in best_match(torch.tensor([[0.5, 0.25], [0.0, 1.0]]))]
    [[0.5, 1.0], [0, 1]]
    """
    return tuple(rho.max(-1))


@instrument(source="SS (9), LM section 5", ids=("SS.F5",))
def rho_mean(rho: Float[Tensor, "*lane m n"]) -> Float[Tensor, "*lane"]:
    """Mean over teacher nodes of the best correlation, ρ_mean = mean_j max_{j'} ρ_{jj'}.

    Args:
        rho: Correlations of m teacher and n student nodes, (…, m, n), as ``correlation`` gives them.

    >>> float(rho_mean(torch.tensor([[0.5, 0.25], [0.0, 1.0]])))
    0.75
    """
    return rho.amax(-1).mean(-1)


@instrument(source="SS section 7.1", ids=("SS.F7",))
def recovered(rho: Float[Tensor, "*lane m n"], threshold: float = 0.95) -> Bool[Tensor, "*lane m"]:
    """Which teacher nodes have a student with a correlation above the threshold.

    Args:
        rho: Correlations of m teacher and n student nodes, (…, m, n), as ``correlation`` gives them.
        threshold: Correlation above which a node counts as recovered.

    >>> recovered(torch.tensor([[0.5, 0.25], [0.0, 1.0]])).tolist()
    [False, True]
    """
    return rho.amax(-1) > threshold
