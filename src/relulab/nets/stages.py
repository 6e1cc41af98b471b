"""Stages of a network: which rows of weights make the nodes of a layer, and which columns read them.

A node is a unit of a fully connected layer or a channel of a convolution. It can be removed from the network if all
weights that belong to it are known: the rows that make it, its entries in BatchNorm layers, and the columns that read
it, of which there are several per node after flattening. A residual stream is one stage with several makers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, fx, nn

from relulab.core.errors import UserError
from relulab.nets.eval_mode import eval_mode
from relulab.nets.hooks import applied, fitted
from relulab.nets.stage_rules import Rules
from relulab.nets.tracing import single_module, traced, values


@dataclass(frozen=True)
class Reader:
    """A layer that reads the nodes of a stage.

    Attributes:
        layer: Name of the layer whose columns read the nodes.
        value: Name of the value in the graph that it reads, which are the activations of the nodes.
        block: Number of consecutive columns per node; more than 1 after flattening.
        shift: Where a constant that is added to all nodes can go: the name of the layer itself if it has a bias, the
            name of the BatchNorm after it, or None.
    """

    layer: str
    value: str
    block: int
    shift: str | None


@dataclass(frozen=True)
class Stage:
    """Nodes that can be removed from a network.

    Attributes:
        name: Name of the first layer that makes them.
        nodes: Their number.
        makers: Names of the layers whose rows make them; several layers if their outputs are added.
        carriers: Names of layers with entries for each node, such as BatchNorm, and the number of entries per node.
        readers: The layers that read them.
    """

    name: str
    nodes: int
    makers: tuple[str, ...]
    carriers: tuple[tuple[str, int], ...]
    readers: tuple[Reader, ...]


@dataclass(frozen=True)
class Structure:
    """A network as stages.

    Attributes:
        net: The network as a module without lanes.
        graph: Its operations, which share the layers of ``net``.
        stages: Its stages, from the inputs to the outputs.
        whole: Layers whose nodes cannot be removed, except for the last one, with the reason.
        places: For each layer with weights, at how many positions per point it is evaluated.
    """

    net: nn.Module
    graph: fx.GraphModule = field(repr=False)
    stages: tuple[Stage, ...]
    whole: Mapping[str, str]
    places: Mapping[str, int]

    def stage(self, name: str) -> Stage:
        """Return the stage with a name.

        Args:
            name: Name of the first layer that makes it.
        """
        return next(stage for stage in self.stages if stage.name == name)

    def multiply_adds(self, kept: Mapping[str, int] | None = None) -> dict[str, int]:
        """Return the number of multiply-adds per point in every layer with weights.

        Args:
            kept: Number of nodes that are kept, by the name of the stage. Stages that are not named are kept whole.
        """
        counts = {layer: n * weight_of(self.net, layer).numel() for layer, n in self.places.items()}
        for stage in self.stages:
            left = (kept or {}).get(stage.name, stage.nodes)
            for layer in (*stage.makers, *(name for name, _ in stage.carriers), *(r.layer for r in stage.readers)):
                if layer in counts:
                    counts[layer] = counts[layer] * left // stage.nodes  # exact: nodes are rows or columns
        return counts


def weight_of(net: nn.Module, layer: str) -> Tensor:
    """Return the weights of a layer by its name.

    Args:
        net: The network.
        layer: The name.
    """
    weight = net.get_submodule(layer).weight
    assert isinstance(weight, Tensor)
    return weight.detach()


def structure(net: nn.Module, x: Tensor) -> Structure:
    """Return the stages of a network, or refuse a network none of whose layers can be pruned.

    Args:
        net: A module that can be traced, an ``MLP`` with one lane, or a program.
        x: Points that the network takes, (N, …). Two of them are used, for the shapes of all values.

    >>> net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16, 2))
    >>> structure(net, torch.zeros(2, 1, 4, 4)).stages[0].readers[0]
    Reader(layer='3', value='_2', block=4, shift='3')
    """
    net = single_module(net)
    x = fitted(net, x[:2])
    with torch.no_grad(), eval_mode(net):
        graph = traced(net)
        applied(net, x)
        _, found = values(graph, x)
    rules = Rules(graph, {name: v.shape for name, v in found.items() if isinstance(v, Tensor)})
    stages, whole = tuple(_stages(rules)), rules.reasons()
    if not stages:
        why = "; ".join(f"{layer} {reason}" for layer, reason in list(whole.items())[:3])
        raise UserError(
            f"no layer of the {type(net).__name__} can be pruned{f': {why}' if why else ''}: expected a network with "
            "hidden layers, such as convolutions or linear layers with activations between them"
        )
    return Structure(net, graph, stages, whole, rules.places())


def _stages(rules: Rules) -> Iterator[Stage]:
    for space in rules.spaces():
        if space.fixed is None and space.makers and space.readers:
            readers = tuple(Reader(layer, value, block, rules.shift_of(layer)) for layer, value, block in space.readers)
            yield Stage(space.makers[0], space.size, tuple(space.makers), tuple(space.carriers), readers)
