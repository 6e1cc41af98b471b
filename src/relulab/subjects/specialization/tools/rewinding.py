"""Lottery tickets: the nodes that a trained network keeps, with the weights that they had before training."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.nets.hooks import points
from relulab.nets.mlp import MLP, computes_otherwise, described_shape
from relulab.nets.narrowing import check_narrowing, narrowed
from relulab.nets.stages import structure
from relulab.nets.tracing import single_module
from relulab.subjects.specialization.tools.chance import shuffled
from relulab.subjects.specialization.tools.layer_pruning import PrunedLayers

Nodes = Sequence[int] | np.ndarray | Tensor
"""numbers of nodes, (k,); for networks with lanes (lane, k)"""


def rewind(
    trained: nn.Module,
    start: nn.Module | Mapping[str, Tensor],
    keep: PrunedLayers | Mapping[str, Nodes] | Sequence[Nodes],
    *,
    x: Tensor | None = None,
    redraw: int | None = None,
) -> nn.Module:
    """Return the nodes that a trained network keeps, with the weights that they had earlier (LM section 1, figure 3).

    Trained again, such a lottery ticket should do as well as the whole network: its nodes were lucky at the start. The
    control is the same with ``redraw``: nodes whose initial weights are drawn again have no luck to rely on.

    Args:
        trained: The trained network: a module, a program, or an ``MLP`` with any number of lanes. It is not changed.
        start: The same network before training, or early in training, or its state dict. It is not changed.
        keep: The nodes to keep: the result of ``prune``, or for each hidden layer the numbers of its nodes, in order or
            by the name of the layer. In an ``MLP`` with lanes, each lane may keep other nodes: (lane, k).
        x: Points that the network takes, (N, …); needed if its first layer is not linear, for the shapes of images.
        redraw: Seed with which the weights of each tensor of ``start`` are put into random order, which draws them
            again from the same distribution. None keeps them.

    Returns:
        A smaller network of the same class, an ``MLP`` for an ``MLP``.

    >>> start = MLP((3, 4, 2))
    >>> rewind(start, start, [[0, 2]]).widths
    (3, 2, 2)
    """
    early = _loaded(trained, start)
    if redraw is not None:
        early = _redrawn(early, redraw)
    chosen = keep.kept if isinstance(keep, PrunedLayers) else keep
    if isinstance(early, MLP):
        nodes = list(chosen.values()) if isinstance(chosen, Mapping) else list(chosen)
        return _narrow_lanes(early, [_indices(n) for n in nodes])
    x = points(_example(early) if x is None else x)
    if x.dim() < 2 or not x.numel():
        raise UserError(
            f"expected points of shape (N, …), got {tuple(x.shape)}: give a few points that the network takes"
        )
    of = structure(early, x)
    check_narrowing(of, x)
    names = [stage.name for stage in of.stages]
    by_name = dict(chosen) if isinstance(chosen, Mapping) else dict(zip(names, chosen, strict=False))
    if set(by_name) - set(names) or (not isinstance(chosen, Mapping) and len(chosen) != len(names)):
        raise UserError(
            f"expected nodes to keep for the {len(names)} layers {', '.join(names)}, got {len(chosen)}: "
            f"{', '.join(map(str, chosen)) if isinstance(chosen, Mapping) else 'give one list of nodes per layer'}"
        )
    kept = {name: _within(_indices(n), of.stage(name).nodes, name) for name, n in by_name.items()}
    return narrowed(of, kept)


def _loaded(trained: nn.Module, start: nn.Module | Mapping[str, Tensor]) -> nn.Module:
    """Return the network with the weights of the start, after checking that both have the same shapes."""
    known = _plain(trained)
    given = start if isinstance(start, Mapping) else _plain(start)
    if isinstance(given, MLP) and not isinstance(known, MLP):
        given = given.module()
    if isinstance(given, MLP) and isinstance(known, MLP) and (given.widths, given.lanes) != (known.widths, known.lanes):
        raise UserError(
            f"expected the same network at the start, got {described_shape(given)} there and {described_shape(known)} "
            "in the trained network"
        )
    weights = dict(given) if isinstance(given, Mapping) else given.state_dict()
    shapes, wanted = ({k: tuple(t.shape) for k, t in w.items()} for w in (weights, known.state_dict()))
    if shapes != wanted:
        odd = sorted(set(shapes.items()) ^ set(wanted.items()))[0][0]
        raise UserError(
            f"expected the weights of the same network at the start, but {odd} is {shapes.get(odd, 'missing')} there "
            f"and {wanted.get(odd, 'missing')} in the trained network: give the same network before training"
        )
    early = deepcopy(known)
    early.load_state_dict(weights)
    return early


def _plain(net: nn.Module) -> nn.Module:
    """Return a plain ``MLP`` as it is, and any other network as a module without lanes."""
    return net if isinstance(net, MLP) and not computes_otherwise(net) else single_module(net)


def _redrawn(net: nn.Module, seed: int) -> nn.Module:
    """Return a copy with the entries of every tensor in random order, each lane by itself."""
    if isinstance(net, MLP):
        copy = deepcopy(net)
        for i in range(net.lanes):
            lane = shuffled(net.lane(i), stream(0, Role.CHANCE, seed, i))
            for p, q in zip(copy.parameters(), lane.parameters(), strict=True):
                p.data[i] = q.data[0]
        return copy
    return shuffled(net, stream(0, Role.CHANCE, seed))


def _narrow_lanes(net: MLP, kept: Sequence[Int[Tensor, "*_ _"]]) -> MLP:
    """Return the networks with some of their hidden nodes, for each lane its own."""
    if len(kept) != net.depth - 1:
        raise UserError(f"expected nodes to keep for {net.depth - 1} hidden layers, got {len(kept)} lists of nodes")
    lanes = []
    for l, nodes in enumerate(kept):
        if nodes.dim() not in (1, 2) or (nodes.dim() == 2 and len(nodes) != net.lanes):
            raise UserError(
                f"expected the nodes to keep in layer {l + 1} as (k,) or ({net.lanes}, k), got {tuple(nodes.shape)}"
            )
        lanes.append(_within(nodes, net.widths[l + 1], str(l + 1)).expand(net.lanes, -1))
    widths = (net.widths[0], *(nodes.shape[1] for nodes in lanes), net.widths[-1])
    small = MLP(widths, lanes=net.lanes, bias=net.bias, slope=net.slope, dtype=net.dtype)
    whole = [torch.arange(n).expand(net.lanes, -1) for n in (net.widths[0], net.widths[-1])]
    for l, (rows, columns) in enumerate(pairwise([whole[0], *lanes, whole[1]])):
        i = torch.arange(net.lanes)
        small.W[l].data.copy_(net.W[l].data[i[:, None, None], rows[:, :, None], columns[:, None, :]])
        small.b[l].data.copy_(net.b[l].data[i[:, None], 0, columns][:, None])
    return small


def _indices(nodes: Nodes) -> Int[Tensor, "*lane k"]:
    found = nodes.long() if isinstance(nodes, Tensor) else torch.as_tensor(np.asarray(nodes, dtype=np.int64))
    if found.dim() not in (1, 2):
        raise UserError(f"expected the nodes of a layer, (k,) or (lane, k), got shape {tuple(found.shape)}: list them")
    return found


def _within(nodes: Int[Tensor, "*lane k"], count: int, name: str) -> Int[Tensor, "*lane k"]:
    if not nodes.numel() or int(nodes.min()) < 0 or int(nodes.max()) >= count:
        raise UserError(
            f"expected nodes to keep in layer {name} from 0 to {count - 1}, at least one, got "
            f"{nodes.flatten().tolist()[:8]}"
        )
    return nodes


def _example(net: nn.Module) -> Tensor:
    """Return two points of zeros for a network that begins with a linear layer."""
    first = next((m for m in net.modules() if next(m.parameters(recurse=False), None) is not None), None)
    if not isinstance(first, nn.Linear):
        raise UserError(
            f"expected points x for the {type(net).__name__}, whose first layer is not linear: give some that it takes"
        )
    return torch.zeros(2, first.in_features, dtype=first.weight.dtype)
