r"""IB.T1, all neurons become max-margin neurons (IB theorem 1).

A two-layer ReLU network that gradient flow trains with the cross-entropy loss, from a balanced start near zero, on
orthogonally separable data whose support examples span R^d for either class, has

    W/‖W‖ − (u w₊ᵀ + z w₋ᵀ) → 0   (8),     a/‖a‖ − (u‖w₊‖ − z‖w₋‖) → 0   (9)

for some u, z ≥ 0 with u_j = 0 or z_j = 0 for every j, with probability at least 1 − 2^(−p): that some neuron stays on.

A limit is checked at a point of the path: both distances must be small at the loss e^(−until), and over the last
tenfold of M = −log ℓ the first must fall as a power of M. Small means that the cosine of every live neuron which
carries a thousandth of ‖W‖ with its direction is over 0.9999, and the distances below that angle. A distance that is
large but falls, or that is looked at before ℓ = e^(−1000), tells nothing.

How fast, from a vanishing start: let the direction of Σ a_j w_j be off by δ. What of δ lies in the span of the support
examples keeps their margins apart by M δᵀx, which the loss does not bear, so it falls as 1/M. What is orthogonal to
them is felt by no support example: while the loss pulls along w₊ alone, δ shrinks only because the neurons grow, by
dδ/d log M = −δ/2, as M^(−1/2). So the condition that supports span is not needed for the limit on such data, but for
its rate.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from relulab.core.seeds import Role, stream
from relulab.data.labeled import Labeled
from relulab.flow.trajectory import Trajectory
from relulab.lab.inputs.labeled_table import TrainedOnTable
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.bias.instruments.limit import limit_distance
from relulab.subjects.bias.instruments.max_margin import MaxMargin, max_margin
from relulab.subjects.bias.tools.conditions import theorem_1
from relulab.subjects.bias.tools.half_spaces import half_spaces
from relulab.subjects.bias.tools.neuron_flow import rate
from relulab.subjects.bias.tools.orthants import OppositeOrthants, SpanningSupports

COSINE = 0.9999
FAR = math.sqrt(1 - COSINE**2)  # the sine of that angle
CARRIES = 1e-3  # the share of ‖W‖ from which a neuron's own direction is looked at: that of others may take for ever
LATE = 1000.0  # −log ℓ from which a distance that does not fall counts against the theorem
FALLS = -0.25  # the largest power of −log ℓ that counts as a fall to zero; it is −1 or −1/2 in the end


def max_margin_neurons(
    data: Labeled,
    network: nn.Module | None = None,
    start: nn.Module | None = None,
    *,
    width: int = 100,
    seed: int = 0,
    size: float = 1e-8,
    until: float = 1000.0,
    step: float = 0.4,
    linear: bool = False,
) -> Finding:
    """Checks the theorem on a data set, by a gradient flow of its own or on a network that was trained on it.

    Without ``network`` a balanced network is followed to ℓ = e^(−until), or ``start``, if given. A trained network is
    judged as it stands; the condition on its start needs that start.

    Args:
        data: Points, (n, d), with labels −1 and 1.
        network: A trained network: two layers, one output, no biases. None trains one by gradient flow.
        start: The network before training. None starts a balanced one, or, beside ``network``, leaves its start
            unknown.
        width: Number of neurons of the balanced start.
        seed: Seed of the balanced start.
        size: Norm of every w_j and size of every a_j at the balanced start.
        until: −log ℓ at the end of the flow.
        step: The largest relative change of a weight, and the largest fall of log ℓ, in one step; above 0, at most 1.
        linear: A false variant of the statement, for the negative control: the one max-margin direction of all points
            y_i x_i in place of w₊ and −w₋, as for linear networks.

    >>> obtuse = torch.tensor([[1.0, 3.0], [1.0, -3.0], [-1.0, 0.0]]).double()  # linearly, not orthogonally separable
    >>> max_margin_neurons(Labeled(obtuse, torch.tensor([1.0, 1.0, -1.0]).double())).verdict.name
    'NOT_APPLICABLE'
    """
    setting = theorem_1(data, network, start, width=width, seed=seed, size=size, until=until, step=step)
    if setting.seen is None:
        return Finding(setting.conditions, ())
    found, path, on = setting.seen
    return Finding(setting.conditions, _conclusion(_linear(data) if linear else found, path, on))


def _conclusion(found: MaxMargin, path: Trajectory[Tensor], on: Tensor) -> tuple[Check, ...]:
    w = (found.positive.w, found.negative.w)
    limits = [limit_distance(W, a, *w) for W, a in zip(path["W"], path["a"], strict=True)]
    end, log_loss = limits[-1], float(path["log_loss"][-1])
    loss = f"at ℓ = e^({log_loss:.4g})"
    power = rate(path, [float(limit.first) for limit in limits])
    norms = path.end.norm(dim=1)
    on = on & (norms > CARRIES * norms[on].norm())  # of the live ones: others may be larger, and stand still
    settled = -log_loss >= LATE and not power <= FALLS
    checks = [
        bounded(f"distance of eq. 8, {loss}", float(end.first), FAR, settled),
        bounded(f"distance of eq. 9, {loss}", float(end.second), FAR, settled),
        bounded(f"one less the least cosine of a live neuron that carries a thousandth of them, {loss}",
                1 - float(end.cosine[on].min()), 1 - COSINE, settled),
    ]  # fmt: skip
    if len(path) > 1:
        checks.append(falls("power of −log ℓ with which the distance of eq. 8 changes", power, path))
    return tuple(checks)


def falls(says: str, power: float, path: Trajectory[Tensor]) -> Check:
    """A distance must fall; early on, where it has not begun to, that tells nothing.

    Args:
        says: what falls.
        power: of −log ℓ with which it does.
        path: on which it was seen.
    """
    late = -float(path["log_loss"][-1]) >= LATE
    return Check(says, power, "<=", FALLS, 0.0 if power <= FALLS or late else math.inf)


def bounded(says: str, measured: float, bound: float, settled: bool) -> Check:
    """A distance that must become small. One that is large still, but on its way down or early, tells nothing yet."""
    still_to_fall = 0.0 if settled else max(0.0, measured - bound) * (1 + 1e-9)
    return Check(says, measured, "<=", bound, still_to_fall)


def _linear(data: Labeled) -> MaxMargin:
    """The max-margin vector of all points y_i x_i, for both signs."""
    X = torch.cat([data.X * data.y[:, None], -data.X[:1] * data.y[:1, None]])
    side = max_margin(X, torch.cat([torch.ones(len(data.y)), -torch.ones(1)])).positive
    return MaxMargin(side, side._replace(w=-side.w))


def _case(data: OppositeOrthants | SpanningSupports, n: int = 60, until: float = 300, **options: Any) -> Finding:
    points = data.draw(stream(0, Role.DEMONSTRATION, 10), n)
    return max_margin_neurons(points, width=20, until=until, step=0.8, **options)


THEOREM = Theorem(
    id="IB.T1",
    title="All neurons become max-margin neurons",
    statement="Trained by gradient flow from a balanced start near zero, on orthogonally separable data whose support "
    "examples span the space, W/‖W‖ tends to u w₊ᵀ + z w₋ᵀ and a/‖a‖ to u‖w₊‖ − z‖w₋‖ with u, z ≥ 0: every neuron "
    "points along the max-margin direction of the positive points or along that of the negative ones.",
    source="IB theorem 1, eqs. 8 and 9",
    check=max_margin_neurons,
    on={TrainedOnTable: max_margin_neurons},
    variants=("linear",),
    demonstrations=(
        Demonstration("data whose supports span R⁵", Verdict.HOLDS, lambda: _case(SpanningSupports(5))),
        Demonstration(
            "the paper's data: too few supports to span R²⁰, though the conclusion is seen",
            Verdict.NOT_APPLICABLE,
            lambda: _case(OppositeOrthants(20), 100, until=3000),
        ),
        Demonstration("a start far from zero", Verdict.NOT_APPLICABLE, lambda: _case(SpanningSupports(5), size=0.5)),
        Demonstration(
            "data that are only linearly separable",
            Verdict.NOT_APPLICABLE,
            lambda: max_margin_neurons(half_spaces(10)),
        ),
        Demonstration(
            "negative control: the one max-margin direction of all points, as in linear networks",
            Verdict.REFUTED,
            lambda: _case(SpanningSupports(5), linear=True, until=LATE),
        ),
    ),
)
