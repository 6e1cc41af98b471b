"""Paths between two deep networks on which the loss stays low: SS appendix E, layer by layer.

The papers construct such a path for two layers. The construction here is ours. It needs half of the nodes of every
layer to do the work of all:

1. **merge**: in the first network, from the top to the bottom, the kept half of a layer stands in for the other half,
   whose fan-out goes to zero;
2. **copy**: the kept half of the second network is written into the silent nodes;
3. **hand over**: the outputs read these instead. Only the last layer changes, and the outputs are linear in it;
4. **copy**, **hand over**: nodes that found their own slot taken move to it, which changes no output;
5. **split**: the first step backward, for the second network.

So only "merge" and "split" can cost anything, and what they cost is measured.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import pairwise
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.followed import followed
from relulab.nets.narrowing import SAME
from relulab.nets.stages import Structure, structure
from relulab.nets.tracing import single_module
from relulab.subjects.specialization.tools.agreement import outputs
from relulab.subjects.specialization.tools.layer_pruning import prune_layers
from relulab.subjects.specialization.tools.slots import (
    Place,
    Slots,
    State,
    copied,
    embedded,
    handed_over,
    places,
    state_of,
)

FEW = 20  # points at which the end of the path is compared with the second network


class Half(NamedTuple):
    """A network and its kept half.

    Attributes:
        state: The weights of the network.
        small: The weights of the smaller network that the kept nodes make.
        slots: The kept nodes, by stage.
    """

    state: State
    small: State
    slots: Slots


class DeepPath(NamedTuple):
    """The corners of a path as weights, what happens between them, and a network that can take such weights."""

    moves: list[str]
    corners: list[State]
    kept: tuple[int, ...]
    nodes: tuple[int, ...]
    net: nn.Module

    def with_weights(self, state: State) -> nn.Module:
        """Return a copy of the network with other weights.

        Args:
            state: The weights.
        """
        copy = deepcopy(self.net)
        copy.load_state_dict({**copy.state_dict(), **state})
        return copy


def deep_path(a: nn.Module, b: nn.Module, x: Tensor, keep: int | Sequence[int] | None) -> DeepPath:
    """Return the path between two networks of the same architecture.

    Args:
        a: The first network.
        b: The second network.
        x: Points, on which nodes are chosen and weights are fitted.
        keep: Number of nodes to keep in each layer, at most half of them; one number for all layers, or one for each.
            None keeps half.
    """
    of_a, of_b = (structure(net, x) for net in _in_one_precision(a, b))
    _check_alike(of_a, of_b)
    _check_end(of_a.net, of_b.net, x[:FEW])
    kept = _kept(of_a, keep)
    half_a, half_b = (_half(of, x, kept) for of in (of_a, of_b))
    corners = [("", half_a.state)]
    for move, state in _path(half_a, half_b, of_a):
        if any(not torch.equal(state[name], corners[-1][1][name]) for name in state):
            corners.append((move, state))
    moves, states = [move for move, _ in corners[1:]], [state for _, state in corners]
    return DeepPath(moves, states, kept, tuple(stage.nodes for stage in of_a.stages), of_a.net)


def _path(a: Half, b: Half, of: Structure) -> Iterator[tuple[str, State]]:
    """Yield what happens, and the state after it."""
    at = places(of)
    down = list(_merged(a, of, at))
    yield from (("merge", state) for state in down)
    state, slots, moves = down[-1], {}, {}
    for stage in of.stages:
        slots[stage.name], moves[stage.name] = _free_slots(stage.nodes, a.slots[stage.name], b.slots[stage.name])
    outputs = [name for name, place in at.items() if place.rows is None and name in _last(of)]
    ready = embedded(state, b.small, slots, at)
    state = {name: state[name] if name in outputs else tensor for name, tensor in ready.items()}
    yield "copy", state
    yield "hand over", (state := state | {name: ready[name] for name in outputs})
    yield "copy", (state := copied(state, moves, at))
    yield "hand over", handed_over(state, moves, at)
    up = list(_merged(b, of, at))
    yield "copy", up[-1]
    yield from (("split", state) for state in [*reversed(up[:-1]), b.state])


def _merged(half: Half, of: Structure, at: Mapping[str, Place]) -> Iterator[State]:
    """Yield the states in which the kept nodes stand in for the others, in one more layer each time, from the top."""
    end, state = embedded(half.state, half.small, half.slots, at), half.state
    for stage in reversed(of.stages):
        layers = {layer for reader in stage.readers for layer in (reader.layer, reader.shift)}
        state = state | {name: end[name] for name in end if name.rpartition(".")[0] in layers}
        yield state
    yield end


def _last(of: Structure) -> set[str]:
    """Return the names of the tensors of layers that make outputs of the network."""
    makers = {layer for stage in of.stages for layer in (*stage.makers, *(name for name, _ in stage.carriers))}
    return {name for name in state_of(of.net) if name.rpartition(".")[0] not in makers}


def _free_slots(nodes: int, taken: Tensor, wanted: Tensor) -> tuple[Tensor, list[tuple[int, int]]]:
    """Return free slots for nodes, their own ones where these are free, and the moves to their own ones after that."""
    busy, own = {*taken.tolist()}, wanted.tolist()
    spare = iter(i for i in range(nodes) if i not in busy and i not in own)
    slots = [next(spare) if i in busy else i for i in own]
    return torch.tensor(slots), [(slot, i) for slot, i in zip(slots, own, strict=True) if slot != i]


def _half(of: Structure, x: Tensor, kept: Sequence[int]) -> Half:
    pruned = prune_layers(of.net, x, keep=kept)
    slots = {name: torch.tensor(nodes) for name, nodes in pruned.kept.items()}
    return Half(state_of(of.net), state_of(pruned.net), slots)


def _kept(of: Structure, keep: int | Sequence[int] | None) -> tuple[int, ...]:
    most = tuple(stage.nodes // 2 for stage in of.stages)
    if min(most) < 1:
        raise UserError("expected at least 2 nodes in every hidden layer: half of the nodes must be silent on the path")
    kept = most if keep is None else (keep,) * len(most) if isinstance(keep, int) else tuple(keep)
    if len(kept) != len(most) or any(not 1 <= k <= n for k, n in zip(kept, most, strict=False)):
        raise UserError(
            f"expected from 1 node to half of the nodes of each of the {len(most)} hidden layers to be kept, at most "
            f"{', '.join(map(str, most))}, got keep={keep}: the others must be silent on the path"
        )
    return kept


def _check_end(a: nn.Module, b: nn.Module, x: Tensor) -> None:
    """Raise a ``UserError`` unless the first network computes the second one with its weights."""
    end = deepcopy(a)
    end.load_state_dict({**end.state_dict(), **state_of(b)})
    found, wanted = outputs(end, x), outputs(b, x)
    if float((found - wanted).abs().max()) > SAME * float(wanted.abs().max()):
        raise UserError(
            "expected two networks of the same architecture, but with the weights of the second one the first one has "
            "other outputs: they differ in their ReLUs, strides or other settings"
        )


def _in_one_precision(a: nn.Module, b: nn.Module) -> list[nn.Module]:
    nets = [single_module(net) for net in (a, b)]
    types = [next(iter(state_of(net).values()), torch.zeros(())).dtype for net in nets]
    wide = torch.promote_types(*types)
    return [net if dtype == wide else deepcopy(net).to(wide) for net, dtype in zip(nets, types, strict=True)]


def _check_alike(a: Structure, b: Structure) -> None:
    shapes = [{name: tuple(t.shape) for name, t in state_of(of.net).items()} for of in (a, b)]
    if shapes[0] != shapes[1] or a.stages != b.stages:
        odd = next((name for name in {**shapes[0], **shapes[1]} if shapes[0].get(name) != shapes[1].get(name)), None)
        what = f"but {odd} is {shapes[0].get(odd, 'missing')} and {shapes[1].get(odd, 'missing')}" if odd else (
            "but their layers are connected in different ways")  # fmt: skip
        raise UserError(f"expected two networks of the same architecture, {what}: a path needs the same weights")
    if a.whole:
        layer, why = next(iter(a.whole.items()))
        raise UserError(f"no path goes through the {type(a.net).__name__}, because {layer} {why}: half of its nodes "
                        "cannot be made silent")  # fmt: skip


def losses_along(
    path: DeepPath, steps: int, loss: Callable[[nn.Module], float]
) -> tuple[Float[Tensor, " t"], Float[Tensor, " t"]]:
    """Return the loss along a path, and at as many positions along the straight line.

    Args:
        path: The path.
        steps: Number of positions per segment.
        loss: Function that returns the loss of a network.
    """
    corners, count = path.corners, (len(path.corners) - 1) * steps

    def at(p: State, q: State, share: float) -> float:
        return loss(path.with_weights({name: torch.lerp(p[name], q[name], share) for name in p}))

    along = [at(p, q, i / steps) for p, q in followed([*pairwise(corners)], "following the path") for i in range(steps)]
    line = [at(corners[0], corners[-1], i / count) for i in range(count)]
    end = loss(path.with_weights(corners[-1]))
    return torch.tensor([*along, end], dtype=torch.float64), torch.tensor([*line, end], dtype=torch.float64)
