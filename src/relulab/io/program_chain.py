"""Exported programs that are a chain of linear layers, BatchNorm and activations, as an nn.Sequential."""

from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.nets.plain_layers import linear_module

if TYPE_CHECKING:
    from relulab.io.program import Program

SAME = {"dropout", "alias", "clone", "contiguous", "detach"}  # operations that change nothing in eval mode
RESHAPES = {"flatten", "view", "reshape", "_unsafe_view"}
NORMS = {"batch_norm": 7, "_native_batch_norm_legit_no_training": 6}  # position of epsilon among the arguments


def chain(program: "Program") -> nn.Sequential:
    """Return a program as an nn.Sequential with copies of its weights.

    Args:
        program: A program in which each operation takes the result of the one before it, on points of shape (N, d).
    """
    weights: dict[str, Tensor] = {name: getattr(program, w).data for name, w in program.bound.items()}
    current, parts = program.input, []
    for node in program.nodes:
        names = [_name(argument["arg"]) for argument in node.inputs]
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
    if operation in SAME | RESHAPES and names[0] == current:
        return nn.Flatten() if operation in RESHAPES else None
    given = [None if name is None else weights.get(name) for name in names]
    if operation == "linear" and names[0] == current and given[1] is not None:
        return linear_module((given[1], given[2] if len(given) > 2 else None))
    if operation == "addmm" and len(names) == 3 and names[1] == current and given[2] is not None:
        return linear_module((given[2].mT, given[0]))
    if operation in ("mm", "matmul") and names[0] == current and given[1] is not None:
        return linear_module((given[1].mT, None))
    if operation in NORMS and names[0] == current and given[3] is not None and given[4] is not None:
        norm = nn.BatchNorm1d(len(given[3]), eps=node.argument(NORMS[operation], 1e-5), affine=given[1] is not None)
        norm.running_mean, norm.running_var = given[3].clone(), given[4].clone()
        if given[1] is not None and given[2] is not None:
            norm.weight, norm.bias = nn.Parameter(given[1].clone()), nn.Parameter(given[2].clone())
        return norm.eval()
    raise _refused(operation)


def _name(argument: dict) -> str | None:
    return argument["as_tensor"]["name"] if "as_tensor" in argument else None


def _refused(operation: str) -> UserError:
    return UserError(
        f"expected a program that is a chain of linear layers and activations, got {operation}: use a fully connected "
        "network, or a measurement that takes any network, such as correlation"
    )
