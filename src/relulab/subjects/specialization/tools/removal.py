"""In which order nodes are removed from a network, by several criteria."""

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor

from relulab.core.followed import followed
from relulab.core.seeds import Role, stream
from relulab.nets.stages import Stage, Structure, weight_of
from relulab.subjects.specialization.tools.elimination import eliminated
from relulab.subjects.specialization.tools.node_moments import Moments

Criterion = Literal["missed", "modulation", "merge", "fan-out", "norm", "random"]
CRITERIA: tuple[Criterion, ...] = get_args(Criterion)
IN_OUTPUTS: tuple[Criterion, ...] = ("missed", "modulation", "merge")
"""criteria whose costs are changes of the outputs, so that they can be compared between layers"""
RIDGE = 1e-12  # share of its variance added to each node, so that linearly dependent nodes do no harm


class Removal(NamedTuple):
    """The order in which the nodes of a stage are removed, and what the removal of each costs.

    Attributes:
        order: All nodes, (n,), the first to go first.
        costs: Their costs, (n,), in this order. A node is not removed before those ahead of it.
    """

    order: Int[Tensor, " n"]
    costs: Float[Tensor, " n"]


def removals(of: Structure, by: Criterion, found: Mapping[str, Moments], seed: int = 0) -> dict[str, Removal]:
    """Return the order in which nodes are removed from each stage.

    The cost of a node is, for a node k with activation f_k and E[β_kk] = E‖∂f_L/∂f_k‖² (LM section 3.3):

    - "modulation": √E[β_kk] √E[f_k²], the change of the outputs when the node is removed, if the changes at different
      points and positions are independent.
    - "missed": √E[β_kk] times the root mean square of what the other nodes of the stage cannot replace: f_k minus its
      best linear combination of them. The node that is missed least is dropped, and E[β] changes with the combination.
    - "merge": the same with only one other node, the best: √E[β_kk] min_j √E[(f_k − c_j f_j)²].
    - "fan-out": the norm of the weights that read the node, relative to the other nodes of the stage.
    - "norm": the norm of the weights that make it, relative to the other nodes of the stage.
    - "random": random.

    If a stage is read at several places, the squares of the costs there are added.

    Args:
        of: The structure of a network.
        by: The criterion.
        found: The moments of the values that are read; not needed for "fan-out", "norm" and "random".
        seed: Seed of the random order.
    """
    rule: dict[str, Callable[[Structure, Stage, Mapping[str, Moments]], Removal]] = {
        "modulation": lambda of, stage, found: _sorted(_modulation(stage, found)),
        "missed": lambda of, stage, found: _missed(stage, found),
        "merge": lambda of, stage, found: _merged(stage, found),
        "fan-out": lambda of, stage, found: _sorted(_relative(_fan_out(of, stage))),
        "norm": lambda of, stage, found: _sorted(_relative(_norm(of, stage))),
        "random": lambda of, stage, found: _random(stage, seed, of.stages.index(stage)),
    }
    return {stage.name: rule[by](of, stage, found) for stage in of.stages}


def reads(stage: Stage) -> dict[str, bool]:
    """Return the values at which a stage is read, and whether all layers that read it have a place for a constant.

    Args:
        stage: The stage.
    """
    found: dict[str, bool] = {}
    for reader in stage.readers:
        found[reader.value] = found.get(reader.value, True) and reader.shift is not None
    return found


def _sorted(costs: Tensor) -> Removal:
    order = costs.argsort(stable=True)
    return Removal(order, costs[order])


def _relative(sizes: Tensor) -> Tensor:
    mean = sizes.square().mean().sqrt()
    return sizes / mean.where(mean > 0, 1)


def _modulation(stage: Stage, found: Mapping[str, Moments]) -> Tensor:
    parts = [found[value].beta.diagonal() * found[value].second.diagonal() for value in reads(stage)]
    return torch.stack(parts).sum(0).sqrt()


