"""Gradient flow with the cross-entropy loss, for many networks at once, to losses as small as one likes."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.threads import one_thread
from relulab.flow.autograd_flow import ByAutograd
from relulab.flow.on_log_loss import Clock, follow
from relulab.flow.two_layer_flow import LinearPhase, Neurons, TwoLayer
from relulab.nets.mlp import MLP
from relulab.nets.residual import Residual, residual

PAUSE = 100  # steps of the full network after a linear phase turned out wrong


@one_thread()
@torch.no_grad()
def gradient_flow(
    net: MLP | Residual,
    X: Tensor | np.ndarray,
    y: Tensor | np.ndarray,
    *,
    until: float = 1000.0,
    step: float = 0.4,
    steps: int = 200_000,
    shortcut: bool = True,
    each: Callable[[Clock], None] = lambda clock: None,
) -> Clock:
    """Trains two-layer or residual networks without biases, in place, by gradient flow with the cross-entropy loss.

    Follows ℓ = Σ_i log(1 + exp(−y_i f(x_i))) in every lane until ℓ ≤ e^(−until), or where log ℓ falls no more.

    Where every neuron of a two-layer network has come to be off or active exactly on the points of its own sign, the
    rest of the path is that of two linear networks and is followed as such; at each look the activations are checked,
    and if one has changed the full network takes over from the look before.

    Args:
        net: Two-layer ReLU networks without biases, or residual ones, with one output, in float64.
        X: Points, (n, d) for all lanes, or (lane, n, d), one set per lane.
        y: Labels −1 and 1, (n,) or (lane, n).
        until: −log ℓ at which a lane has arrived, above 0.
        step: The largest relative change of a weight, and the largest fall of log ℓ, in one step; above 0, at most 1.
        steps: The most steps that are taken.
        shortcut: Whether the linear phase is followed as such. Otherwise it is the full network all the way.
        each: Called with the clock, and with ``net`` as it then is, at the start, at the end and at growing intervals.

    Returns:
        The clock at the end: steps, s = ∫ ℓ dt, log t and log ℓ of every lane.

    >>> from relulab.nets.initial import balanced
    >>> X = torch.tensor([[1.0, 2.0], [2.0, 1.0], [-1.0, -1.0]], dtype=torch.float64)
    >>> net = balanced((2, 6, 1), seeds=[0], size=1e-6)
    >>> gradient_flow(net, X, torch.tensor([1.0, 1.0, -1.0], dtype=torch.float64), until=20).log_loss.item() < -20
    True
    """
    X, y = _checked(net, torch.as_tensor(X), torch.as_tensor(y).double(), until, step)
    options = {"until": until, "step": step, "steps": steps}

    def show(weights: tuple[Tensor, ...], clock: Clock) -> bool:
        for W, now in zip(net.W, weights, strict=True):
            W.data.copy_(now)
        each(clock)
        return False

    start = tuple(W.data.clone() for W in net.W)
    if isinstance(net, Residual):
        return follow(ByAutograd(residual, X, y), start, Clock.start(net.lanes, X.device), **options, look=show)[1]
    neurons = Neurons(start[0].mT, start[1][..., 0])
    return _two_layers(X, y, neurons, 0 if shortcut else steps + 1, options, show)


def _two_layers(X: Tensor, y: Tensor, neurons: Neurons, linear_from: int, options: dict, show: Callable) -> Clock:
    """The flow of two-layer networks, from step ``linear_from`` on as linear ones where they are."""
    clock, shown = Clock.start(len(X), X.device), -1

    def look(neurons: Neurons, clock: Clock) -> bool:
        nonlocal shown
        if clock.steps > shown:
            show((neurons.W.mT, neurons.a[..., None]), clock)
            shown = clock.steps
        return clock.steps >= linear_from and LinearPhase(X, y, neurons).applies

    while True:
        neurons, clock, linear = follow(TwoLayer(X, y), neurons, clock, **options, look=look)
        if not linear:
            return clock
        phase = LinearPhase(X, y, neurons)
        right = [(phase.start(), clock)]  # where the activations were last seen to be as supposed

        def look_on(state, clock, phase=phase, right=right) -> bool:
            if not phase.holds(state):
                return True
            right[:] = [(state, clock)]
            look(phase.neurons_at(state), clock)
            return False

        _, _, broken = follow(phase, phase.start(), clock, **options, look=look_on)
        state, clock = right[0]
        if not broken:
            return clock
        neurons, linear_from = phase.neurons_at(state), clock.steps + PAUSE


def _checked(net: MLP | Residual, X: Tensor, y: Tensor, until: float, step: float) -> tuple[Tensor, Tensor]:
    two_layers = isinstance(net, MLP) and net.depth == 2 and not net.bias and not net.slope
    fits = (two_layers or isinstance(net, Residual)) and net.widths[-1] == 1
    if not fits or net.dtype != torch.float64:
        raise UserError(
            "gradient_flow takes two-layer ReLU networks with one output and no biases, or residual ones, in float64: "
            "relulab.balanced((d, p, 1), seeds) makes such"
        )
    if not 0 < step <= 1 or not until > 0:
        raise UserError(f"step={step}, until={until}: a step is from 0 to 1, and until positive")
    if X.shape[-1] != net.widths[0] or X.shape[:-1] != y.shape or X.dim() not in (2, 3) or not y.shape[-1]:
        raise UserError(f"points {tuple(X.shape)} with labels {tuple(y.shape)} for networks of {net.widths[0]} inputs")
    if X.dim() == 3 and len(X) not in (1, net.lanes):
        raise UserError(f"{len(X)} data sets for {net.lanes} lanes: one for all, or one a lane")
    if not (y.abs() == 1).all() or not X.isfinite().all():
        raise UserError("labels must be +1 or −1 and points finite; relulab.labeled(X, y) makes such of any two labels")
    X, y = (t.to(net.W[0].device, torch.float64) for t in (X, y))
    return X.expand(net.lanes, *X.shape[-2:]), y.expand(net.lanes, y.shape[-1])
