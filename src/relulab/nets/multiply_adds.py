"""How many multiply-adds a network needs per point, layer by layer, for any shape of its input."""

from collections import Counter
from collections.abc import Sequence
from math import prod
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from relulab.core.errors import UserError
from relulab.nets.eval_mode import eval_mode
from relulab.nets.hooks import applied
from relulab.nets.mlp import MLP
from relulab.nets.tracing import single_module

aten = torch.ops.aten
PRODUCTS = {aten.mm: 0, aten.bmm: 0, aten.mv: 0, aten.dot: 0, aten.addmm: 1, aten.baddbmm: 1, aten.addmv: 1}
"""matrix products, and which argument is the first factor"""


class _Counter(TorchDispatchMode):
    """Adds up the multiply-adds of all matrix products and convolutions, by the layer in which they are."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.within = [""]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        packet = func.overloadpacket
        if packet in PRODUCTS:
            self.counts[self.within[-1]] += result.numel() * args[PRODUCTS[packet]].shape[-1]
        elif packet in (aten.convolution, aten._convolution):
            weight, transposed = args[1], args[6]
            self.counts[self.within[-1]] += (args[0] if transposed else result).numel() * prod(weight.shape[1:])
        return result

    def enter(self, name: str) -> Any:
        return lambda _module, _inputs: self.within.append(name)

    def leave(self, _module: nn.Module, _inputs: Any, _result: Any) -> None:
        self.within.pop()


@torch.no_grad()
def multiply_adds(net: nn.Module, shape: Sequence[int]) -> dict[str, int]:
    """Count the multiply-adds of all matrix products and convolutions for one point, by layer.

    The network is evaluated at one point of zeros, in eval mode, so that every operation is counted, also those that
    are no modules. Additions, activations, BatchNorm and pooling are not counted.

    Args:
        net: A network. In one with lanes, the count is that of one lane.
        shape: The shape of one point, such as (3, 32, 32) or (784,).

    Returns:
        The counts by the name of the layer: the innermost module around the operation, "" for the network itself. The
        layers of an ``MLP`` are those of ``net.module()``.

    >>> multiply_adds(nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16, 2)), (1, 4, 4))
    {'0': 144, '3': 32}
    """
    if any(n < 1 for n in shape):
        raise UserError(f"expected the shape of one point, with sizes of at least 1, got {tuple(shape)}")
    net = net.module() if isinstance(net, MLP) else single_module(net)
    floats = [p for p in net.parameters() if p.is_floating_point()]
    x = torch.zeros((1, *shape), dtype=floats[0].dtype if floats else None, device=floats[0].device if floats else None)
    counter = _Counter()
    hooks = [m.register_forward_pre_hook(counter.enter(name)) for name, m in net.named_modules()]
    hooks += [m.register_forward_hook(counter.leave) for m in net.modules()]
    try:
        with counter, eval_mode(net):
            applied(net, x)
    finally:
        for hook in hooks:
            hook.remove()
    return dict(counter.counts)
