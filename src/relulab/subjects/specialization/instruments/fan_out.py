"""Fan-out: how strongly a node acts on the next layer."""

import torch
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.lab.instrument import instrument
from relulab.nets.hooks import activations, applied, fitted, points
from relulab.nets.mlp import MLP, as_mlp


@instrument(source="SS (10)", ids=("SS.F5",))
def fan_out(net: nn.Module, x: Tensor | None = None) -> dict[str, Tensor]:
    """Compute the norms ‖v_k‖ of the output weights of every hidden unit.

    In a two-layer network, v_k is the k-th row of the top weights. In other modules, hooks find the Linear layers whose
    input is the output of a ReLU; a ReLU without such a layer is left out.

    Args:
        net: An ``MLP``, or any module in which Linear layers follow ReLU modules.
        x: A few inputs, to find out which layers are connected. Not needed for an ``MLP``.

    Returns:
        For each hidden layer, by name, the norms, (lane, n) for an ``MLP`` and (n,) otherwise.

    >>> net = MLP((2, 2, 2))
    >>> net.W[1].data[0] = torch.tensor([[3.0, 4.0], [0.0, 1.0]])
    >>> fan_out(net)["1"].tolist()
    [[5.0, 1.0]]
    """
    if isinstance(net, MLP):
        return {str(l): W.data.norm(dim=-1) for l, W in enumerate(as_mlp(net).W[1:], 1)}
    if x is None:
        raise UserError(
            f"fan_out of a {type(net).__name__} needs inputs to find out which layers are connected: pass a few points "
            "as x"
        )
    return {name: weights.square().sum(0).sqrt() for name, weights in _readers(net, x).items()}


@torch.no_grad()
def _readers(module: nn.Module, x: Tensor) -> dict[str, Tensor]:
    """Return, for each ReLU, the stacked weights (outputs, n) of all Linear layers that take its output."""
    weights_of: dict[str, list[Tensor]] = {}
    with activations(module) as outputs:

        def at_linear(linear: nn.Linear, inputs, _output):
            for name, output in outputs.items():
                if output is inputs[0]:
                    weights_of.setdefault(name, []).append(linear.weight.data)

        handles = [m.register_forward_hook(at_linear) for m in module.modules() if isinstance(m, nn.Linear)]
        try:
            applied(module, fitted(module, points(x)))
        finally:
            for handle in handles:
                handle.remove()
    if not weights_of:
        raise UserError(
            f"no Linear layer of this {type(module).__name__} takes the output of a ReLU directly: fan_out is defined "
            "only for such layers"
        )
    return {name: torch.cat(weights) for name, weights in weights_of.items()}
