"""Layers with weights among the operations of an exported program, as modules."""

from typing import Any

from torch import Tensor, nn

from relulab.nets.plain_layers import linear_module

NORMS = {"batch_norm": 7, "_native_batch_norm_legit_no_training": 6}  # position of epsilon among the arguments
CONVOLUTIONS = {2: nn.Conv1d, 3: nn.Conv2d}  # by the number of axes of a weight after the first


def tensor_name(argument: dict) -> str | None:
    """Return the name of the tensor that is an argument of an operation; None for other arguments.

    Args:
        argument: The argument, as it is in the file.
    """
    return argument["as_tensor"]["name"] if "as_tensor" in argument else None


def output_names(output: dict) -> list[str]:
    """Return the names of the values that an operation returns.

    Args:
        output: One of its outputs, as it is in the file.
    """
    ((kind, content),) = output.items()
    if kind == "as_tensors":
        return [tensor["name"] for tensor in content]
    return [content["as_name"] if kind == "as_sym_int" else content["name"]]


def taken_names(arg: dict) -> list[str]:
    """Return the names of the results that an argument of an operation takes.

    Args:
        arg: The argument as it is described in the file.
    """
    return [tensor["name"] for tensor in (arg.get("as_tensors") or [arg.get("as_tensor")]) if tensor]


def layer_of(
    node: Any, names: list[str | None], current: str | None, weights: dict[str, Tensor], axes: int = 2
) -> tuple[nn.Module, str | None] | None:
    """Return the layer that an operation on a value is, and the name of its weight; None if it is no such layer.

    Args:
        node: The operation of a ``Program``.
        names: Names of the tensors among its arguments.
        current: Name of the value that the operation is applied to.
        weights: The weights of the program by name.
        axes: Number of axes of the value.
    """
    operation, given = node.operation, [None if name is None else weights.get(name) for name in names]
    if operation == "linear" and names[0] == current and given[1] is not None:
        return linear_module((given[1], given[2] if len(given) > 2 else None)), names[1]
    if operation == "addmm" and len(names) == 3 and names[1] == current and given[2] is not None:
        return linear_module((given[2].mT, given[0])), names[2]
    if operation in ("mm", "matmul") and names[0] == current and given[1] is not None and given[1].dim() == 2:
        return linear_module((given[1].mT, None)), names[1]
    if operation in NORMS and names[0] == current and given[3] is not None and given[4] is not None:
        kind = nn.BatchNorm2d if axes == 4 else nn.BatchNorm1d
        norm = kind(len(given[3]), eps=node.argument(NORMS[operation], 1e-5), affine=given[1] is not None)
        norm.running_mean, norm.running_var = given[3].clone(), given[4].clone()
        if given[1] is not None and given[2] is not None:
            norm.weight, norm.bias = nn.Parameter(given[1].clone()), nn.Parameter(given[2].clone())
        return norm.eval(), names[1] or names[3]
    if operation in ("conv1d", "conv2d", "convolution") and names[0] == current and given[1] is not None:
        made = _convolution(node, given[1], given[2] if len(given) > 2 else None)
        return None if made is None else (made, names[1])
    return None


def _convolution(node: Any, weight: Tensor, bias: Tensor | None) -> nn.Module | None:
    """Return a convolution as a module; None for transposed ones and those with more than two spatial axes."""
    axes = weight.dim() - 1
    if axes not in CONVOLUTIONS:
        return None
    general = node.operation == "convolution"
    if general and (_constant(node, 6, False) or any(_constant(node, 7, []))):
        return None
    stride, padding, dilation = (_sizes(_constant(node, i, d), axes - 1) for i, d in ((3, 1), (4, 0), (5, 1)))
    groups = _constant(node, 8 if general else 6, 1)
    kind: Any = CONVOLUTIONS[axes]
    layer = kind(
        weight.shape[1] * groups, weight.shape[0], tuple(weight.shape[2:]), stride, padding, dilation, groups,
        bias is not None, dtype=weight.dtype, device="meta",
    )  # fmt: skip
    layer.weight = nn.Parameter(weight.clone())
    if bias is not None:
        layer.bias = nn.Parameter(bias.clone())
    return layer


def _constant(node: Any, i: int, default: Any) -> Any:
    """Return argument number i of an operation, which is not a tensor."""
    if i >= len(node.inputs) or "as_none" in node.inputs[i]["arg"]:
        return default
    (value,) = node.inputs[i]["arg"].values()
    return value


def _sizes(value: Any, axes: int) -> Any:
    """Return one number per spatial axis; a single number counts for all. A word, such as "same", stays as it is."""
    if isinstance(value, str):
        return value
    values = tuple(value) if isinstance(value, list) else (value,)
    return values * axes if len(values) == 1 else values
