"""Load exported programs (``torch.export.save``, .pt2) safely, as a graph of named operations and raw weights.

PyTorch's reader unpickles parts of such a file and evaluates expressions in it. Here the graph is read as JSON and the
weights as bytes, and only operations from a list without side effects are run. So a file cannot execute other code.
"""

import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.io.guard import checked, members, one_line, unpack_limit
from relulab.io.program_checks import NODES, Budget, check_arguments, check_overload, shapes_only
from relulab.io.program_layers import output_names
from relulab.io.program_trial import check_in_child
from relulab.nets.activations import activation_module

PURE = {
    "_adaptive_avg_pool2d", "_log_softmax", "_native_batch_norm_legit_no_training", "_softmax", "_unsafe_view",
    "abs", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "add", "addmm", "alias", "amax", "avg_pool1d", "avg_pool2d",
    "baddbmm", "batch_norm", "bmm", "cat", "chunk", "clamp", "clamp_min", "clone", "contiguous", "conv1d", "conv2d",
    "convolution", "detach", "div", "dropout", "elu", "exp", "flatten", "gelu", "group_norm", "hardtanh",
    "layer_norm", "leaky_relu", "linear", "log", "log_softmax", "matmul", "max_pool1d", "max_pool2d",
    "max_pool2d_with_indices", "maximum", "mean", "minimum", "mm", "mul", "native_layer_norm", "neg", "permute",
    "pow", "prelu", "relu", "reshape", "rsqrt", "select", "sigmoid", "silu", "slice", "softmax", "softplus", "split",
    "sqrt", "square", "squeeze", "stack", "sub", "sum", "sym_size", "t", "tanh", "transpose", "unsqueeze", "view",
}  # fmt: skip
TYPES = {5: torch.int64, 6: torch.float16, 7: torch.float32, 8: torch.float64, 13: torch.bfloat16}
TRAINING = {"dropout": 2, "batch_norm": 5}  # position of the training flag among the arguments
TEXT = 32_000_000  # largest size in bytes of a JSON document in a program
DAMAGE = (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError, RuntimeError, OverflowError)


class Program(nn.Module):
    """A network as a list of operations. Each of its activations is a module, so that hooks can record its output."""

    def __init__(self, graph: dict, signature: dict, weights: dict[str, Tensor]):
        super().__init__()
        if len(graph["nodes"]) > NODES:
            raise UserError(f"the program has more than {NODES:,} operations: export a smaller model")
        self.nodes = [_Node(node) for node in graph["nodes"]]
        self.estimated: set[tuple[int, ...]] = set()
        self.bound: dict[str, str] = {}
        self.trained: set[str] = set()
        """names of the weights that are parameters of the exported module, not buffers or constants"""
        self.titles: dict[str, str] = {}
        """names of the weights in the module that was exported, by their names in the graph"""
        inputs = []
        for spec in signature["input_specs"]:
            ((kind, content),) = spec.items()
            if kind == "user_input":
                inputs.append(content["arg"]["as_tensor"]["name"])
            else:
                name = content[f"{kind}_name"]
                self.titles[content["arg"]["name"]] = str(name)
                self.bound[content["arg"]["name"]] = f"w{len(self.bound)}"
                self.trained |= {self.bound[content["arg"]["name"]]} if kind == "parameter" else set()
                parameter = nn.Parameter(weights[name], requires_grad=False)
                self.register_parameter(f"w{len(self.bound) - 1}", parameter)
        if any("buffer_mutation" in spec for spec in signature["output_specs"]):
            raise UserError("the program was exported in training mode: call model.eval() before torch.export.export")
        outputs = [spec["user_output"]["arg"]["as_tensor"]["name"] for spec in signature["output_specs"]]
        if len(inputs) != 1 or len(outputs) != 1:
            raise UserError(
                f"expected a program with one input and one output, got inputs: {len(inputs)}, outputs: "
                f"{len(outputs)}. Wrap the model so that it maps one tensor to one tensor"
            )
        self.input, self.output = inputs[0], outputs[0]
        self.sizes = [size.get("as_int") for size in graph["tensor_values"][self.input]["sizes"]]
        if not self.sizes or any(n is not None and (type(n) is not int or n < 0) for n in self.sizes):
            raise UserError("the input of the program has no valid shape: export the model again")
        for node in self.nodes:
            if (module := node.activation()) is not None:
                if not node.name.isidentifier():
                    raise UserError(
                        f"the output of an activation is named {one_line(node.name)!r}, which is not a valid "
                        "identifier: export the model again"
                    )
                self.add_module(f"{node.name}_", module)

    def as_sequential(self) -> nn.Sequential:
        """Return the program as a chain of linear layers, BatchNorm and activations, or refuse another program."""
        from relulab.io.program_chain import chain

        return chain(self)

    def as_module(self) -> nn.Module:
        """Return the program as a module of layers, with copies of its weights under their names."""
        from relulab.io.program_module import as_module

        try:
            return as_module(self)
        except (*DAMAGE, NotImplementedError, MemoryError) as error:
            if isinstance(error, UserError):
                raise
            raise UserError(f"the layers of the program cannot be read: {one_line(error)}") from None

    def forward(self, x: Tensor) -> Tensor:
        fits = len(self.sizes) == x.dim() and all(n in (None, k) for n, k in zip(self.sizes, x.shape, strict=True))
        if not fits:
            shape = ", ".join("any" if n is None else str(n) for n in self.sizes)
            remedy = (
                ". To allow any number of points, export it with dynamic_shapes={'x': {0: torch.export.Dim.AUTO}}, "
                "where x is the argument of forward"
            )
            raise UserError(
                f"expected data of shape ({shape}), for which the program was exported, got {tuple(x.shape)}"
                f"{remedy if self.sizes[0] else ''}"
            )
        try:
            if tuple(x.shape) not in self.estimated:
                self._values(shapes_only(x), Budget(len(x)))
                self.estimated.add(tuple(x.shape))
            result = self._values(x)[self.output]
            if not isinstance(result, Tensor):
                raise UserError("the output of the program is not a tensor: export the model again")
            return result
        except (*DAMAGE, NotImplementedError, MemoryError) as error:
            raise UserError(f"the program failed on data of shape {tuple(x.shape)}: {one_line(error)}") from None

    def _values(self, x: Tensor, budget: Budget | None = None) -> dict[str, Any]:
        """Return the results of all operations; with a budget, count only what they need."""
        weights = {name: getattr(self, w) for name, w in self.bound.items()}
        values: dict[str, Any] = {self.input: x}
        values |= {name: shapes_only(w) for name, w in weights.items()} if budget else weights
        for node in self.nodes:
            values |= node.run(values, None if budget else self._modules.get(f"{node.name}_"), budget)
        return values


