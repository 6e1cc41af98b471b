"""Load and save fully connected ReLU networks; load exported programs of any other network."""

import json
import math
from copy import deepcopy
from functools import reduce
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn

from relulab.core.errors import UserError
from relulab.core.files import atomic
from relulab.io.batch_norm import fold_batch_norms
from relulab.io.guard import checked, one_line
from relulab.io.layer_names import Layer, layers_of
from relulab.io.tensors import read_tensors
from relulab.nets.activations import activation_module
from relulab.nets.mlp import MLP, as_mlp
from relulab.nets.plain_layers import linear_module


class Loaded(NamedTuple):
    """A network from a file, notes on how it was read, and whether a ReLU was assumed because the file does not say."""

    net: nn.Module
    notes: list[str]
    assumed: bool


def load(path: Path | str, *, slope: float | None = None, activation: str | None = None) -> nn.Module:
    """Load a network from a file. Nothing in the file is executed or unpickled.

    Weight files (.safetensors, .npz, .pt, .pth, .bin) must contain a fully connected network with the usual names.
    BatchNorm is folded into its linear layers. The activation is not stored: it is assumed to be a ReLU, unless
    ``activation`` or ``slope`` is given. (Leaky) ReLU networks are returned as an ``MLP``, others as an
    ``nn.Sequential``. Files written by ``save`` also store the slope. Any other network can be loaded as a program
    written by ``torch.export.save`` (.pt2), which includes the activations and is returned as a module.

    Args:
        path: The file; its extension determines the format.
        slope: Slope of the leaky ReLU, from 0 to below 1. Default: the slope stored in the file, or 0 (plain ReLU).
            Ignored for programs.
        activation: Activation between the layers of a weight file, such as "relu", "tanh" or "gelu". Default: a ReLU.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     load(save(MLP((3, 5, 1), slope=0.1), Path(folder) / "net.safetensors")).slope
    0.1
    """
    return loaded(path, slope=slope, activation=activation).net


def loaded(path: Path | str, *, slope: float | None = None, activation: str | None = None) -> Loaded:
    """Load a network as ``load`` does, and return it with notes on what was assumed.

    Args:
        path: The file.
        slope: Slope of the leaky ReLU.
        activation: Activation between the layers of a weight file.
    """
    between = _given_activation(slope, activation)
    path = checked(path)
    if path.suffix == ".pt2":
        from relulab.io.program import load_program

        program = load_program(path)
        if activation is not None and not any(isinstance(m, type(between)) for m in program.children()):
            raise UserError(
                f"expected no activation for a program, which contains its own, got {activation!r} for {path}: leave "
                "it out"
            )
        return Loaded(program, [], False)
    tensors, notes = read_tensors(path)
    tensors, normalized = fold_batch_norms(tensors, str(path)) if "lanes" not in notes else (tensors, "")
    layers = layers_of(tensors, str(path), lanes="lanes" in notes, ordered=path.suffix != ".safetensors")
    said = [normalized] if normalized else []
    assumed = between is None and "slope" not in notes and len(layers) > 1
    if between is None:
        stored = _slope(notes, path)
        between = nn.LeakyReLU(stored) if stored else nn.ReLU()
    if isinstance(between, nn.ReLU | nn.LeakyReLU):
        return Loaded(_mlp(layers, between.negative_slope if isinstance(between, nn.LeakyReLU) else 0.0), said, assumed)
    if "lanes" in notes:
        raise UserError(f"expected one network for activation {activation!r}, got several lanes in {path}: save one")
    parts = [part for layer in layers for part in (linear_module(layer), deepcopy(between))]
    return Loaded(nn.Sequential(*parts[:-1]), said, False)


def _given_activation(slope: float | None, activation: str | None) -> nn.Module | None:
    """Return the activation that the user stated, or None."""
    if slope is not None and not 0 <= slope < 1:
        raise UserError(f"expected a slope from 0 (plain ReLU) to below 1, got {slope}: change it")
    if activation is None:
        return None if slope is None else nn.LeakyReLU(slope) if slope else nn.ReLU()
    between = activation_module(activation)
    if slope is not None and not isinstance(between, nn.LeakyReLU):
        raise UserError(
            f"expected a slope only with activation leaky_relu, got slope {slope:g} with {activation}: leave out one"
        )
    return nn.LeakyReLU(slope) if slope is not None else between


def _mlp(layers: list[Layer], slope: float) -> MLP:
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
            f"expected a slope from 0 (plain ReLU) to below 1 in the metadata of {path}, got "
            f"{one_line(notes['slope'])}: pass slope to override it"
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
    content = encoded(net)
    try:
        with atomic(path) as part:
            part.write_bytes(content)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or one_line(error)}") from None
    return path


def state_dict_bytes(net: nn.Module) -> bytes:
    """Return the bytes of a PyTorch file with the state dict of a network, with the names of ``nn.Sequential``.

    Args:
        net: An ``MLP`` with one lane, or an ``nn.Sequential`` of Linear and ReLU layers.
    """
    content = BytesIO()
    torch.save(as_mlp(net).module().state_dict(), content)
    return content.getvalue()


def encoded(net: nn.Module) -> bytes:
    """Return the bytes of the file that ``save`` writes.

    Args:
        net: An ``MLP``, or an ``nn.Sequential`` of Linear and ReLU layers.
    """
    from safetensors.torch import save as to_bytes

    net = as_mlp(net)
    tensors = {}
    for l, (W, b) in enumerate(zip(net.W, net.b, strict=True)):
        layer = {"weight": W.data.mT, "bias": b.data.squeeze(-2)} if net.bias else {"weight": W.data.mT}
        tensors |= {f"{2 * l}.{name}": (t if net.lanes > 1 else t[0]).contiguous() for name, t in layer.items()}
    notes = {"format": "pt", "written by": "relulab", "slope": json.dumps(net.slope)}
    return to_bytes(tensors, notes | ({"lanes": str(net.lanes)} if net.lanes > 1 else {}))
