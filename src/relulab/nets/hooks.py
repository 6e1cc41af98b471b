"""What the ReLU units of a network put out, for relulab's networks and for any module of a user's."""

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
    """While open, every call of ``module`` leaves what each ReLU put out, by the ReLU's name, in call order.

    The module is in eval mode meanwhile: Dropout and BatchNorm would make of each look another network, and change it.
    """
    seen: dict[str, Tensor] = {}

    def keep(name: str):
        def hook(_module, _inputs, output):
            # A ReLU that is used twice has two layers' worth of units.
            seen[name if name not in seen else f"{name}#{sum(k.split('#')[0] == name for k in seen) + 1}"] = output

        return hook

    handles = [m.register_forward_hook(keep(n)) for n, m in module.named_modules() if isinstance(m, RECTIFIERS)]
    if not handles:
        raise UserError(
            f"{type(module).__name__} has no ReLU that can be seen: activations must be nn.ReLU() or nn.LeakyReLU() "
            "modules, or the network a program of torch.export, in which calls of torch.relu are seen too"
        )
    training = [m for m in module.modules() if m.training]
    module.eval()
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()
        for m in training:
            m.training = True


def units(f: Tensor) -> Float[Tensor, "N n"]:
    """Activations as (sample, unit): a channel of a picture is one unit and each of its pixels a sample."""
    if f.dim() not in (2, 4):
        raise UserError(
            f"a ReLU put out shape {tuple(f.shape)}: (samples, units) or (samples, channels, height, width)"
        )
    return f if f.dim() == 2 else f.movedim(1, -1).reshape(-1, f.shape[1])


def fitted(module: nn.Module, x: Tensor) -> Tensor:
    """x in the floating type of the module's parameters; numbers of tokens stay whole numbers."""
    types = [p.dtype for p in module.parameters() if p.is_floating_point()]
    return x.to(types[0]) if types and x.is_floating_point() else x


def points(x: Tensor | np.ndarray) -> Tensor:
    """Points as a tensor, refused when some are NaN or infinite: what is measured on them would be NaN in silence."""
    x = torch.as_tensor(x)
    if x.is_floating_point() and not x.isfinite().all():
        raise UserError(f"{int((~x.isfinite()).sum())} entries of the points are NaN or infinite")
    return x


@torch.no_grad()
def hidden(net: nn.Module, x: Tensor | np.ndarray) -> dict[str, Tensor]:
    """Post-ReLU activations of every hidden layer by name: (lane, N, n) for an MLP, (N, n) for a user's module.

    Args:
        net: An ``MLP``, or any module whose ReLUs are modules, such as ``nn.ReLU``, which is in eval mode meanwhile.
        x: Points, (N, d), or for an ``MLP`` also (lane, N, d). A module gets them as they are. Of pictures, a channel
            is one unit and each of its pixels a sample.

    >>> list(hidden(nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)), torch.zeros(7, 3)))
    ['1']
    """
    x = points(x)
    if isinstance(net, MLP):
        if x.dim() < 2 or x.shape[-1] != net.widths[0]:
            raise UserError(f"points of shape {tuple(x.shape)} for a network of {net.widths[0]} inputs")
        return {str(l): f for l, f in enumerate(net.layers(x.to(net.dtype))[:-1], 1)}
    with rectifiers(net) as seen:
        try:
            net(fitted(net, x))
        except RuntimeError as error:
            reason = str(error).strip().splitlines()[0]
            raise UserError(f"{type(net).__name__} does not take points of shape {tuple(x.shape)}: {reason}") from None
    return {name: units(f) for name, f in seen.items()}
