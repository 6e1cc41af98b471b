r"""IB.T1: all neurons become max-margin neurons (IB theorem 1).

Consider a two-layer ReLU network trained by gradient flow with the cross-entropy loss from a balanced start near zero,
on orthogonally separable data whose support examples span R^d for each class. Then

    W/‖W‖ − (u w₊ᵀ + z w₋ᵀ) → 0   (8),     a/‖a‖ − (u‖w₊‖ − z‖w₋‖) → 0   (9)

for some u, z ≥ 0 with u_j = 0 or z_j = 0 for every j. This holds for almost all such data sets and with probability at
least 1 − 2^{−p} over the start, the probability that some neuron stays active.

The limit is checked at one point of the path. At the loss e^{−until} both distances must be small, and over the last
tenfold of M = −log ℓ the first distance must fall as a power of M. "Small" means that every live neuron with at least
a thousandth of ‖W‖ has a cosine above 0.9999 with its direction, and that the distances are below the sine of that
angle. A distance that is large but falling, or that is measured before ℓ = e^{−1000}, leaves the check undecided.

The rate from a vanishing start: let the direction of Σ_j a_j w_j have the error δ. The part of δ in the span of the
support examples shifts their margins apart by M δᵀx, which the loss corrects, so this part falls as 1/M. The part of δ
orthogonal to the support examples changes none of their margins. While the loss pulls along w₊ only, this part shrinks
only because the neurons grow, by dδ/d log M = −δ/2, and so as M^{−1/2}. On such data the condition that support
examples span R^d is therefore not needed for the limit; it determines the rate.

Other losses: IB section 2 says that the results also hold for every loss whose derivative is bounded, Lipschitz and
pulls every point toward its label. The limit needs an exponential tail as well. With the loss 1/(1 + m) of the margin
m, which has these properties, the neurons of the positive class turn to the unit vector v with v ∝ Σ_i x_i/(vᵀx_i)²,
the minimum of Σ_i 1/(vᵀx_i) over the positive points, and not to w₊.
"""

from typing import Any

import torch
from torch import Tensor, nn

from relulab.core.seeds import Role, stream
from relulab.data.labeled import Labeled
from relulab.flow.margin_losses import AnyLoss, loss_named
from relulab.flow.trajectory import Trajectory
from relulab.lab.inputs.labeled_table import TrainedOnTable
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.bias.instruments.limit import limit_distance
from relulab.subjects.bias.instruments.max_margin import MaxMargin, max_margin
from relulab.subjects.bias.terms import LIMIT, LOSS, MARGIN, SHARES, WEIGHTS
from relulab.subjects.bias.tools.conditions import theorem_1
from relulab.subjects.bias.tools.half_spaces import half_spaces
from relulab.subjects.bias.tools.limit_checks import COSINE, FALLS, FAR, LATE, at, bounded, falls
from relulab.subjects.bias.tools.neuron_flow import rate
from relulab.subjects.bias.tools.orthants import OppositeOrthants, SpanningSupports

CARRIES = 1e-3  # least share of ‖W‖ of a neuron whose direction is checked: smaller neurons may turn arbitrarily slowly


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
    loss: AnyLoss = "logistic",
    linear: bool = False,
    any_tail: bool = False,
) -> Finding:
    """Check the theorem on a data set, with a network trained here or with a network trained on it before.

    Without ``network``, a network is trained by gradient flow to ℓ = e^{−until}, from ``start`` if it is given and else
    from a random balanced start. With ``network``, that network is checked as it is; pass ``start`` too, since the
    conditions on its start are undecided otherwise.

    Args:
        data: Points, (n, d), with labels −1 and 1.
        network: A trained network: two layers, one output, no biases. None trains one by gradient flow.
        start: The network before training. None means a random balanced start or, together with ``network``, an
            unknown start.
        width: Number of neurons of the balanced start.
        seed: Seed of the balanced start.
        size: ‖w_j‖ = |a_j| of every neuron at the balanced start.
        until: −log ℓ at the end of the flow.
        step: Largest fall of log ℓ in one step, in (0, 1]; weights change by at most an eighth of it.
        loss: Loss of the margins y_i f(x_i): ``logistic``, ``sigmoid`` and ``capped-exponential`` satisfy the
            conditions, ``exponential``, ``rational``, ``squared`` and ``hinge`` do not.
        linear: False variant for the negative control: the max-margin vector of all points y_i x_i replaces w₊ and −w₋,
            as in linear networks.
        any_tail: False variant for the negative control: the loss need not have an exponential tail.

    >>> obtuse = torch.tensor([[1.0, 3.0], [1.0, -3.0], [-1.0, 0.0]]).double()  # linearly, not orthogonally separable
    >>> max_margin_neurons(Labeled(obtuse, torch.tensor([1.0, 1.0, -1.0]).double())).verdict.name
    'NOT_APPLICABLE'
    """
    options = {"width": width, "seed": seed, "size": size, "until": until, "step": step}
    setting = theorem_1(data, network, start, loss=loss, any_tail=any_tail, **options)
    if setting.trained is None:
        return Finding(setting.conditions, ())
    vectors, path, on = setting.trained
    return Finding(
        setting.conditions, _conclusion(_linear(data) if linear else vectors, path, on, loss_named(loss).late)
    )


