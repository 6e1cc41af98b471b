"""The graph of operations that a module performs, and the values of its nodes at points."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from torch import Tensor, fx, nn

from relulab.core.errors import UserError
from relulab.nets.mlp import MLP
from relulab.nets.winograd import WinogradConv2d

Change = Callable[[Tensor], Tensor]
"""function of the value of a node"""


def single_module(net: nn.Module) -> nn.Module:
    """Return a network as a module without lanes: an ``MLP`` as an ``nn.Sequential``, a program as a graph of modules.

    Args:
        net: A module, an ``MLP`` with one lane, or a program read by ``relulab.load``. Modules are returned unchanged.
    """
    if isinstance(net, MLP):
        if net.lanes != 1:
            raise UserError(f"expected one network, got {net.lanes} lanes: select one with net.lane(i)")
        return net.module()
    return net.as_module() if hasattr(net, "as_module") else net  # type: ignore[operator]


class _Tracer(fx.Tracer):
    """Takes relulab's convolutions as layers, like those of PyTorch."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return isinstance(m, WinogradConv2d) or super().is_leaf_module(m, module_qualified_name)


def traced(module: nn.Module) -> fx.GraphModule:
    """Return the operations of a module as a graph that shares its layers, or refuse a module that cannot be traced.

    The forward pass is run once with symbols instead of numbers, so it must not depend on the values of its inputs.

    Args:
        module: The module, with one input.

    >>> [str(node.target) for node in traced(nn.Sequential(nn.Linear(3, 5), nn.ReLU())).graph.nodes]
    ['input', '0', '1', 'output']
    """
    if isinstance(module, fx.GraphModule):
        return module
    try:
        graph = fx.GraphModule(module, _Tracer().trace(module))
    except Exception as error:  # a user's own forward may raise anything when it gets symbols
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise UserError(
            f"expected a network whose structure can be traced, but the forward of {type(module).__name__} does more "
            f"with its input than pass it from layer to layer ({reason}): write it without that, or give an "
            "nn.Sequential"
        ) from None
    inputs = [node for node in graph.graph.nodes if node.op == "placeholder"]
    if len(inputs) != 1:
        names = ", ".join(str(node.target) for node in inputs)
        raise UserError(
            f"expected a network with one input, but the forward of {type(module).__name__} has {len(inputs)} "
            f"({names}): wrap it so that it maps one tensor to one tensor"
        )
    return graph


class _Values(fx.Interpreter):
    """Evaluates a graph, keeps some values and changes some. Operations in place do not overwrite what is kept."""

    def __init__(self, graph: fx.GraphModule, kept: Iterable[str] | None, changes: Mapping[str, Change]):
        super().__init__(graph)
        self.kept, self.changes = None if kept is None else set(kept), changes
        self.values: dict[str, Any] = {}

    def run_node(self, n: fx.Node) -> Any:
        value = super().run_node(n)
        if n.name in self.changes:
            value = self.changes[n.name](value)
        if self.kept is None or n.name in self.kept:
            self.values[n.name] = value
            return value.clone() if isinstance(value, Tensor) else value
        return value


def values(
    graph: fx.GraphModule, x: Tensor, kept: Iterable[str] | None = None, changes: Mapping[str, Change] | None = None
) -> tuple[Tensor, dict[str, Any]]:
    """Return the output of a graph, and the values of some of its nodes by name.

    Args:
        graph: The graph, as returned by ``traced``.
        x: Points that the module takes, (N, …).
        kept: Names of the nodes whose values are returned. None returns all.
        changes: Functions that change the values of some nodes, by name.
    """
    runner = _Values(graph, kept, changes or {})
    return runner.run(x), runner.values