class _Node:
    """One operation with the names of its inputs and outputs."""

    def __init__(self, node: dict):
        self.name, target = str(node["outputs"][0].get("as_tensor", {}).get("name", node["target"])), node["target"]
        _torch, _ops, space, operation, overload = target.split(".") if target.count(".") == 4 else [target] * 5
        self.operation = operation.removesuffix("_") if operation.endswith("_") else operation
        if space != "aten" or self.operation not in PURE:
            raise UserError(
                f"the program uses {one_line(target)}, which is not a supported operation: write the model without it"
            )
        # An in-place operation is replaced, because it would overwrite the values that hooks have recorded.
        packet = getattr(torch.ops.aten, self.operation)
        if overload not in packet.overloads() or "out" in overload:
            raise UserError(
                f"the program uses {one_line(target)}, which is not a supported form of this operation: write the "
                "model without it"
            )
        self.call = getattr(packet, overload)
        check_overload(self.call, one_line(target))
        self.inputs, self.outputs = node["inputs"], node["outputs"]
        flag = TRAINING.get(self.operation)
        if flag is not None and self.inputs[flag]["arg"].get("as_bool"):
            raise UserError("the program was exported in training mode: call model.eval() before torch.export.export")

    def argument(self, i: int, default: float) -> float:
        given = self.inputs[i]["arg"] if i < len(self.inputs) else {}
        value = next(iter(given.values()), default)
        return float(value) if isinstance(value, int | float) and "as_none" not in given else default

    def _from_zero(self) -> bool:
        return self.operation in ("clamp", "clamp_min") and len(self.inputs) == 2 and self.argument(1, 1.0) == 0

    def activation(self) -> nn.Module | None:
        """Return the module of an activation; None for other operations."""
        if self.operation == "relu" or self._from_zero():
            return nn.ReLU()
        if self.operation == "leaky_relu":
            return nn.LeakyReLU(self.argument(1, 0.01))
        if self.operation == "hardtanh":
            low, high = self.argument(1, -1.0), self.argument(2, 1.0)
            return nn.ReLU6() if (low, high) == (0.0, 6.0) else nn.Hardtanh(low, high) if low < high else None
        if self.operation in ("tanh", "sigmoid", "silu", "gelu") and len(self.inputs) == 1:
            return activation_module(self.operation)
        if self.operation == "elu" and len(self.inputs) <= 2:
            return nn.ELU(self.argument(1, 1.0))
        return None

    def run(self, values: dict[str, Any], module: nn.Module | None, budget: Budget | None = None) -> dict[str, Any]:
        positional = [_value(i["arg"], values) for i in self.inputs if i.get("kind", 1) == 1]
        named = {i["name"]: _value(i["arg"], values) for i in self.inputs if i.get("kind", 1) != 1}
        check_arguments(self.operation, self.call, positional, named)
        result = module(positional[0]) if module is not None else self.call(*positional, **named)
        if budget is not None:
            budget.add(self.operation, positional, list(result) if isinstance(result, tuple | list) else [result])
        names = [output_names(output) for output in self.outputs]
        if len(names) == 1:
            return dict(zip(names[0], result if len(names[0]) > 1 else [result], strict=True))
        return {name: part for (name,), part in zip(names, result, strict=True)}