def _conclusion(vectors: MaxMargin, path: Trajectory[Tensor], on: Tensor, late: float) -> tuple[Check, ...]:
    w = (vectors.positive.w, vectors.negative.w)
    limits = [limit_distance(W, a, *w) for W, a in zip(path["W"], path["a"], strict=True)]
    end, log_loss = limits[-1], float(path["log_loss"][-1])
    power = rate(path, [float(limit.first) for limit in limits])
    norms = path.end.norm(dim=1)
    checked = on & (norms > CARRIES * norms[on].norm())  # relative to the live neurons: others can be larger
    settled = -log_loss >= late and not power <= FALLS
    cosine = float(end.cosine[checked].min())
    detail = (
        f"the least cosine of {int(checked.sum()):,} neurons with at least {CARRIES:g} of ‖W‖ is {cosine:.7f}, must be "
        f"at least {COSINE:g}"
    )
    checks = [
        bounded(f"W/‖W‖ is close to u w₊ᵀ + z w₋ᵀ (eq. 8) {at(log_loss)}", float(end.first), FAR, settled,
                _distance(end.first)),
        bounded(f"a/‖a‖ is close to u‖w₊‖ − z‖w₋‖ (eq. 9) {at(log_loss)}", float(end.second), FAR, settled,
                _distance(end.second)),
        bounded(f"Every live neuron points along its max-margin direction {at(log_loss)}", 1 - cosine, 1 - COSINE,
                settled, detail),
    ]  # fmt: skip
    if len(path) > 1:
        checks.append(falls("The distance of eq. 8 falls during training, as −log ℓ grows", power, path, late))
    return tuple(checks)


def _distance(measured: Tensor) -> str:
    return f"the distance is {float(measured):.3g}, must be at most {FAR:.3g}"


def _linear(data: Labeled) -> MaxMargin:
    """The max-margin vector of all points y_i x_i in place of w₊ and −w₋."""
    X = torch.cat([data.X * data.y[:, None], -data.X[:1] * data.y[:1, None]])
    side = max_margin(X, torch.cat([torch.ones(len(data.y)), -torch.ones(1)])).positive
    return MaxMargin(side, side._replace(w=-side.w))


def _case(data: OppositeOrthants | SpanningSupports, n: int = 60, until: float = 300, **options: Any) -> Finding:
    points = data.draw(stream(0, Role.DEMONSTRATION, 10), n)
    return max_margin_neurons(points, width=20, until=until, step=0.8, **options)


THEOREM = Theorem(
    id="IB.T1",
    title="All neurons become max-margin neurons",
    statement="Let a two-layer ReLU network of width p be trained by gradient flow with the cross-entropy loss, or a "
    "similar loss with an exponential tail, from a balanced start near zero, on orthogonally separable data. Let the "
    "support examples of each class span R^d. Then, for almost all such data and with probability at least 1 − 2^{−p} "
    "over the start, W/‖W‖ − (u w₊ᵀ + z w₋ᵀ) → 0 and a/‖a‖ − (u‖w₊‖ − z‖w₋‖) → 0, for some u, z ≥ 0 with u_j = 0 or "
    "z_j = 0 for every neuron j. Every neuron that stays active ends in the max-margin direction of the positive or of "
    "the negative points.",
    symbols={
        "p": "width, the number of neurons",
        "d": "number of input dimensions",
        **WEIGHTS,
        **LIMIT,
        **SHARES,
        **LOSS,
        **MARGIN,
    },
    in_print="The support examples of the paper's own data (section 5.1) do not span R^d: they span about 6 of 20 "
    "dimensions. The theorem therefore does not apply to these data, although its conclusion is observed on them. Data "
    "to which it applies are drawn with `SpanningSupports`. From a vanishing start, the condition determines the rate: "
    "the distance of eq. 8 falls as 1/(−log ℓ) if support examples span R^d, and else as (−log ℓ)^{−1/2}. The paper "
    "does not say how small a start near zero must be; here no output on the data may exceed 0.01. "
    "Section 2 extends the results to all losses with a bounded Lipschitz derivative that pulls every point toward its "
    "label. The limit also needs an exponential tail: the loss 1/(1 + m) has another limit. The exponential loss is "
    "not covered as printed, because its derivative is unbounded, but the conclusion is observed for it.",
    source="IB theorem 1, eqs. 8 and 9",
    check=max_margin_neurons,
    on={TrainedOnTable: max_margin_neurons},
    variants=("linear", "any_tail"),
    demonstrations=(
        Demonstration("Data whose support examples span R⁵", Verdict.HOLDS, lambda: _case(SpanningSupports(5))),
        Demonstration(
            "The paper's data in R²⁰, whose support examples do not span: the conclusion is observed all the same",
            Verdict.NOT_APPLICABLE,
            lambda: _case(OppositeOrthants(20), 100, until=3000),
        ),
        Demonstration(
            "The sigmoid loss 1/(1 + e^m) of the margin m",
            Verdict.HOLDS,
            lambda: _case(SpanningSupports(5), loss="sigmoid"),
        ),
        Demonstration(
            "The squared loss, which does not pull points with large margins",
            Verdict.NOT_APPLICABLE,
            lambda: _case(SpanningSupports(5), loss="squared"),
        ),
        Demonstration("A start far from zero", Verdict.NOT_APPLICABLE, lambda: _case(SpanningSupports(5), size=0.5)),
        Demonstration(
            "Data that are only linearly separable",
            Verdict.NOT_APPLICABLE,
            lambda: max_margin_neurons(half_spaces(10)),
        ),
        Demonstration(
            "Negative control: one max-margin direction of all points, as in linear networks",
            Verdict.REFUTED,
            lambda: _case(SpanningSupports(5), linear=True, until=LATE),
        ),
        Demonstration(
            "Negative control: a loss without an exponential tail, 1/(1 + m) of the margin m",
            Verdict.REFUTED,
            lambda: _case(SpanningSupports(5), loss="rational", any_tail=True, until=20),
        ),
    ),
)
