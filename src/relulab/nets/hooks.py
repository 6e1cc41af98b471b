"""Activations of the ReLU units of a network, for relulab's networks and for any module."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.nets.mlp import MLP

RECTIFIERS = (nn.ReLU, nn.LeakyReLU, nn.ReLU6, nn.PReLU)


@contextmanager
def rectifiers(module: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Record the outputs of all ReLU modules while the context is open.

    The module is in eval mode meanwhile, because Dropout and BatchNorm would change the result, and BatchNorm also the
    module.

    Args:
        module: Any module with ReLU modules, such as ``nn.ReLU``.

    Yields:
        The outputs by name of the ReLU, in the order of the calls; empty until ``module`` is called.
    """
    outputs: dict[str, Tensor] = {}

    def keep(name: str):
        def hook(_module, _inputs, output):
            # A ReLU that is called twice counts as two layers.
            calls = sum(key.split("#")[0] == name for key in outputs)
            outputs[name if name not in outputs else f"{name}#{calls + 1}"] = output

        return hook

    handles = [m.register_forward_hook(keep(n)) for n, m in module.named_modules() if isinstance(m, RECTIFIERS)]
    if not handles:
        raise UserError(
            f"expected a module with ReLU submodules, but {type(module).__name__} has none: use nn.ReLU() or "
            "nn.LeakyReLU() modules instead of torch.relu, or export the network with torch.export.save and load it"
        )
    training = [m for m in module.modules() if m.training]
    module.eval()
    try:
        yield outputs
    finally:
        for handle in handles:
            handle.remove()
        for m in training:
            m.training = True


def units(f: Tensor) -> Float[Tensor, "N n"]:
    """Reshape activations to (samples, units); for images, each channel is a unit and each pixel is a sample.

    Args:
        f: Activations, (N, n) or (N, channels, height, width).
    """
    if f.dim() not in (2, 4):
        raise UserError(
            "expected ReLU outputs of shape (samples, units) or (samples, channels, height, width), got "
            f"{tuple(f.shape)}: reshape inside the network, or give points of another shape"
        )
    return f if f.dim() == 2 else f.movedim(1, -1).reshape(-1, f.shape[1])


def fitted(module: nn.Module, x: Tensor) -> Tensor:
    """Convert floating-point x to the data type of the module's parameters; integers, such as tokens, stay unchanged.

    Args:
        module: The network.
        x: Its inputs, (N, …).
    """
    types = [p.dtype for p in module.parameters() if p.is_floating_point()]
    return x.to(types[0]) if types and x.is_floating_point() else x


def points(x: Tensor | np.ndarray) -> Tensor:
    """Convert points to a tensor and check that they are finite, since NaN would silently spoil every measurement.

    Args:
        x: Points, (N, …).
    """
    x = torch.as_tensor(x)
    if x.is_floating_point() and not x.isfinite().all():
        raise UserError(
            f"expected finite points, got NaN or infinite values in {int((~x.isfinite()).sum())} of {x.numel()} "
            "entries: remove or replace them"
        )
    return x


@torch.no_grad()
def hidden(net: nn.Module, x: Tensor | np.ndarray) -> dict[str, Tensor]:
    """Return the activations after the ReLU of every hidden layer.

    Args:
        net: An ``MLP``, or any module whose ReLUs are modules, such as ``nn.ReLU``. It is in eval mode meanwhile.
        x: Points, (N, d), or for an ``MLP`` also (lane, N, d). Other modules may take points of other shapes, such as
            images, where each channel is a unit and each pixel is a sample.

    Returns:
        Activations by layer name: (lane, N, n) for an ``MLP``, (N, n) for any other module.

    >>> list(hidden(nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)), torch.zeros(7, 3)))
    ['1']
    """
    x = points(x)
    if isinstance(net, MLP):
        if x.dim() < 2 or x.shape[-1] != net.widths[0]:
            raise UserError(
                f"expected points of shape (N, {net.widths[0]}) for a network with {net.widths[0]} inputs, got "
                f"{tuple(x.shape)}: reshape them, or use another network"
            )
        return {str(l): f for l, f in enumerate(net.layers(x.to(net.dtype))[:-1], 1)}
    with rectifiers(net) as outputs:
        try:
            net(fitted(net, x))
        except RuntimeError as error:
            reason = str(error).strip().splitlines()[0]
            raise UserError(f"{type(net).__name__} failed on points of shape {tuple(x.shape)}: {reason}") from None
    return {name: units(f) for name, f in outputs.items()}
