"""Load and save fully connected ReLU networks; load exported programs of any other network."""

import json
import math
from functools import reduce
from pathlib import Path

import torch
from torch import nn

from relulab.core.errors import UserError
from relulab.io.guard import checked, one_line
from relulab.io.layer_names import layers_of
from relulab.io.tensors import read_tensors
from relulab.nets.mlp import MLP


def load(path: Path | str, *, slope: float | None = None) -> nn.Module:
    """Load a network from a file. Nothing in the file is executed or unpickled.

    Weight files (.safetensors, .npz, .pt, .pth, .bin) must contain a Linear-ReLU-…-Linear network with the usual names
    and are returned as an ``MLP``. They do not store the activation: it is a ReLU, or a leaky ReLU if ``slope`` is
    given. Files written by ``save`` also store the slope. Any other network can be loaded as a program written by
    ``torch.export.save`` (.pt2), which includes the activations and is returned as a module.

    Args:
        path: The file; its extension determines the format.
        slope: Slope of the leaky ReLU, from 0 to below 1. Default: the slope stored in the file, or 0 (plain ReLU).
            Ignored for programs.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     load(save(MLP((3, 5, 1), slope=0.1), Path(folder) / "net.safetensors")).slope
    0.1
    """
    path = checked(path)
    if path.suffix == ".pt2":
        from relulab.io.program import load_program

        return load_program(path)
    tensors, notes = read_tensors(path)
    layers = layers_of(tensors, str(path), lanes="lanes" in notes, ordered=path.suffix != ".safetensors")
    slope = _slope(notes, path) if slope is None else slope
    first, types = layers[0][0], [t.dtype for layer in layers for t in layer if t is not None]
    net = MLP(
        (first.shape[-1], *(W.shape[-2] for W, _ in layers)),
        lanes=first.shape[0] if first.dim() == 3 else 1,
        bias=any(b is not None for _, b in layers),
        slope=slope,
        dtype=reduce(torch.promote_types, types),
    )
    for l, (W, b) in enumerate(layers):
        net.W[l].data.copy_(W.mT)
        if b is not None:
            net.b[l].data.copy_(b.unsqueeze(-2))
    return net


def _slope(notes: dict[str, str], path: Path) -> float:
    try:
        slope = float(notes.get("slope", 0))
    except ValueError:
        slope = math.nan
    if not 0 <= slope < 1:
        raise UserError(
            f"expected a slope from 0 (plain ReLU) to below 1 in the metadata of {path}, got {notes['slope']!r}: pass "
            "slope to override it"
        )
    return slope


def save(net: nn.Module, path: Path | str) -> Path:
    """Save a fully connected network as safetensors, with the names of ``nn.Sequential``: 0.weight, 0.bias, 2.weight.

    The slope of the leaky ReLU is stored in the metadata. Several lanes are saved in one file, and each tensor then has
    a leading lane axis.

    Args:
        net: An ``MLP``, or an ``nn.Sequential`` of Linear and ReLU layers.
        path: The file to write, with the extension .safetensors.

    Returns:
        The path of the file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     save(MLP((3, 5, 1)), Path(folder) / "net.safetensors").name
    'net.safetensors'
    """
    path = Path(path)
    if path.suffix != ".safetensors":
        raise UserError(f"expected a file name ending in .safetensors, got {path}: change the extension")
    content, part = encoded(net), path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or one_line(error)}") from None
    finally:
        part.unlink(missing_ok=True)
    return path


def encoded(net: nn.Module) -> bytes:
    """Return the bytes of the file that ``save`` writes.

    Args:
        net: An ``MLP``, or an ``nn.Sequential`` of Linear and ReLU layers.
    """
    from safetensors.torch import save as to_bytes

    net = net if isinstance(net, MLP) else MLP.of(net)
    tensors = {}
    for l, (W, b) in enumerate(zip(net.W, net.b, strict=True)):
        layer = {"weight": W.data.mT, "bias": b.data.squeeze(-2)} if net.bias else {"weight": W.data.mT}
        tensors |= {f"{2 * l}.{name}": (t if net.lanes > 1 else t[0]).contiguous() for name, t in layer.items()}
    notes = {"format": "pt", "written by": "relulab", "slope": json.dumps(net.slope)}
    return to_bytes(tensors, notes | ({"lanes": str(net.lanes)} if net.lanes > 1 else {}))
