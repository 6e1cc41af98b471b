r"""IB.C1: the function that the network learns (IB corollary 1).

Under the conditions of theorem 1 there are constants u, z ≥ 0 with

    f(x)/‖θ‖² → u ρ(w₊ᵀx) − z ρ(w₋ᵀx)   (10)

for all x: the network becomes a network of two neurons. The constants are u = ‖w₊‖‖u‖²/2 and z = ‖w₋‖‖z‖²/2, with the
vectors u and z of theorem 1. The two sides are compared at random points of the unit sphere, near the data and far from
them. Their largest difference is divided by the largest |f(x)|/‖θ‖² at these points.
"""

from typing import Any

import torch
from jaxtyping import Float64
from torch import Tensor, nn
from torch.nn.functional import normalize

from relulab.core.seeds import Role, stream
from relulab.data.labeled import Labeled
from relulab.flow.margin_losses import AnyLoss, loss_named
from relulab.lab.inputs.labeled_table import TrainedOnTable
from relulab.lab.theorem import Demonstration, Finding, Theorem, Verdict
from relulab.subjects.bias.instruments.limit import limit_distance, limit_function
from relulab.subjects.bias.terms import LIMIT, LOSS, MARGIN, RELU, WEIGHTS
from relulab.subjects.bias.tools.conditions import theorem_1
from relulab.subjects.bias.tools.limit_checks import FALLS, FAR, LATE, at, bounded, falls
from relulab.subjects.bias.tools.neuron_flow import rate
from relulab.subjects.bias.tools.orthants import OppositeOrthants, SpanningSupports

POINTS = 1000


def learned_function(
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
) -> Finding:
    """Check the corollary on a data set, with a network trained here or with a network trained on it before.

    Without ``network``, a network is trained by gradient flow to ℓ = e^{−until}, from ``start`` if it is given and else
    from a random balanced start. With ``network``, that network is checked as it is; pass ``start`` too, since the
    conditions on its start are undecided otherwise.

    Args:
        data: Points, (n, d), with labels −1 and 1.
        network: A trained network: two layers, one output, no biases. None trains one by gradient flow.
        start: The network before training. None means a random balanced start or, together with ``network``, an
            unknown start.
        width: Number of neurons of the balanced start.
        seed: Seed of the balanced start and of the points at which the two sides are compared.
        size: ‖w_j‖ = |a_j| of every neuron at the balanced start.
        until: −log ℓ at the end of the flow.
        step: Largest fall of log ℓ in one step, in (0, 1]; weights change by at most an eighth of it.
        loss: Loss of the margins y_i f(x_i): ``logistic``, ``sigmoid`` and ``capped-exponential`` satisfy the
            conditions, ``exponential``, ``rational``, ``squared`` and ``hinge`` do not.
        linear: False variant for the negative control: u w₊ᵀx − z w₋ᵀx, without the ReLUs.

    >>> obtuse = torch.tensor([[1.0, 3.0], [1.0, -3.0], [-1.0, 0.0]]).double()  # linearly, not orthogonally separable
    >>> learned_function(Labeled(obtuse, torch.tensor([1.0, 1.0, -1.0]).double())).verdict.name
    'NOT_APPLICABLE'
    """
    options = {"width": width, "seed": seed, "size": size, "until": until, "step": step}
    setting = theorem_1(data, network, start, loss=loss, **options)
    if setting.trained is None:
        return Finding(setting.conditions, ())
    vectors, path, _ = setting.trained
    x = normalize(torch.from_numpy(stream(0, Role.CHANCE, seed).standard_normal((POINTS, data.X.shape[1]))), dim=1)
    w = (vectors.positive.w, vectors.negative.w)
    gaps = [distance(W, a, *w, x, linear) for W, a in zip(path["W"], path["a"], strict=True)]
    power, log_loss, late = rate(path, gaps), float(path["log_loss"][-1]), loss_named(loss).late
    bound = 2 * FAR  # f/‖θ‖² is quadratic in the weights: twice the angle allowed in theorem 1
    detail = f"the largest relative gap at {POINTS:,} random inputs is {gaps[-1]:.3g}, must be at most {bound:.3g}"
    limit = "u w₊ᵀx − z w₋ᵀx" if linear else "u ρ(w₊ᵀx) − z ρ(w₋ᵀx)"
    checks = [
        bounded(f"f(x)/‖θ‖² is close to {limit} {at(log_loss)}", gaps[-1], bound,
                -log_loss >= late and not power <= FALLS, detail)
    ]  # fmt: skip
    if len(path) > 1:
        checks.append(falls("The gap between the two falls during training, as −log ℓ grows", power, path, late))
    return Finding(setting.conditions, tuple(checks))


