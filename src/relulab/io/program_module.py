"""Exported programs as modules: layers with their names and weights, connected as in the program."""

import re
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, fx, nn

from relulab.core.errors import UserError
from relulab.io.guard import one_line
from relulab.io.program_checks import Budget, shapes_only
from relulab.io.program_layers import layer_of, output_names, tensor_name
from relulab.nets.hooks import fitted

if TYPE_CHECKING:
    from relulab.io.program import Program

SAME = {"dropout", "alias", "clone", "contiguous", "detach"}  # operations that change nothing in eval mode
RESHAPES = {"view", "reshape", "_unsafe_view"}
TURNS = {"t", "transpose", "permute"}
DEPTH = 16  # largest number of parts of a name


def as_module(program: "Program") -> fx.GraphModule:
    """Return a program as a module, with copies of its weights under their names in the program.

    Args:
        program: The program. A weight that is used by a layer must not be used by another one.
    """
    return _Builder(program).built()


class _Builder:
    """Builds a graph of modules from a program, operation by operation."""

    def __init__(self, program: "Program"):
        self.program, self.graph, self.root = program, fx.Graph(), nn.Module()
        self.weights: dict[str, Tensor] = {name: getattr(program, w).data for name, w in program.bound.items()}
        self.origin = {name: name for name in self.weights}  # of weights that were transposed
        point = fitted(program, torch.zeros([2 if n is None else n for n in program.sizes], device="meta"))
        self.found = program._values(shapes_only(point), Budget(len(point)))
        self.made: dict[str, Any] = {program.input: self.graph.placeholder("input")}
        self.used: set[str] = set()

    def built(self) -> fx.GraphModule:
        for node in self.program.nodes:
            self._add(node)
        self.graph.output(self.made[self.program.output])
        self.graph.lint()
        return fx.GraphModule(self.root, self.graph, "Program").eval()

    def _add(self, node: Any) -> None:
        names = [tensor_name(argument["arg"]) for argument in node.inputs]
        outputs = [name for output in node.outputs for name in output_names(output)]
        first = next((name for name in names if name in self.made), None)
        if first is None and names and names[0] in self.weights and node.operation in TURNS:
            self.weights[outputs[0]] = self.weights[str(names[0])].mT
            self.origin[outputs[0]] = self.origin[str(names[0])]
            return
        value = self.made.get(str(first))
        if node.operation in SAME and value is not None:
            self.made[outputs[0]] = value
            return
        module = node.activation() if names[:1] == [first] and first is not None else None
        where = node.name if node.name.isidentifier() else f"activation{len(self.used)}"
        if module is None and (layer := layer_of(node, names, first, self.weights, self._axes(first))) is not None:
            module, weight = layer
            where = self._named(str(weight))
        elif module is None and self._flattens(node, names, outputs):
            module, where = nn.Flatten(), outputs[0]
        if module is None:
            return self._call(node, outputs)
        self.made[outputs[0]] = self._layer(where, module, value)

    def _axes(self, name: str | None) -> int:
        value = self.found.get(str(name))
        return value.dim() if isinstance(value, Tensor) else 0

    def _flattens(self, node: Any, names: list[str | None], outputs: list[str]) -> bool:
        """Whether an operation gives all values of a point one after the other."""
        before, after = self.found.get(str(names[0] if names else None)), self.found.get(outputs[0])
        if node.operation not in RESHAPES or names[0] not in self.made or not isinstance(before, Tensor):
            return False
        return isinstance(after, Tensor) and after.dim() == 2 and after.shape == before.flatten(1).shape

    def _layer(self, name: str, module: nn.Module, value: Any) -> Any:
        if name in self.used:
            raise UserError(
                f"the program uses the weights of {one_line(name)} twice: export a model without shared weights"
            )
        self.used.add(name)
        *path, last = name.split(".")
        parent: Any = self.root
        for part in path:
            if part not in parent._modules:
                parent.add_module(part, nn.Module())
            parent = parent._modules[part]
        parent.add_module(last, module)
        return self.graph.call_module(name, (value,))

    def _named(self, weight: str) -> str:
        """Return the name of the layer of a weight: that in the program, if it can be the name of a module."""
        full = self.program.titles.get(self.origin.get(weight, weight), "")
        name, _, kind = full.rpartition(".")
        parts = name.split(".")
        plain = all(re.fullmatch(r"[A-Za-z0-9]\w{0,99}", part) and not hasattr(nn.Module, part) for part in parts)
        if kind in ("weight", "running_mean") and plain and len(parts) <= DEPTH and not self._taken(parts):
            return name
        return f"layer{len(self.used)}"

    def _taken(self, parts: list[str]) -> bool:
        """Whether a part of a name is already a layer, so that no other layer can be inside it."""
        return any(".".join(parts[: i + 1]) in self.used for i in range(len(parts) - 1))

    def _call(self, node: Any, outputs: list[str]) -> None:
        """Add an operation without layers as it is. Of a pooling that also returns indices, only the values count."""
        positional = [self._argument(i["arg"]) for i in node.inputs if i.get("kind", 1) == 1]
        named = {i["name"]: self._argument(i["arg"]) for i in node.inputs if i.get("kind", 1) != 1}
        pools = node.operation == "max_pool2d_with_indices"
        call = torch.ops.aten.max_pool2d.default if pools else node.call
        result = self.graph.call_function(call, tuple(positional), named)
        if pools:
            self.made[outputs[0]] = result
            return
        if len(outputs) == 1 and "as_tensors" not in node.outputs[0]:
            self.made[outputs[0]] = result
            return
        for i, name in enumerate(outputs):
            self.made[name] = self.graph.call_method("__getitem__", (result, i))

    def _argument(self, arg: dict) -> Any:
        ((kind, content),) = arg.items()
        if kind == "as_none":
            return None
        if kind == "as_tensor":
            return self._value(content["name"])
        if kind == "as_tensors":
            return [self._value(tensor["name"]) for tensor in content]
        if kind == "as_sym_int":
            return self._value(content["as_name"]) if "as_name" in content else content["as_int"]
        if kind == "as_sym_ints":
            return [self._argument({"as_sym_int": size}) for size in content]
        return content

    def _value(self, name: str) -> Any:
        if name in self.weights and name not in self.made:
            place = f"weight{len(self.used)}"
            self.used.add(place)
            self.root.register_parameter(place, nn.Parameter(self.weights[name].clone(), requires_grad=False))
            self.made[name] = self.graph.get_attr(place)
        if name not in self.made:
            raise UserError(f"the program uses {one_line(name)}, which is no result of a layer: export the model again")
        return self.made[name]
