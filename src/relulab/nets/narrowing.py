"""Networks with fewer nodes: rows, BatchNorm entries and columns of the others are removed from the weights."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.nets.eval_mode import eval_mode
from relulab.nets.hooks import fitted
from relulab.nets.stage_rules import CONVOLUTIONS, NORMS
from relulab.nets.stages import Reader, Stage, Structure, weight_of
from relulab.nets.tracing import Change, values

SAME = 1e-3  # largest change of an output, as a share of the largest output, that counts as rounding in float32


@dataclass(frozen=True)
class Stand:
    """How the nodes that are kept stand in for all n nodes: f ≈ ``mix`` f_kept + ``rest``.

    Attributes:
        mix: Coefficients, (n, k). The rows of kept nodes are those of the identity.
        rest: Constants, (n,). They are 0 for kept nodes, and if the layer has no place for a constant.
    """

    mix: Float[Tensor, "n k"]
    rest: Float[Tensor, " n"]


Stands = Mapping[tuple[str, str], Stand]
"""by the names of the stage and of the value that is read"""


def removed(nodes: int, kept: Int[Tensor, " k"]) -> Stand:
    """Return the stand-in without any coefficients for removed nodes: they count as 0.

    Args:
        nodes: The number n of nodes.
        kept: The nodes that are kept, (k,).
    """
    eye = torch.eye(nodes, dtype=torch.float64, device=kept.device)
    return Stand(eye[:, kept], torch.zeros(nodes, dtype=torch.float64, device=kept.device))


@torch.no_grad()
def narrowed(of: Structure, kept: Mapping[str, Int[Tensor, " _"]], stands: Stands | None = None) -> nn.Module:
    """Return a copy of a network that has only some of its nodes.

    Args:
        of: The structure of the network.
        kept: The nodes that are kept, (k,), by the name of their stage. Stages that are not named are kept whole.
        stands: What the kept nodes stand in for, by stage and value that is read. Default: removed nodes count as 0.

    Returns:
        A module of the same class, whose layers are smaller.
    """
    net = deepcopy(of.net)
    chosen = [(stage, kept[stage.name]) for stage in of.stages if stage.name in kept]
    for stage, nodes in chosen:
        if not len(nodes):
            raise UserError(f"{stage.name}: expected at least one node to be kept, got none")
        for reader in stage.readers:
            stand = (stands or {}).get((stage.name, reader.value)) or removed(stage.nodes, nodes)
            _read(net, reader, stand)
    for stage, nodes in chosen:
        for name in stage.makers:
            _make(net.get_submodule(name), nodes)
        for name, block in stage.carriers:
            _carry(net.get_submodule(name), nodes, block)
    return net


def _read(net: nn.Module, reader: Reader, stand: Stand) -> None:
    """Replace the columns of a layer: W ← W mix, with the constant W rest added to its outputs."""
    layer, W = net.get_submodule(reader.layer), weight_of(net, reader.layer)
    wide = W.double().reshape(W.shape[0], len(stand.rest), -1)  # columns of a node: its block, or positions in a kernel
    mix, rest = stand.mix.to(W.device), stand.rest.to(W.device)
    narrow = torch.einsum("onp,nk->okp", wide, mix).to(W.dtype)
    if reader.shift is not None and bool(rest.any()):
        change = torch.einsum("onp,n->o", wide, rest).to(W.dtype)
        place: Any = net.get_submodule(reader.shift)
        (place.bias.data.add_ if reader.shift == reader.layer else place.running_mean.sub_)(change)
    columns = narrow.reshape(W.shape[0], -1, *W.shape[2:])
    _set(layer, "weight", columns)
    _count(layer, "in", columns.shape[1])


def _make(layer: Any, kept: Tensor) -> None:
    """Keep some rows of a layer."""
    for name in ("weight", "bias"):
        if getattr(layer, name) is not None:
            _set(layer, name, getattr(layer, name).data[kept])
    _count(layer, "out", len(kept))


def _carry(layer: Any, kept: Tensor, block: int) -> None:
    """Keep some entries of a BatchNorm layer, or some kernels of a convolution of each channel alone."""
    index = (kept[:, None] * block + torch.arange(block, device=kept.device)).flatten()
    for name in ("weight", "bias", "running_mean", "running_var"):
        if getattr(layer, name, None) is not None:
            _set(layer, name, getattr(layer, name).data[index])
    if isinstance(layer, NORMS):
        layer.num_features = len(index)
    elif isinstance(layer, CONVOLUTIONS):
        layer.groups = layer.in_channels = layer.out_channels = len(index)


def _set(layer: Any, name: str, value: Tensor) -> None:
    """Set a parameter or buffer to a copy of a value."""
    old = getattr(layer, name)
    value = value.clone(memory_format=torch.contiguous_format)
    setattr(layer, name, nn.Parameter(value, old.requires_grad) if isinstance(old, nn.Parameter) else value)


def _count(layer: nn.Module, side: str, count: int) -> None:
    kind = "channels" if isinstance(layer, CONVOLUTIONS) else "features"
    setattr(layer, f"{side}_{kind}", count)


@torch.no_grad()
def check_narrowing(of: Structure, x: Tensor) -> None:
    """Raise a ``UserError`` unless removing nodes gives the outputs of the whole network with these nodes set to 0.

    This is what the structure promises. It is tried on two points, with every second node of each stage.

    Args:
        of: The structure of a network.
        x: Points that the network takes, (N, …).
    """
    kept = {stage.name: torch.arange(0, stage.nodes, 2) for stage in of.stages}
    x = fitted(of.net, x[:2])
    with eval_mode(of.net):
        masked, _ = values(of.graph, x, [], {reader.value: _every_second(s) for s in of.stages for reader in s.readers})
        try:
            narrow = narrowed(of, kept).eval()(x)
            same = narrow.shape == masked.shape and _close(narrow, masked)
        except RuntimeError:  # sizes that the forward pass has as numbers
            same = False
    if not same:
        raise UserError(
            f"the {type(of.net).__name__} cannot be pruned: with fewer nodes it computes something else than with the "
            "others set to 0, so its forward pass does more than its layers tell. Write it as an nn.Sequential, or "
            "without numbers that depend on the widths of its layers"
        )


def _every_second(stage: Stage) -> Change:
    """Return a function that sets every second node of a value to 0."""

    def masked(value: Tensor) -> Tensor:
        nodes = value.reshape(value.shape[0], stage.nodes, -1).clone()
        nodes[:, 1::2] = 0
        return nodes.reshape(value.shape)

    return masked


def _close(a: Tensor, b: Tensor) -> bool:
    scale = float(torch.maximum(a.abs().max(), b.abs().max()))
    return float((a - b).abs().max()) <= SAME * scale
