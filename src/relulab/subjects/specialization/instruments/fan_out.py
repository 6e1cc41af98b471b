"""Fan-out: how strongly a node acts on the layer above it."""

import torch
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.lab.instrument import instrument
from relulab.nets.hooks import fitted, rectifiers
from relulab.nets.mlp import MLP


@instrument(source="SS (10)", ids=("SS.F5",))
def fan_out(net: nn.Module, x: Tensor | None = None) -> dict[str, Tensor]:
    """Norms ‖v_k‖ of the weights that lead out of every hidden unit, by layer: (lane, n) for an MLP.

    In a two-layer network v_k is the k-th row of the top weights. Of a user's module hooks find the Linear layers that
    take each ReLU's output, and a ReLU that feeds none of them is left out.

    Args:
        net: An ``MLP``, or any module in which Linear layers read ReLU modules.
        x: A few inputs, to see which layer feeds which. A user's module needs them; an ``MLP`` does not.

    >>> net = MLP((2, 2, 2))
    >>> net.W[1].data[0] = torch.tensor([[3.0, 4.0], [0.0, 1.0]])
    >>> fan_out(net)["1"].tolist()
    [[5.0, 1.0]]
    """
    if isinstance(net, MLP):
        return {str(l): W.data.norm(dim=-1) for l, W in enumerate(net.W[1:], 1)}
    if x is None:
        raise UserError(f"fan_out of a {type(net).__name__} needs a few inputs x, to see which layer feeds which")
    return {name: weights.square().sum(0).sqrt() for name, weights in _readers(net, x).items()}


@torch.no_grad()
def _readers(module: nn.Module, x: Tensor) -> dict[str, Tensor]:
    """For each ReLU the weights of all Linear layers that read its output, stacked: (outputs, n)."""
    read: dict[str, list[Tensor]] = {}
    with rectifiers(module) as seen:

        def at_linear(linear: nn.Linear, inputs, _output):
            for name, output in seen.items():
                if output is inputs[0]:
                    read.setdefault(name, []).append(linear.weight.data)

        handles = [m.register_forward_hook(at_linear) for m in module.modules() if isinstance(m, nn.Linear)]
        try:
            module(fitted(module, x))
        finally:
            for handle in handles:
                handle.remove()
    if not read:
        raise UserError(f"no Linear layer of this {type(module).__name__} reads a ReLU's output directly")
    return {name: torch.cat(weights) for name, weights in read.items()}