def _fan_out(of: Structure, stage: Stage) -> Tensor:
    """The norms of the columns that read each node."""
    weights = [weight_of(of.net, reader.layer).double() for reader in stage.readers]
    square = [W.reshape(W.shape[0], stage.nodes, -1).square().sum((0, 2)) for W in weights]
    return torch.stack(square).sum(0).sqrt()


def _norm(of: Structure, stage: Stage) -> Tensor:
    """The norms of the rows that make each node."""
    weights = [weight_of(of.net, maker).double() for maker in stage.makers]
    return torch.stack([W.flatten(1).square().sum(1) for W in weights]).sum(0).sqrt()


def _random(stage: Stage, seed: int, number: int) -> Removal:
    order = torch.from_numpy(stream(0, Role.CHANCE, seed, number).permutation(stage.nodes))
    return Removal(order, (torch.arange(stage.nodes, dtype=torch.float64) + 1) / stage.nodes)


def gram(m: Moments, centered: bool) -> Float[Tensor, "n n"]:
    """Return the covariances of nodes, or their second moments.

    Args:
        m: The moments.
        centered: Whether the means are subtracted, which is possible where a constant can replace them.
    """
    return m.second - torch.outer(m.mean, m.mean) if centered else m.second


def _missed(stage: Stage, found: Mapping[str, Moments]) -> Removal:
    """Eliminate nodes with the squares of errors weighted by E[β], which is the Gram matrix of the coefficients."""
    grams, crosses = [], []
    for value, centered in reads(stage).items():
        G, m = gram(found[value], centered), found[value]
        scale = G.diagonal().clamp(min=0).sqrt()
        scale = scale.where(scale > 0, 1)
        G = G / scale[:, None] / scale + RIDGE * torch.eye(len(G), dtype=G.dtype)
        grams.append(G)
        crosses.append(G @ (scale[:, None] * _root(m.beta)))
    order, costs = eliminated(grams, crosses)
    return Removal(order.flip(0), costs.flip(0).cummax(0).values.clamp(min=0).sqrt())


def _root(B: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    """Return L with L Lᵀ = B for a positive semidefinite B."""
    eigenvalues, vectors = torch.linalg.eigh(B)
    return vectors * eigenvalues.clamp(min=0).sqrt()


def _merged(stage: Stage, found: Mapping[str, Moments]) -> Removal:
    """Merge nodes one by one, each time the one whose merging costs least, into the node that is closest to it."""
    S = [found[value].second for value in reads(stage)]
    B = [found[value].beta.clone() for value in reads(stage)]
    alive, dropped, costs = torch.ones(stage.nodes, dtype=torch.bool), [], []
    gaps = [_gaps(second) for second in S]
    for _ in followed(range(stage.nodes - 1), "merging nodes"):
        least = [gap.min(1) for gap in gaps]
        error = torch.stack([b.diagonal().clamp(min=0) * at.values for b, at in zip(B, least, strict=True)]).sum(0)
        k = int(torch.where(alive, error, torch.inf).argmin())
        dropped.append(k)
        costs.append(float(error[k]))
        alive[k] = False
        for b, gap, second, at in zip(B, gaps, S, least, strict=True):
            j = int(at.indices[k])
            c = float(second[k, j] / second[j, j]) if second[j, j] > 0 else 0.0
            b[j] += c * b[k]  # what k does, j does too: B ← Tᵀ B T, row by row and column by column
            b[:, j] += c * b[:, k]
            gap[:, k] = torch.inf
    last = int(alive.nonzero()[0])
    order = torch.tensor([*dropped, last])
    return Removal(order, torch.tensor([*costs, torch.inf], dtype=torch.float64).cummax(0).values.sqrt())


def _gaps(second: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    """Return min_c E[(f_k − c f_j)²] for all pairs of nodes (k, j), infinite on the diagonal."""
    size = second.diagonal()
    gap = size[:, None] - second.square() / size.where(size > 0, torch.inf)
    return gap.clamp(min=0).fill_diagonal_(torch.inf)
