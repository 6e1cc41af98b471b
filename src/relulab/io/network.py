"""Fully connected ReLU networks to and from files; exported programs of any other network."""

import json
import math
from functools import reduce
from pathlib import Path

import torch
from torch import nn

from relulab.core.errors import UserError
from relulab.io.guard import checked, said
from relulab.io.layer_names import layers_of
from relulab.io.tensors import read_tensors
from relulab.nets.mlp import MLP


def load(path: Path | str, *, slope: float | None = None) -> nn.Module:
    """A network from a file, checked before it is believed: a fully connected one as an ``MLP``.

    Files of weights (.safetensors, .npz, .pt, .pth, .bin) hold Linear-ReLU-…-Linear networks in the usual namings. They
    do not say what stands between the layers: it is taken to be a ReLU, a leaky one with ``slope`` if given. Files that
    ``save`` wrote note their slope. A program written by ``torch.export.save`` (.pt2) says all and comes back as a
    module, whatever the network is.

    Args:
        path: The file; its ending tells the format.
        slope: Slope of the leaky ReLU, from 0 to below 1. None takes the one that the file notes, or 0 (plain ReLU). A
            program has its own activations.

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
        raise UserError(f"{path} notes a slope of {notes['slope']!r}: from 0 (plain ReLU) to below 1")
    return slope


def save(net: nn.Module, path: Path | str) -> Path:
    """Writes a fully connected network as safetensors, named as ``nn.Sequential`` names it: 0.weight, 0.bias, 2.weight.

    The slope of a leaky ReLU is noted in the file. Many lanes go into one file, each tensor with a lane axis in front.

    Args:
        net: An ``MLP``, or an ``nn.Sequential`` of Linear and ReLU layers.
        path: Where the file goes; its name must end with .safetensors.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     save(MLP((3, 5, 1)), Path(folder) / "net.safetensors").name
    'net.safetensors'
    """
    path = Path(path)
    if path.suffix != ".safetensors":
        raise UserError(f"{path}: networks are written as .safetensors")
    content, part = encoded(net), path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror or said(error)}") from None
    finally:
        part.unlink(missing_ok=True)
    return path


def encoded(net: nn.Module) -> bytes:
    """The bytes of the file that ``save`` writes."""
    from safetensors.torch import save as to_bytes

    net = net if isinstance(net, MLP) else MLP.of(net)
    tensors = {}
    for l, (W, b) in enumerate(zip(net.W, net.b, strict=True)):
        both = {"weight": W.data.mT, "bias": b.data.squeeze(-2)} if net.bias else {"weight": W.data.mT}
        tensors |= {f"{2 * l}.{name}": (t if net.lanes > 1 else t[0]).contiguous() for name, t in both.items()}
    notes = {"format": "pt", "written by": "relulab", "slope": json.dumps(net.slope)}
    return to_bytes(tensors, notes | ({"lanes": str(net.lanes)} if net.lanes > 1 else {}))
