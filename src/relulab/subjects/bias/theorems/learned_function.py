r"""IB.C1, the function that is learned (IB corollary 1).

Under the conditions of theorem 1 there are constants u, z ≥ 0 with

    f(x)/‖θ‖² → u ρ(w₊ᵀx) − z ρ(w₋ᵀx)   (10)

for all x: the network becomes one of two neurons. The constants are u = ‖w₊‖‖u‖²/2, z = ‖w₋‖‖z‖²/2 of theorem 1's
vectors. Compared are the two sides at random points of the unit sphere, far from the data as well as near, as a share
of the largest value there.
"""

from typing import Any

import torch
from jaxtyping import Float64
from torch import Tensor, nn
from torch.nn.functional import normalize

from relulab.core.seeds import Role, stream
from relulab.data.labeled import Labeled
from relulab.lab.inputs.labeled_table import TrainedOnTable
from relulab.lab.theorem import Demonstration, Finding, Theorem, Verdict
from relulab.subjects.bias.instruments.limit import limit_distance, limit_function
from relulab.subjects.bias.theorems.max_margin_neurons import FALLS, FAR, LATE, bounded, falls
from relulab.subjects.bias.tools.conditions import theorem_1
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
    linear: bool = False,
) -> Finding:
    """Checks the corollary on a data set, by a gradient flow of its own or on a network that was trained on it.

    Without ``network`` a balanced network is followed to ℓ = e^(−until), or ``start``, if given. A trained network is
    judged as it stands; the condition on its start needs that start.

    Args:
        data: Points, (n, d), with labels −1 and 1.
        network: A trained network: two layers, one output, no biases. None trains one by gradient flow.
        start: The network before training. None starts a balanced one, or, beside ``network``, leaves its start
            unknown.
        width: Number of neurons of the balanced start.
        seed: Seed of the balanced start, and of the points at which the two sides are compared.
        size: Norm of every w_j and size of every a_j at the balanced start.
        until: −log ℓ at the end of the flow.
        step: The largest relative change of a weight, and the largest fall of log ℓ, in one step; above 0, at most 1.
        linear: A false variant of the statement, for the negative control: the function u w₊ᵀx − z w₋ᵀx without its
            ReLUs.

    >>> obtuse = torch.tensor([[1.0, 3.0], [1.0, -3.0], [-1.0, 0.0]]).double()  # linearly, not orthogonally separable
    >>> learned_function(Labeled(obtuse, torch.tensor([1.0, 1.0, -1.0]).double())).verdict.name
    'NOT_APPLICABLE'
    """
    setting = theorem_1(data, network, start, width=width, seed=seed, size=size, until=until, step=step)
    if setting.seen is None:
        return Finding(setting.conditions, ())
    found, path, _ = setting.seen
    x = normalize(torch.from_numpy(stream(0, Role.CHANCE, seed).standard_normal((POINTS, data.X.shape[1]))), dim=1)
    w = (found.positive.w, found.negative.w)
    gaps = [distance(W, a, *w, x, linear) for W, a in zip(path["W"], path["a"], strict=True)]
    says = f"largest gap of the two sides of eq. 10 at {POINTS:,} points, at ℓ = e^({float(path['log_loss'][-1]):.4g})"
    # f/‖θ‖² is a square in the weights: twice the angle that theorem 1 is given
    power = rate(path, gaps)
    checks = [bounded(says, gaps[-1], 2 * FAR, -float(path["log_loss"][-1]) >= LATE and not power <= FALLS)]
    if len(path) > 1:
        checks.append(falls("power of −log ℓ with which the gap changes", power, path))
    return Finding(setting.conditions, tuple(checks))


def distance(
    W: Float64[Tensor, "p d"],
    a: Float64[Tensor, " p"],
    w_plus: Float64[Tensor, " d"],
    w_minus: Float64[Tensor, " d"],
    x: Float64[Tensor, "N d"],
    linear: bool = False,
) -> float:
    """The largest gap of eq. 10 at the points x, as a share of the largest |f|/‖θ‖²."""
    f = (x @ W.T).relu() @ a / (W.square().sum() + a.square().sum())
    shares = limit_distance(W, a, w_plus, w_minus)
    limit = limit_function(shares, w_plus, w_minus, x)
    if linear:
        # ρ(t) − ρ(−t) = t, so the limit at −x, with the sign turned, fills in what the ReLUs cut off
        limit = limit - limit_function(shares, w_plus, w_minus, -x)
    return float((f - limit).abs().max() / f.abs().max())


def _case(data: OppositeOrthants | SpanningSupports, n: int = 60, until: float = 300, **options: Any) -> Finding:
    points = data.draw(stream(0, Role.DEMONSTRATION, 10), n)
    return learned_function(points, width=20, until=until, step=0.8, **options)


THEOREM = Theorem(
    id="IB.C1",
    title="The function that is learned",
    statement="Under the conditions of theorem 1, f(x)/‖θ‖² tends to u ρ(w₊ᵀx) − z ρ(w₋ᵀx) at every x, with u, z ≥ 0.",
    source="IB corollary 1, eq. 10",
    check=learned_function,
    on={TrainedOnTable: learned_function},
    variants=("linear",),
    demonstrations=(
        Demonstration("data whose supports span R⁵", Verdict.HOLDS, lambda: _case(SpanningSupports(5))),
        Demonstration(
            "the paper's data: too few supports to span R²⁰, though the conclusion is seen",
            Verdict.NOT_APPLICABLE,
            lambda: _case(OppositeOrthants(20), 100, until=3000),
        ),
        Demonstration(
            "negative control: the two neurons without their ReLUs",
            Verdict.REFUTED,
            lambda: _case(SpanningSupports(5), linear=True, until=LATE),
        ),
    ),
)
