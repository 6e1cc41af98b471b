"""Normalized correlations of activations: which student node follows which teacher node, and how closely."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from relulab.core.alerts import Diverged, alert
from relulab.core.errors import UserError
from relulab.lab.instrument import instrument
from relulab.nets.hooks import hidden


def normalized(f: Float[Tensor, "*lane N n"]) -> Float[Tensor, "*lane N n"]:
    """Scale the activations of each unit to mean 0 and norm 1 over the samples; constant units become 0.

    A unit counts as constant if its changes are no larger than rounding errors.

    Args:
        f: Activations, (…, N, n).
    """
    return _centered(f)[0]


def constant_units(f: Float[Tensor, "*lane N n"]) -> Bool[Tensor, "*lane n"]:
    """Return which units have the same activation at all samples, up to rounding, such as dead ReLUs.

    Args:
        f: Activations, (…, N, n).

    >>> constant_units(torch.tensor([[0.0, 1.0], [0.0, 2.0]])).tolist()
    [True, False]
    """
    return _centered(f)[1]


def _centered(f: Float[Tensor, "*lane N n"]) -> tuple[Float[Tensor, "*lane N n"], Bool[Tensor, "*lane n"]]:
    """Return the normalized activations, and which units are constant."""
    largest = f.abs().amax(-2, keepdim=True)
    f = f / largest.where(largest > 0, 1)  # avoids overflow and underflow of squares
    centered = f - f.mean(-2, keepdim=True)
    norm = centered.norm(dim=-2, keepdim=True)
    constant = norm <= 8 * torch.finfo(f.dtype).eps * f.norm(dim=-2, keepdim=True)
    return torch.where(constant, 0, centered / norm.where(~constant, 1)), constant.squeeze(-2)


@instrument(source="SS (9), LM section 5", ids=("SS.F5", "SS.F7", "SS.F8"))
def correlation(f_star: Float[Tensor, "*lane N m"], f: Float[Tensor, "*lane N_ n"]) -> Float[Tensor, "*lane m n"]:
    r"""Compute the normalized correlation of every teacher node with every student node.

    ρ_{jj'} = f̃*_jᵀ f̃_{j'}, where f̃ are the activations over the samples, scaled to mean 0 and norm 1 (SS eq. 9). A node
    with constant activations has correlation 0 with all nodes. Positive rescaling of a node changes nothing. The
    correlations of a node with activations that are NaN or infinite are NaN.

    Args:
        f_star: Activations of the teacher's nodes at N ≥ 2 samples, (…, N, m).
        f: Activations of the student's nodes at the same samples, (…, N, n), of the same data type.

    Returns:
        The correlations, (…, m, n).

    >>> f = torch.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0]])
    >>> correlation(f, 3 * f).diagonal().round(decimals=6).tolist()
    [1.0, 1.0]
    """
    if f_star.shape[-2] != f.shape[-2]:
        raise UserError(
            f"expected activations at the same samples, got {f_star.shape[-2]} samples of the teacher and "
            f"{f.shape[-2]} of the student: use the same inputs"
        )
    if f_star.dtype != f.dtype:
        raise UserError(
            f"expected activations of the same data type, got {f_star.dtype} for the teacher and {f.dtype} for the "
            "student: convert one of them"
        )
    if f.shape[-2] < 2:
        raise UserError(f"expected at least two samples for a correlation, got {f.shape[-2]}: use more points")
    return (normalized(f_star).mT @ normalized(f)).clamp(-1, 1)


def layer_correlations(
    teacher: nn.Module,
    student: nn.Module,
    x: Tensor | np.ndarray,
    layers: Sequence[tuple[str, str]] | None = None,
) -> dict[str, Tensor]:
    """Compute the ``correlation`` of teacher and student in each hidden layer.

    If one of the networks is an ``MLP``, the result has a lane axis. A single network is compared with every lane of
    the other.

    Args:
        teacher: An ``MLP``, or any module with activation modules such as ``nn.ReLU``.
        student: Another such network.
        x: Points, (N, d), or any inputs of both networks.
        layers: Pairs of a hidden layer of the teacher and one of the student, each by name or by number from 1. By
            default the first with the first, the second with the second, and so on.

    Returns:
        For each hidden layer, by its name in the student, the correlations, (m, n) or (lane, m, n). If ``layers`` are
        given, the names are those of the pairs, such as "1:2".

    >>> net = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))
    >>> {name: tuple(rho.shape) for name, rho in layer_correlations(net, net, torch.eye(3)).items()}
    {'1': (5, 5)}
    """
    f_star, f = hidden(teacher, x), hidden(student, x)
    correlations = {}
    for name, a, b in paired_layers(f_star, f, layers):
        dtype = torch.promote_types(a.dtype, b.dtype)
        if a.dim() == b.dim() == 3 and 1 not in (len(a), len(b)) and len(a) != len(b):
            raise UserError(
                f"expected equally many teachers and students, or one of either, got {len(a)} teachers and {len(b)} "
                "students: select lanes with .lane(i)"
            )
        lanes = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        correlations[name] = correlation(*(f.to(dtype).expand(*lanes, *f.shape[-2:]) for f in (a, b)))
    return correlations


def paired_layers(
    f_star: dict[str, Tensor], f: dict[str, Tensor], layers: Sequence[tuple[str, str]] | None
) -> Iterator[tuple[str, Tensor, Tensor]]:
    """Yield the activations of each pair of layers to compare, with a name for the pair.

    Args:
        f_star: Activations of the teacher by layer.
        f: Activations of the student by layer.
        layers: Pairs of layers, as in ``layer_correlations``.
    """
    if layers is None:
        if len(f_star) != len(f):
            raise UserError(
                f"expected as many hidden layers in both networks, got {len(f_star)} and {len(f)}: name the layers to "
                f"compare, as in layers=[('1', '{len(f)}')] or --layer 1:{len(f)}"
            )
        yield from ((name, a, b) for a, (name, b) in zip(f_star.values(), f.items(), strict=True))
        return
    for star, student in layers:
        yield f"{star}:{student}", _layer(f_star, str(star)), _layer(f, str(student))


def _layer(f: dict[str, Tensor], wanted: str) -> Tensor:
    """Return a layer by name, or by its number from 1."""
    if wanted in f:
        return f[wanted]
    if wanted.isdecimal() and 1 <= int(wanted) <= len(f):
        return list(f.values())[int(wanted) - 1]
    raise UserError(f"there is no hidden layer {wanted!r}: choose a number from 1 to {len(f)}, or from {', '.join(f)}")


@instrument(source="SS section 7", ids=("SS.F7", "SS.F8"))
def best_match(
    rho: Float[Tensor, "*lane m n"],
) -> tuple[Float[Tensor, "*lane m"], Int[Tensor, "*lane m"]]:
    """Return the correlation and the index of the best student of each teacher node.

    If a correlation with a teacher node is NaN, so is the best one, and the index is that of a NaN.

    Args:
        rho: Correlations of m teacher and n student nodes, (…, m, n), as returned by ``correlation``.

    >>> [t.tolist() for t in best_match(torch.tensor([[0.5, 0.25], [0.0, 1.0]]))]
    [[0.5, 1.0], [0, 1]]
    """
    return tuple(rho.max(-1))


@instrument(source="SS (9), LM section 5", ids=("SS.F5",))
def rho_mean(rho: Float[Tensor, "*lane m n"]) -> Float[Tensor, "*lane"]:
    """The mean over teacher nodes of the best correlation, ρ_mean = mean_j max_{j'} ρ_{jj'}; NaN if one is NaN.

    Args:
        rho: Correlations of m teacher and n student nodes, (…, m, n), as returned by ``correlation``.

    >>> float(rho_mean(torch.tensor([[0.5, 0.25], [0.0, 1.0]])))
    0.75
    """
    return rho.amax(-1).mean(-1)


@instrument(source="SS section 7.1", ids=("SS.F7",))
def recovered(rho: Float[Tensor, "*lane m n"], threshold: float = 0.95) -> Bool[Tensor, "*lane m"]:
    """Return which teacher nodes have a student with a correlation above the threshold.

    Nodes with a correlation that is NaN count as not recovered, and there is a warning, ``relulab.Diverged``.

    Args:
        rho: Correlations of m teacher and n student nodes, (…, m, n), as returned by ``correlation``.
        threshold: Correlation above which a node counts as recovered.

    >>> recovered(torch.tensor([[0.5, 0.25], [0.0, 1.0]])).tolist()
    [False, True]
    """
    best = known(rho).amax(-1)
    return best > threshold


def known(rho: Float[Tensor, "*lane m n"]) -> Float[Tensor, "*lane m n"]:
    """Return correlations unchanged, and warn if some of them are NaN, since a yes or no would hide it.

    Args:
        rho: Correlations of m teacher and n student nodes, (…, m, n).
    """
    missing = rho.isnan().flatten(-2).any(-1)
    if missing.any():
        share = f" of {int(missing.sum())} of {missing.numel()} networks or snapshots" if missing.dim() else ""
        alert(
            f"correlations{share} are NaN, because activations are NaN or infinite: nodes of networks that diverged "
            "count as not recovered; leave these networks out, or train them with a smaller learning rate",
            Diverged,
        )
    return rho
