"""The BatchNorm layers of any module, in the order of their calls, and where each stands: before or after a ReLU."""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from relulab.core.short_repr import short_repr

Kind = Literal["norm", "relu", "addition", "same", "other"]
RELUS = ("relu", "leaky_relu", "relu6", "prelu", "leakyrelu")
ADDITIONS = ("add", "iadd")
POOLS = ("max_pool", "avg_pool", "maxpool", "avgpool", "averagepooling", "maxpooling", "globalaverage", "globalmax")
SAME = ("dropout", "flatten", "identity", "pad", "zeropad", "zeropadding", "cat", "concat", "concatenate", "alias",
        "clone", "contiguous", "view", "reshape", "detach", "getitem", "spatialdropout")  # fmt: skip
FEWEST = 10  # with fewer units, all running means may be positive by chance; with this many, the odds are 1 in 1,024


class Place(StrEnum):
    """Where a BatchNorm stands. Between it and what is named, there may be pooling or dropout."""

    RELU = "before a ReLU"
    ADDITION = "before an addition"
    AFTER = "after a ReLU"
    ELSEWHERE = "elsewhere"
    UNKNOWN = "unknown"


class BatchNormLayer(NamedTuple):
    """One BatchNorm of a network, which maps normalized inputs f̃ to c_0 f̃ + c_1.

    Args:
        name: Its name in the network.
        bias: The biases c_1, (n,).
        weight: The weights c_0, (n,), or None for ones.
        mean: The running means of its inputs, (n,), or None.
        place: Where it stands.
        told_by: What told the place, in words; empty if it is unknown.
    """

    name: str
    bias: Tensor
    weight: Tensor | None
    mean: Tensor | None
    place: Place = Place.UNKNOWN
    told_by: str = ""

    __repr__ = short_repr


class Step(NamedTuple):
    """One operation of a network, and the names of the operations whose results it takes."""

    name: str
    kind: Kind
    inputs: tuple[str, ...]


def kind_of(operation: str) -> Kind:
    """Return the kind of an operation or a module by its name, such as "relu" or "MaxPool2d".

    Args:
        operation: The name.

    >>> kind_of("ReLU"), kind_of("max_pool2d"), kind_of("iadd"), kind_of("conv2d")
    ('relu', 'same', 'addition', 'other')
    """
    name = operation.lower().rstrip("_").strip("_")
    if name in RELUS:
        return "relu"
    if name in ADDITIONS:
        return "addition"
    plain = re.sub(r"_?[123]d$", "", name)
    return "same" if plain in SAME or any(pool in plain for pool in POOLS) else "other"


def places(steps: Sequence[Step]) -> dict[str, Place]:
    """Return the place of every BatchNorm in a network.

    What follows it counts first: a BatchNorm between two ReLUs is before a ReLU.

    Args:
        steps: The operations of the network.

    >>> steps = [Step("conv", "other", ()), Step("bn", "norm", ("conv",)), Step("out", "relu", ("bn",))]
    >>> places(steps)["bn"].value
    'before a ReLU'
    """
    by_name = {step.name: step for step in steps}
    taken: dict[str, list[Step]] = {}
    for step in steps:
        for name in step.inputs:
            taken.setdefault(name, []).append(step)

    def beyond(step: Step, forward: bool, seen: frozenset[str] = frozenset()) -> set[str]:
        # the kinds of the next operations that do something
        near = taken.get(step.name, []) if forward else [by_name[n] for n in step.inputs if n in by_name]
        fresh = [s for s in near if s.name not in seen]
        seen |= {s.name for s in fresh}
        return {kind for s in fresh for kind in (beyond(s, forward, seen) if s.kind == "same" else {s.kind})}

    found = {}
    for step in steps:
        if step.kind == "norm":
            after, before = beyond(step, True), beyond(step, False)
            found[step.name] = (
                Place.RELU if "relu" in after
                else Place.ADDITION if "addition" in after
                else Place.AFTER if "relu" in before
                else Place.ELSEWHERE
            )  # fmt: skip
    return found


def batch_norm_layers(module: nn.Module) -> list[BatchNormLayer]:
    """Return every BatchNorm with biases in a module, in the order of their calls if its code can be traced.

    Args:
        module: The network.

    >>> net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Linear(3, 1))
    >>> [(layer.name, layer.place.value) for layer in batch_norm_layers(net)]
    [('1', 'before a ReLU')]
    """
    norms = {name: m for name, m in module.named_modules() if isinstance(m, _BatchNorm) and m.bias is not None}
    steps = _traced(module)
    known = places(steps)
    order = [step.name for step in steps if step.name in norms]
    layers = []
    for name in dict.fromkeys([*order, *norms]):
        of = norms[name]
        place, told_by = (known[name], "the order of the calls") if name in known else (Place.UNKNOWN, "")
        layers.append(BatchNormLayer(name, of.bias.detach(), of.weight.detach(), of.running_mean, place, told_by))
    return layers


def _traced(module: nn.Module) -> list[Step]:
    """Return the operations of a module by symbolic tracing; none if its code cannot be traced."""
    from torch.fx import Tracer

    class _Leaves(Tracer):
        def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
            return isinstance(m, _BatchNorm) or super().is_leaf_module(m, module_qualified_name)

    try:
        graph = _Leaves().trace(module)
    except Exception:  # the code of a user's module may do anything when its inputs have no values
        return []
    modules = dict(module.named_modules())
    names = {node: str(node.target) if node.op == "call_module" else node.name for node in graph.nodes}
    return [Step(names[n], _kind(n, modules), tuple(names[i] for i in n.all_input_nodes)) for n in graph.nodes]


def _kind(node: torch.fx.Node, modules: dict[str, nn.Module]) -> Kind:
    if node.op == "call_module":
        module = modules[str(node.target)]
        return "norm" if isinstance(module, _BatchNorm) else kind_of(type(module).__name__)
    if node.op in ("call_function", "call_method"):
        return kind_of(node.target if isinstance(node.target, str) else getattr(node.target, "__name__", ""))
    return "other"


def by_statistics(layers: Iterable[BatchNormLayer]) -> list[BatchNormLayer]:
    """Tell unknown places by running means, which are all positive after a ReLU, and of both signs before it.

    Outputs of a ReLU are not negative, so neither is their mean. If the inputs are no outputs of a ReLU, then BatchNorm
    is taken to stand before one.

    Args:
        layers: The layers.
    """
    return [_by_statistics(layer) if layer.place is Place.UNKNOWN else layer for layer in layers]


def _by_statistics(layer: BatchNormLayer) -> BatchNormLayer:
    if layer.mean is None:
        return layer
    if bool((layer.mean < 0).any()):
        return layer._replace(place=Place.RELU, told_by="negative running means")
    if len(layer.mean) >= FEWEST and bool((layer.mean > 0).all()):
        return layer._replace(place=Place.AFTER, told_by="positive running means")
    return layer
