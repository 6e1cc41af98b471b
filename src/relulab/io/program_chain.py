"""Exported programs that are a chain of linear layers, BatchNorm and activations, as an nn.Sequential."""

from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.io.program_layers import layer_of, tensor_name
from relulab.io.program_module import RESHAPES, SAME

if TYPE_CHECKING:
    from relulab.io.program import Program


def chain(program: "Program") -> nn.Sequential:
    """Return a program as an nn.Sequential with copies of its weights.

    Args:
        program: A program in which each operation takes the result of the one before it, on points of shape (N, d).
    """
    weights: dict[str, Tensor] = {name: getattr(program, w).data for name, w in program.bound.items()}
    current, parts = program.input, []
    for node in program.nodes:
        names = [tensor_name(argument["arg"]) for argument in node.inputs]
        made = node.outputs[0].get("as_tensor", {}).get("name", node.name)
        if names and names[0] in weights and current not in names:  # a weight is transposed
            if node.operation not in ("t", "transpose", "permute"):
                raise _refused(node.operation)
            weights[made] = weights[str(names[0])].mT
            continue
        module = _module(node, names, current, weights)
        current, parts = made, parts if module is None else [*parts, module]
    if current != program.output:
        raise _refused("an output that is not the result of the last operation")
    return nn.Sequential(*parts)


def _module(node: Any, names: list[str | None], current: str, weights: dict[str, Tensor]) -> nn.Module | None:
    """Return the module of one operation on the current result; None if the operation changes nothing."""
    operation = node.operation
    if (activation := node.activation()) is not None and names[0] == current:
        return activation
    if operation in SAME | RESHAPES | {"flatten"} and names[0] == current:
        return None if operation in SAME else nn.Flatten()
    layer = layer_of(node, names, current, weights)
    if layer is None or not isinstance(layer[0], nn.Linear | nn.BatchNorm1d):
        raise _refused(operation)
    return layer[0]


def _refused(operation: str) -> UserError:
    return UserError(
        f"expected a program that is a chain of linear layers and activations, got {operation}: use a fully connected "
        "network, or a measurement that takes any network, such as correlation"
    )