def _value(arg: dict, values: dict[str, Any]) -> Any:
    """Return the value of an argument: a number, a list of numbers, or the result of an earlier operation."""
    ((kind, content),) = arg.items()
    if kind == "as_none":
        return None
    if kind == "as_tensor":
        return values[content["name"]]
    if kind == "as_tensors":
        return [values[tensor["name"]] for tensor in content]
    if kind == "as_sym_int":
        return values[content["as_name"]] if "as_name" in content else content["as_int"]
    if kind == "as_sym_ints":
        return [_value({"as_sym_int": size}, values) for size in content]
    if kind in ("as_int", "as_ints", "as_float", "as_floats", "as_bool", "as_bools", "as_string"):
        return content
    raise UserError(f"the program has an argument of type {one_line(kind)}, which is not supported")


def load_program(path: Path | str, *, tried: bool = False) -> Program:
    """Load the network of a .pt2 file; nothing in the file is unpickled or evaluated.

    Args:
        path: The file written by ``torch.export.save``.
        tried: Whether to run it in this process without trying it in another one first.
    """
    path = checked(path)
    entries = members(path)
    try:
        with zipfile.ZipFile(path) as archive:
            full_names = {name.partition("/")[2]: name for name in entries}
            read = _Members(archive, entries, unpack_limit(path))
            document = json.loads(read(full_names["models/model.json"], TEXT))
            config = json.loads(read(full_names["data/weights/model_weights_config.json"], TEXT))["config"]
            weights = {
                name: _weight(name, meta, read(full_names[f"data/weights/{meta['path_name']}"]))
                for name, meta in config.items()
            }
        graph = document["graph_module"]
        program = Program(graph["graph"], graph["signature"], weights)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except (*DAMAGE, zipfile.BadZipFile, OSError, EOFError, zlib.error) as error:
        raise UserError(
            f"expected an exported program, but {path} is another type of file or damaged ({type(error).__name__}: "
            f"{one_line(error)}): write it with torch.export.save(torch.export.export(model.eval(), (x,)), path)"
        ) from None
    if not tried:
        check_in_child(path)
    return program


class _Members:
    """Reads members of an archive until their total size exceeds a limit: many weights may name one member."""

    def __init__(self, archive: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo], limit: int):
        self.archive, self.entries, self.left = archive, entries, limit

    def __call__(self, name: str, limit: int | None = None) -> bytes:
        length = self.entries[name].file_size
        self.left -= length
        if self.left < 0 or (limit is not None and length > limit):
            raise UserError(f"{one_line(name)} and the members before it are too large: export a smaller model")
        return self.archive.read(name)


def _weight(name: str, meta: dict, content: bytes) -> Tensor:
    name = one_line(name)
    if meta["use_pickle"]:
        raise UserError(f"{name} is pickled, which is not safe to read: use only plain tensors as weights")
    layout = meta["tensor_meta"]
    if layout["dtype"] not in TYPES:
        raise UserError(f"{name} has an unsupported data type: expected float16, bfloat16, float32, float64 or int64")
    sizes, strides = ([n["as_int"] for n in layout[key]] for key in ("sizes", "strides"))
    flat = torch.frombuffer(bytearray(content), dtype=TYPES[layout["dtype"]])
    tensor = flat.as_strided(sizes, strides, layout["storage_offset"]["as_int"])
    if tensor.numel() > max(flat.numel(), 1):
        raise UserError(f"{name} declares {tensor.numel():,} entries, more than the file contains: export it again")
    if tensor.is_floating_point() and not tensor.isfinite().all():
        raise UserError(f"{name} contains NaN or infinite values: export a model with finite weights")
    return tensor.clone()
