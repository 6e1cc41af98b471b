"""Activations of the hidden units of a network, for relulab's networks and for any module."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.numbers import tensor
from relulab.nets.activations import ACTIVATIONS, RECTIFIERS
from relulab.nets.eval_mode import eval_mode
from relulab.nets.mlp import MLP, computes_otherwise


@contextmanager
def activations(module: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Record the outputs of all activation modules while the context is open.

    Activations are ReLUs and others such as ``nn.Tanh`` and ``nn.GELU``. An activation other than a ReLU is left out if
    its output is the output of the module, such as a Sigmoid for probabilities. The module is in eval mode meanwhile,
    because Dropout and BatchNorm would change the result, and BatchNorm also the module.

    Args:
        module: Any module with activation modules, such as ``nn.ReLU``.

    Yields:
        The outputs by name of the activation, in the order of the calls; empty until ``module`` is called.
    """
    outputs: dict[str, Tensor] = {}
    smooth: set[str] = set()

    def keep(name: str, rectifies: bool):
        def hook(_module, _inputs, output):
            # An activation that is called twice counts as two layers.
            calls = sum(key.split("#")[0] == name for key in outputs)
            key = name if name not in outputs else f"{name}#{calls + 1}"
            outputs[key] = output
            smooth.update(() if rectifies else {key})

        return hook

    def at_end(_module, _inputs, result):
        for name in [name for name in smooth & outputs.keys() if outputs[name] is result]:
            del outputs[name]

    found = [(n, m) for n, m in module.named_modules() if isinstance(m, ACTIVATIONS)]
    if not found:
        raise UserError(
            f"expected a module with activation modules, but {type(module).__name__} has none: use nn.ReLU() or other "
            "activation modules instead of functions such as torch.relu, or export the network with torch.export.save "
            "and load it"
        )
    handles = [m.register_forward_hook(keep(n, isinstance(m, RECTIFIERS))) for n, m in found]
    handles.append(module.register_forward_hook(at_end))
    try:
        with eval_mode(module):
            yield outputs
    finally:
        for handle in handles:
            handle.remove()


def units(f: Tensor) -> Float[Tensor, "N n"]:
    """Reshape activations to (samples, units); for images, each channel is a unit and each pixel is a sample.

    Args:
        f: Activations, (N, n) or (N, channels, height, width).
    """
    if f.dim() not in (2, 4):
        raise UserError(
            "expected activations of shape (samples, units) or (samples, channels, height, width), got "
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


def applied(module: nn.Module, x: Tensor) -> Tensor:
    """Return the outputs of a module at x; points that it cannot take are reported with their shape.

    Args:
        module: The network.
        x: Its inputs, (N, …).
    """
    try:
        return module(x)
    except torch.OutOfMemoryError:
        raise
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(
            f"{type(module).__name__} failed on points of shape {tuple(x.shape)} and type {x.dtype} ({reason}): give "
            "points that the network takes"
        ) from error


def points(x: Tensor | np.ndarray) -> Tensor:
    """Convert points to a tensor and check that they are finite, since NaN would silently spoil every measurement.

    Args:
        x: Points, (N, …).
    """
    x = tensor("points", x)
    if x.is_floating_point() and not x.isfinite().all():
        raise UserError(
            f"expected finite points, got NaN or infinite values in {int((~x.isfinite()).sum())} of {x.numel()} "
            "entries: remove or replace them"
        )
    return x


def layers_of(net: MLP, x: Tensor) -> list[Tensor]:
    """Return the activations of all layers of an MLP in eval mode.

    A subclass whose ``layers`` says nothing about it is refused.

    Args:
        net: The network.
        x: Points, (N, d) or (lane, N, d).
    """
    if computes_otherwise(net) and type(net).layers is MLP.layers and "layers" not in vars(net):
        raise UserError(
            f"expected an MLP whose layers are known, got a {type(net).__name__} with its own forward: define the "
            "method layers(x) instead, which returns the activations of all layers"
        )
    with eval_mode(net):
        return net.layers(x)


@torch.no_grad()
def hidden(net: nn.Module, x: Tensor | np.ndarray) -> dict[str, Tensor]:
    """Return the activations of every hidden layer, after its ReLU or other activation.

    Args:
        net: An ``MLP``, or any module whose activations are modules, such as ``nn.ReLU`` or ``nn.Tanh``. It is in eval
            mode meanwhile.
        x: Points, (N, d), or for an ``MLP`` also (lane, N, d). Other modules may take points of other shapes, such as
            images, where each channel is a unit and each pixel is a sample.

    Returns:
        Activations by layer name: (lane, N, n) for an ``MLP``, (N, n) for any other module.

    >>> list(hidden(nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)), torch.zeros(7, 3)))
    ['1']
    """
    x = points(x)
    if isinstance(net, MLP):
        return {str(l): f for l, f in enumerate(layers_of(net, x.to(net.dtype))[:-1], 1)}
    with activations(net) as outputs:
        applied(net, fitted(net, x))
    return {name: units(f) for name, f in outputs.items()}
