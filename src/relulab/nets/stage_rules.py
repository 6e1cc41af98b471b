"""Rules for how nodes pass through the operations of a graph: made, carried, read, added, or mixed with others.

The nodes of a value are the entries along its axis 1, in blocks of several entries after flattening. An operation that
is not known mixes all nodes, so that none of those that enter it can be removed.
"""

from collections import Counter
from dataclasses import dataclass, field
from math import prod
from typing import Any

import torch
from torch import Tensor, fx, nn

from relulab.nets.activations import ACTIVATIONS

LINEAR = (nn.Linear,)
CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
POOLS = (
    nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d, nn.AdaptiveAvgPool1d,
    nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d, nn.AdaptiveMaxPool1d, nn.AdaptiveMaxPool2d, nn.AdaptiveMaxPool3d,
)  # fmt: skip
DROPOUTS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.Identity)
ALONE = {
    "relu", "relu_", "relu6", "leaky_relu", "leaky_relu_", "elu", "elu_", "gelu", "silu", "selu", "celu", "mish",
    "softplus", "sigmoid", "sigmoid_", "tanh", "tanh_", "hardtanh", "hardswish", "hardsigmoid", "clamp", "clamp_min",
    "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "max_pool1d", "max_pool2d", "max_pool3d",
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d",
    "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d", "contiguous", "clone", "detach", "float",
    "double", "neg", "abs", "square", "_adaptive_avg_pool2d",
}  # fmt: skip
"""functions and methods that act on each node alone"""
TOGETHER = {"add", "add_", "iadd", "sub", "sub_", "isub", "mul", "mul_", "imul", "maximum", "minimum"}
"""functions and methods of two values whose nodes meet one by one"""
SIZES = {"size", "dim", "getattr", "getitem", "ndimension"}
"""functions and methods that ask for the shape of a value"""
GIVEN, FINAL = "is an input of the network", "makes the outputs"


@dataclass(eq=False)
class Space:
    """Nodes that belong together, because they are made, carried, added and read together."""

    size: int
    fixed: str | None = None
    makers: list[str] = field(default_factory=list)
    carriers: list[tuple[str, int]] = field(default_factory=list)
    readers: list[tuple[str, str, int]] = field(default_factory=list)

    def fix(self, why: str) -> None:
        """Keep all nodes, for a reason in words that follow the name of a layer."""
        self.fixed = self.fixed or why


