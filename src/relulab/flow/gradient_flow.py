"""Gradient flow with losses such as the cross-entropy, for many networks at once, down to arbitrarily small losses."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.numbers import tensor
from relulab.core.progress_bar import Progress
from relulab.core.ranges import at_least
from relulab.core.threads import threads_for
from relulab.flow.autograd_flow import ByAutograd
from relulab.flow.margin_losses import FlowLoss, LogLoss, log_loss_of
from relulab.flow.on_log_loss import Clock, follow
from relulab.flow.two_layer_flow import LinearPhase, Neurons, TwoLayer
from relulab.nets.mlp import MLP, computes_otherwise
from relulab.nets.residual import Residual, residual

PAUSE = 100  # number of steps of the full network after a linear phase ended


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
    loss: FlowLoss = "logistic",
    each: Callable[[Clock], None] = lambda clock: None,
    progress: bool | None = None,
) -> Clock:
    """Train two-layer or residual networks without biases, in place, by gradient flow.

    The loss is ℓ = Σ_i log(1 + exp(−y_i f(x_i))), the cross-entropy, or another ``loss``. Each lane is
    followed until ℓ ≤ e^{−until}, or until log ℓ stops decreasing.

    Once every neuron of a two-layer network is either inactive, or active exactly on the points with the sign of its
    output weight, the network is equivalent to two linear networks, which are followed instead because this is faster.
    The activations are checked at every snapshot. If one has changed, the full network is followed again from the
    previous snapshot.

    Args:
        net: Two-layer ReLU networks without biases, or residual networks, with one output, in float64, such as those of
            ``balanced``.
        X: Points, (n, d) for all lanes, or (lane, n, d), one set per lane.
        y: Labels −1 and 1, (n,) or (lane, n).
        until: Value of −log ℓ at which a lane stops, above 0.
        step: Largest decrease of log ℓ in one step, and eight times the largest relative change of a weight; above 0
            and at most 1. With half of it, the error falls to a half or less.
        steps: Largest number of steps.
        shortcut: Whether to use the two linear networks where they are equivalent.
        loss: Loss of a point with the margin m = y_i f(x_i): ``logistic``, log(1 + e^{−m}); ``exponential``, e^{−m};
            ``sigmoid``, 1/(1 + e^m); ``capped-exponential``, e^{−m} for m ≥ 0 and 1 − m for m < 0; or ``rational``,
            1/(1 + m) for m ≥ 0 and 1 − m for m < 0. With ``rational``, the flow is followed to about ℓ = e^{−20}.
        each: Function that is called with the clock at every snapshot: at the start, at the end and at growing
            intervals. Meanwhile ``net`` has the current weights.
        progress: Whether to show a progress bar. Default: in a terminal or a notebook, once the flow has taken a few
            seconds, but not in the units of a study.

    Returns:
        The clock at the end: number of steps, s = ∫ ℓ dt, log t and log ℓ of every lane.

    >>> from relulab.nets.initial import balanced
    >>> X = torch.tensor([[1.0, 2.0], [2.0, 1.0], [-1.0, -1.0]], dtype=torch.float64)
    >>> net = balanced((2, 6, 1), seeds=[0], size=1e-6)
    >>> gradient_flow(net, X, torch.tensor([1.0, 1.0, -1.0], dtype=torch.float64), until=20).log_loss.item() < -20
    True
    """
    at_least(1, steps=steps)
    X, y = _checked(net, tensor("points", X), tensor("labels", y).double(), until, step)
    options, log_loss = {"until": until, "step": step, "steps": steps}, log_loss_of(loss)

    def show(weights: tuple[Tensor, ...], clock: Clock) -> bool:
        for W, current in zip(net.W, weights, strict=True):
            W.data.copy_(current)
        each(clock)
        fall = float(-clock.log_loss.max())  # of the lane with the largest loss
        bar.show(min(max(fall / until, 0.0), 1.0), f"step {clock.steps:,}, log ℓ = {-fall:.4g} of {-until:.4g}")
        return False

    start = tuple(W.data.clone() for W in net.W)
    with threads_for(X.shape[1] * max(W.numel() for W in start)), Progress(progress) as bar:
        if isinstance(net, Residual):
            flow = ByAutograd(residual, X, y, log_loss)
            return follow(flow, start, Clock.start(net.lanes, X.device), **options, look=show)[1]
        neurons = Neurons(start[0].mT, start[1][..., 0])
        return _two_layers(X, y, log_loss, neurons, 0 if shortcut else steps + 1, options, show)


def _two_layers(
    X: Tensor, y: Tensor, loss: LogLoss, neurons: Neurons, linear_from: int, options: dict, show: Callable
) -> Clock:
    """Follow two-layer networks; from step ``linear_from`` on, use the linear networks where they are equivalent."""
    clock, shown = Clock.start(len(X), X.device), -1

    def look(neurons: Neurons, clock: Clock) -> bool:
        nonlocal shown
        if clock.steps > shown:
            show((neurons.W.mT, neurons.a[..., None]), clock)
            shown = clock.steps
        return clock.steps >= linear_from and LinearPhase(X, y, neurons).applies

    while True:
        neurons, clock, linear = follow(TwoLayer(X, y, loss), neurons, clock, **options, look=look)
        if not linear:
            return clock
        phase = LinearPhase(X, y, neurons, loss)
        last_valid = [(phase.start(), clock)]  # the last snapshot at which the activations had not changed

        def look_linear(state, clock, phase=phase, last_valid=last_valid) -> bool:
            if not phase.holds(state):
                return True
            last_valid[:] = [(state, clock)]
            look(phase.neurons_at(state), clock)
            return False

        _, _, broken = follow(phase, phase.start(), clock, **options, look=look_linear)
        state, clock = last_valid[0]
        if not broken:
            return clock
        neurons, linear_from = phase.neurons_at(state), clock.steps + PAUSE


def _checked(net: MLP | Residual, X: Tensor, y: Tensor, until: float, step: float) -> tuple[Tensor, Tensor]:
    plain = isinstance(net, MLP) and not computes_otherwise(net)
    two_layers = plain and net.depth == 2 and not net.bias and not net.slope
    residual = isinstance(net, Residual) and type(net).forward is Residual.forward
    fits = (two_layers or residual) and net.widths[-1] == 1
    if not fits or net.dtype != torch.float64:
        given = type(net).__name__
        if isinstance(net, MLP | Residual):
            given += f" with widths {net.widths}, bias={net.bias}, slope={net.slope} and {net.dtype}"
        raise UserError(
            "expected two-layer ReLU networks with one output, no biases and slope 0, or residual networks with one "
            f"output, in float64, got {given}: create them with relulab.balanced((d, p, 1), seeds)"
        )
    if not 0 < step <= 1 or not until > 0:
        raise UserError(
            f"expected 0 < step ≤ 1 and until > 0, got step={step} and until={until}: change the value out of range"
        )
    if X.dim() not in (2, 3) or X.shape[-1] != net.widths[0] or X.shape[:-1] != y.shape or not y.shape[-1]:
        raise UserError(
            f"expected points of shape (n, {net.widths[0]}) and labels of shape (n,) for networks with "
            f"{net.widths[0]} inputs, got {tuple(X.shape)} and {tuple(y.shape)}: reshape them, or change the networks"
        )
    if X.dim() == 3 and len(X) not in (1, net.lanes):
        raise UserError(
            f"expected one data set, or one per lane, got {len(X)} data sets for {net.lanes} lanes: give points of "
            "shape (n, d) for all lanes"
        )
    if not (y.abs() == 1).all() or not X.isfinite().all():
        raise UserError(
            "expected labels +1 or −1 and finite points, got other values: relulab.labeled(X, y) converts any two "
            "labels"
        )
    _usable_start(net)
    X, y = (t.to(net.W[0].device, torch.float64) for t in (X, y))
    return X.expand(net.lanes, *X.shape[-2:]), y.expand(net.lanes, y.shape[-1])


def _usable_start(net: MLP | Residual) -> None:
    """Refuse weights that are not finite, and networks in which all weights are 0, where the gradient is 0 as well."""
    sizes = torch.stack([W.data.flatten(1).abs().amax(1) for W in net.W]).amax(0)
    wrong = (~sizes.isfinite()).nonzero()[:, 0]
    if len(wrong):
        raise UserError(
            f"expected finite initial weights, got NaN or infinite ones in lane {int(wrong[0])}: create the networks "
            "with relulab.balanced((d, p, 1), seeds), or select other lanes"
        )
    zero = (sizes == 0).nonzero()[:, 0]
    if len(zero):
        raise UserError(
            f"expected initial weights other than 0, got only zeros in lane {int(zero[0])}, where the gradient flow "
            "stays at 0: create the networks with relulab.balanced((d, p, 1), seeds)"
        )