def distance(
    W: Float64[Tensor, "p d"],
    a: Float64[Tensor, " p"],
    w_plus: Float64[Tensor, " d"],
    w_minus: Float64[Tensor, " d"],
    x: Float64[Tensor, "N d"],
    linear: bool = False,
) -> float:
    """Compute the largest gap between the two sides of eq. 10 at the points x, relative to the largest |f|/‖θ‖².

    Args:
        W: First-layer weights, (p, d), one row per neuron.
        a: Second-layer weights, (p,).
        w_plus: Max-margin vector w₊ of the positive points, (d,).
        w_minus: Max-margin vector w₋ of the negative points, (d,).
        x: Points, (N, d).
        linear: Whether to leave out the ReLUs of the limit.
    """
    f = (x @ W.T).relu() @ a / (W.square().sum() + a.square().sum())
    shares = limit_distance(W, a, w_plus, w_minus)
    limit = limit_function(shares, w_plus, w_minus, x)
    if linear:
        # ρ(t) − ρ(−t) = t: subtracting the limit at −x removes the ReLUs
        limit = limit - limit_function(shares, w_plus, w_minus, -x)
    return float((f - limit).abs().max() / f.abs().max())


def _case(data: OppositeOrthants | SpanningSupports, n: int = 60, until: float = 300, **options: Any) -> Finding:
    points = data.draw(stream(0, Role.DEMONSTRATION, 10), n)
    return learned_function(points, width=20, until=until, step=0.8, **options)


THEOREM = Theorem(
    id="IB.C1",
    title="The function that the network learns",
    statement="Under the conditions of theorem 1 (IB.T1), there are constants u, z ≥ 0 such that "
    "f(x)/‖θ‖² → u ρ(w₊ᵀx) − z ρ(w₋ᵀx) for every x: the network becomes a network of two neurons.",
    symbols={
        "f(x)": "output of the network at the input x, f(x) = aᵀρ(Wx)",
        **WEIGHTS,
        "θ": "all weights, θ = (W, a)",
        **RELU,
        **LIMIT,
        "u": "a constant, ‖w₊‖‖u‖²/2 with the vector u of theorem 1",
        "z": "a constant, ‖w₋‖‖z‖²/2 with the vector z of theorem 1",
        **LOSS,
        **MARGIN,
    },
    in_print="The letters u and z are vectors in theorem 1 and numbers in the corollary. The conditions are those of "
    "theorem 1, so the corollary does not apply to the paper's own data, although its conclusion is observed on them.",
    source="IB corollary 1, eq. 10",
    check=learned_function,
    on={TrainedOnTable: learned_function},
    variants=("linear",),
    demonstrations=(
        Demonstration("Data whose support examples span R⁵", Verdict.HOLDS, lambda: _case(SpanningSupports(5))),
        Demonstration(
            "The paper's data in R²⁰, whose support examples do not span: the conclusion is observed all the same",
            Verdict.NOT_APPLICABLE,
            lambda: _case(OppositeOrthants(20), 100, until=3000),
        ),
        Demonstration(
            "Negative control: the two neurons without their ReLUs",
            Verdict.REFUTED,
            lambda: _case(SpanningSupports(5), linear=True, until=LATE),
        ),
    ),
)