class Rules:
    """Goes through a graph and finds the spaces of nodes.

    Args:
        graph: The graph, as ``traced`` returns it.
        shapes: The shapes of its values by name, at two points.
    """

    def __init__(self, graph: fx.GraphModule, shapes: dict[str, torch.Size]):
        self.graph, self.shapes = graph, shapes
        self.of: dict[str, tuple[Space, int]] = {}
        self.nodes = list(graph.graph.nodes)
        self.calls = {n.target: n for n in self.nodes if n.op == "call_module"}
        times = Counter(n.target for n in self.nodes if n.op == "call_module")
        owners = Counter(id(p) for name in times for p in graph.get_submodule(str(name)).parameters())
        self.tied = {
            name
            for name, count in times.items()
            if count > 1 or any(owners[id(p)] > 1 for p in graph.get_submodule(str(name)).parameters())
        }
        for node in self.nodes:
            self._visit(node)

    def spaces(self) -> list[Space]:
        """Return the spaces in the order of their first layers."""
        order = {str(name): i for i, name in enumerate(self.calls)}
        found = dict.fromkeys(space for space, _ in self.of.values())
        for space in found:
            space.makers.sort(key=lambda name: order[name])
            space.carriers.sort(key=lambda carrier: order[carrier[0]])
            space.readers.sort(key=lambda reader: order[reader[0]])
        return sorted(found, key=lambda space: order[space.makers[0]] if space.makers else -1)

    def reasons(self) -> dict[str, str]:
        """Return why layers must be kept whole, except for the layers that make the outputs."""
        kept = [space for space in self.spaces() if space.fixed not in (None, GIVEN, FINAL)]
        return {layer: str(space.fixed) for space in kept for layer in space.makers}

    def places(self) -> dict[str, int]:
        """Return at how many positions per point each layer with a matrix of weights is evaluated."""
        found: dict[str, int] = {}
        for node in self.nodes:
            module = self._module(node)
            if isinstance(module, (*LINEAR, *CONVOLUTIONS)):
                shape = self.shapes[node.name]
                channels = module.weight.shape[0]
                found[str(node.target)] = found.get(str(node.target), 0) + prod(shape[1:]) // channels
        return found

    def shift_of(self, layer: str) -> str | None:
        """Return where a constant input of a layer can go: its own bias, or the BatchNorm after it."""
        if self.graph.get_submodule(layer).bias is not None:
            return layer
        users = list(self.calls[layer].users)
        norm = self._module(users[0]) if len(users) == 1 else None
        return str(users[0].target) if isinstance(norm, NORMS) and norm.running_mean is not None else None

    def _visit(self, node: fx.Node) -> None:
        if node.name not in self.shapes and node.op != "output":
            if _name(node.target) not in SIZES:  # several tensors, or numbers that depend on values
                for space, _ in self._inputs(node):
                    space.fix(f"enters {_name(node.target)}")
            return
        if node.op == "placeholder":
            self._new(node, GIVEN)
        elif node.op == "output":
            for space, _ in self._inputs(node):
                space.fix(FINAL)
        elif node.op == "call_module":
            self._call(node, self._module(node))
        elif node.op in ("call_function", "call_method"):
            self._operate(node, _name(node.target))
        else:
            self._new(node, "is added to weights that belong to no layer")

    def _module(self, node: fx.Node) -> nn.Module | None:
        return self.graph.get_submodule(str(node.target)) if node.op == "call_module" else None

    def _inputs(self, node: fx.Node) -> list[tuple[Space, int]]:
        return [self.of[n.name] for n in node.all_input_nodes if n.name in self.of]

    def _new(self, node: fx.Node, why: str | None = None, maker: str | None = None) -> None:
        shape = self.shapes[node.name]
        space = Space(shape[1] if len(shape) > 1 else 1, why, [] if maker is None else [maker])
        self.of[node.name] = (space, 1)

    def _mixed(self, node: fx.Node, what: str, own: str = "mixes its inputs") -> None:
        """Keep all nodes that enter an operation, and those that it makes, for a reason of its own."""
        for space, _ in self._inputs(node):
            space.fix(f"enters {what}")
        weight = getattr(self._module(node), "weight", None)
        matrix = isinstance(weight, Tensor) and weight.dim() > 1
        self._new(node, own, str(node.target) if matrix else None)

    def _pass(self, node: fx.Node, source: fx.Node, more: int = 1) -> None:
        space, block = self.of[source.name]
        self.of[node.name] = (space, block * more)

    def _call(self, node: fx.Node, module: nn.Module | None) -> None:
        (source, *others), name = node.all_input_nodes, str(node.target)
        plain = not others and source.name in self.of and not _changed(module)
        given = len(self.shapes.get(source.name, ()))
        if not plain or (name in self.tied and next(module.parameters(), None) is not None):  # type: ignore[union-attr]
            own = "is used more than once" if plain else "has hooks or computed weights"
            return self._mixed(node, f"{name}, which {own}", own)
        if isinstance(module, LINEAR) and given == 2:
            return self._read(node, source, name)
        if isinstance(module, CONVOLUTIONS) and given == len(module.kernel_size) + 2:
            if module.groups == 1:
                return self._read(node, source, name)
            if module.groups == module.in_channels == module.out_channels:
                self.of[source.name][0].carriers.append((name, 1))
                return self._pass(node, source)
        elif isinstance(module, NORMS) and module.running_mean is not None and given > 1:
            space, block = self.of[source.name]
            space.carriers.append((name, block))
            return self._pass(node, source)
        elif isinstance(module, ACTIVATIONS) and (not isinstance(module, nn.PReLU) or module.num_parameters == 1):
            return self._pass(node, source)
        elif isinstance(module, DROPOUTS) or (isinstance(module, POOLS) and given > 2):
            return self._alone(node, source, type(module).__name__)
        elif isinstance(module, nn.Flatten) and (module.start_dim, module.end_dim) in ((1, -1), (1, given - 1)):
            return self._flat(node, source)
        self._mixed(node, f"{name} ({type(module).__name__})", f"is a {type(module).__name__} on {given} axes")

    def _read(self, node: fx.Node, source: fx.Node, name: str) -> None:
        space, block = self.of[source.name]
        space.readers.append((name, source.name, block))
        self._new(node, maker=name)

    def _alone(self, node: fx.Node, source: fx.Node, what: str) -> None:
        """Pass on the nodes of an operation on each node alone, if it leaves their number as it is."""
        if self.shapes[node.name][:2] == self.shapes[source.name][:2]:
            self._pass(node, source)
        else:
            self._mixed(node, what)

    def _flat(self, node: fx.Node, source: fx.Node) -> None:
        self._pass(node, source, prod(self.shapes[source.name][2:]))

    def _operate(self, node: fx.Node, name: str) -> None:
        """Apply the rule of a function or method."""
        tensors = [n for n in node.all_input_nodes if n.name in self.of]
        sizes = [n for n in node.all_input_nodes if n.name not in self.of]
        rest = node.args[1:]
        given = len(self.shapes[tensors[0].name]) if tensors else 0
        if len(tensors) == 1 and not sizes and name in ALONE | TOGETHER:
            return self._alone(node, tensors[0], name)
        if len(tensors) == 2 and not sizes and name in TOGETHER:
            return self._meet(node, tensors, name)
        if len(tensors) == 1 and not sizes and name == "mean" and given > 2 and _beside_nodes(node, given):
            return self._alone(node, tensors[0], name)
        if len(tensors) == 1 and name == "flatten" and (*rest, *node.kwargs.values()) in ((1,), (1, -1)):
            return self._flat(node, tensors[0])
        if len(tensors) == 1 and name in ("view", "reshape") and (size := _sizes(rest)) and len(size) == 2:
            if isinstance(size[0], fx.Node) and size[1] == -1:
                return self._flat(node, tensors[0])
            return self._mixed(node, f"{name} with a fixed size; flatten(1) has none")
        return self._mixed(node, name)

    def _meet(self, node: fx.Node, tensors: list[fx.Node], name: str) -> None:
        """Join the spaces of two values whose nodes meet one by one."""
        (a, block_a), (b, block_b) = (self.of[n.name] for n in tensors)
        shapes = [self.shapes[n.name] for n in tensors]
        if block_a != block_b or len({(len(shape), shape[1]) for shape in shapes}) > 1:
            return self._mixed(node, name)
        if a is not b:
            a.fixed = a.fixed or b.fixed
            a.makers += b.makers
            a.carriers += b.carriers
            a.readers += b.readers
            self.of = {key: (a if space is b else space, block) for key, (space, block) in self.of.items()}
        self._pass(node, tensors[0])


def _name(target: Any) -> str:
    return target if isinstance(target, str) else getattr(target, "__name__", str(target)).split(".")[0]


def _changed(module: nn.Module | None) -> bool:
    """Whether a layer computes something else than its class says: it has hooks, or its weights are computed."""
    if module is None or module._forward_hooks or module._forward_pre_hooks or hasattr(module, "parametrizations"):
        return True
    return hasattr(module, "weight") and module.weight is not None and "weight" not in module._parameters


def _beside_nodes(node: fx.Node, axes: int) -> bool:
    """Whether a mean is taken over positions only."""
    given = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim")
    over = given if isinstance(given, list | tuple) else [given]
    return all(isinstance(axis, int) and axis % axes >= 2 for axis in over)


def _sizes(rest: tuple) -> tuple:
    return tuple(rest[0]) if len(rest) == 1 and isinstance(rest[0], list | tuple) else tuple(rest)
