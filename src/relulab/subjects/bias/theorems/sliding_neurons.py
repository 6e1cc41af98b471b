r"""IB.LA3: the motion of neurons, also along kinks (IB lemma A.3).

Let the points and 0 be in general position. Then gradient flow satisfies for every neuron j and almost all times

    ȧ_j = −Σ_i ℓ'_i ρ(w_jᵀx_i)   (45),     ẇ_j = −Σ_i ℓ'_i 1{w_jᵀx_i > 0} a_j P_j x_i   (46),

where P_j is the orthogonal projection onto span{x_i: w_jᵀx_i = 0}^⊥. Off the kinks w_jᵀx_i = 0 this is the gradient.
The lemma says something where a neuron **slides**: it stays on kinks, because the gradients on both sides drive it
back. There the gradient jumps, and the lemma says which vector of the Clarke subdifferential the flow follows.

Small plain steps along −∇ log ℓ, by automatic differentiation, jump from side to side of a kink on which a neuron
slides. Over a window of many steps, their sum must approach the integral of eq. 46. The difference has the size of one
step, so its largest value in the window must vanish with the step size: with a sixteenth of the step, it must fall to
at most a quarter. If it does not, this refutes the lemma only if the difference has converged: if it is the same with a
quarter of the step.

A neuron slides on a kink in a window if it crosses it in every quarter of the window and is never farther from it than
one step leads. A neuron that reaches the kink within the window, or leaves it, moves freely for a while, and that
motion would not vanish with the step size.

The printed condition cannot be met as written for more than d points: k points always lie on a plane of k − 2 ≥ d
dimensions. The proof uses that the points on the kinks of one neuron are linearly independent, which is tested.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.ranges import at_least
from relulab.core.threads import one_thread
from relulab.data.labeled import Labeled
from relulab.flow.autograd_flow import ByAutograd
from relulab.lab.inputs.labeled_table import LabeledTable
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.nets.initial import balanced
from relulab.nets.residual import residual
from relulab.subjects.bias.terms import RELU

FINER, LEFT = (1, 4, 16), 0.25  # the error of a window would shrink to 1/16, a difference of the flow would not shrink
SETTLED = 0.1  # relative change from a quarter to a sixteenth of the step below which a difference has converged
LENGTH = 24  # number of coarse steps in a window
EARLIER = 4  # number of windows before the first comparison: neurons need time to reach kinks
QUARTERS = 4  # a neuron that slides on a kink crosses it in every quarter of the window
INDEPENDENT = 1e-9  # least singular value of linearly independent unit vectors


class Window(NamedTuple):
    """What happened in one window of steps. All sums run from the start of the window to the end of each step."""

    moved: Float64[Tensor, "step p d"]
    """changes of the rows of W"""
    a_moved: Float64[Tensor, "step p"]
    pushed: Float64[Tensor, "step p n"]
    """sum of h p_i y_i a_j: the coefficient of x_i in eq. 46 where neuron j is active on point i"""
    a_pushed: Float64[Tensor, "step p"]
    """sum of h Σ_i p_i y_i ρ(w_jᵀx_i): eq. 45"""
    kinks: Bool[Tensor, "p n"]
    """the points on whose kinks each neuron slides"""
    active: Bool[Tensor, "p n"]
    steady: Bool[Tensor, " p"]
    """whether each neuron crosses only the kinks on which it slides"""


@one_thread()
def sliding_neurons(
    data: Labeled, *, width: int = 20, seed: int = 0, size: float = 0.3, step: float = 0.02, windows: int = 2,
    plain: bool = False,
) -> Finding:  # fmt: skip
    """Follow a network with plain steps of three sizes, and compare its motion along kinks with eqs. 45 and 46.

    Args:
        data: Points, (n, d), with labels −1 and 1. They need not be separable.
        width: Number of neurons.
        seed: Seed of the balanced start.
        size: ‖w_j‖ = |a_j| of every neuron at the start, divided by √(max_i ‖x_i‖).
        step: Largest relative change of a weight in one coarse step, in (0, 0.1].
        windows: Number of windows of 24 coarse steps in which the motion is compared.
        plain: False variant for the negative control: eq. 46 without the projection.

    >>> data = Labeled(torch.eye(2).double(), torch.tensor([1.0, -1.0]).double())  # right angles: no neuron slides
    >>> sliding_neurons(data, width=2, windows=1).verdict.name
    'INCONCLUSIVE'
    """
    at_least(1, width=width, windows=windows)
    if not 0 < step <= 0.1:
        raise UserError(f"expected a step above 0 and at most 0.1, got step={step}: change it")
    X, y = data.X.double(), data.y.double()
    X = X / (float(X.norm(dim=1).max()) or 1.0)  # the same flow for other units of time and of the weights
    start = balanced((X.shape[1], width, 1), [seed], size=size)
    weights = start.W[0].data, start.W[1].data
    weights = _followed(X, y, weights, step, LENGTH, EARLIER)[1]
    # The coarse steps end beside the kinks. The first window leads to within a finer step of them and is not compared.
    coarse, middle, fine = (_followed(X, y, weights, step / k, LENGTH * k, windows + 1)[0][1:] for k in FINER)
    slides = [[w.steady & w.kinks.any(1) for w in run] for run in (coarse, middle, fine)]
    which = [a & b & c & (u.kinks == v.kinks).all(1) & (v.kinks == w.kinks).all(1)
             for a, b, c, u, v, w in zip(*slides, coarse, middle, fine, strict=True)]  # fmt: skip
    count = sum(int(s.sum()) for s in which)
    least = min((_independent(X[kinks]) for w, s in zip(fine, which, strict=True) for kinks in w.kinks[s]), default=1.0)
    conditions = (Check(
        "The points on the kinks of a neuron are linearly independent", least, ">=", INDEPENDENT,
        detail=f"the least singular value of their directions is {least:.2g}",
    ),)  # fmt: skip
    if not count:
        detail = "no neuron slides along a kink during the windows, so the path shows nothing: use another seed"
        return Finding(
            conditions, (Check("Sliding neurons move by eqs. 45 and 46", math.nan, "==", 0.0, detail=detail),)
        )
    gaps = [max(_gaps(X, w, s, plain) for w, s in zip(run, which, strict=True)) for run in (coarse, middle, fine)]
    vanishes = gaps[2] <= LEFT * gaps[0]
    error = 0.0 if vanishes or abs(gaps[2] - gaps[1]) <= SETTLED * gaps[2] else math.inf
    return Finding(conditions, (
        Check("Sliding neurons move by eqs. 45 and 46, up to an error that vanishes with the step size", gaps[2], "<=",
              LEFT * gaps[0], error,
              detail=f"in {count:,} windows of sliding neurons, the error is at most {gaps[0]:.2g} of the motion with "
              f"steps of {step:g} and {gaps[2]:.2g} with steps of {step / FINER[-1]:g}; it must fall to {LEFT:.0%} or "
              "less"),
    ))  # fmt: skip


def _followed(X: Tensor, y: Tensor, weights: tuple[Tensor, ...], step: float, steps: int, windows: int):
    """Take windows of plain steps, all of the same length h within a window; return them and the weights."""
    flow, found = ByAutograd(residual, X[None], y[None]), []
    for _ in range(windows):
        path, pushes = [weights], []
        h = step / flow.pull(weights).speed
        for _ in range(steps):
            W, a = weights[0][0].T, weights[1][0, :, 0]
            z = (W @ X.T).relu()
            _, p = flow.loss((y * (a @ z))[None])
            pushes.append((h * a[:, None] * (p * y), h * (z @ (p[0] * y))))
            weights = flow.moved(weights, flow.pull(weights).along, h)
            path.append(weights)
        W, a = torch.cat([W for W, _ in path]).mT, torch.cat([a for _, a in path])[..., 0]
        pushed, a_pushed = (torch.stack(sums).cumsum(0) for sums in zip(*pushes, strict=True))
        found.append(Window(W[1:] - W[0], a[1:] - a[0], pushed, a_pushed, *_sliding(W @ X.T)))
    return found, weights


def _sliding(z: Float64[Tensor, "step p n"]) -> tuple[Bool[Tensor, "p n"], Bool[Tensor, "p n"], Bool[Tensor, " p"]]:
    """The kinks on which neurons slide, the first activations, and the neurons that cross no other kinks.

    Where a neuron slides, each step leads toward the kink and at most one step beyond it.
    """
    seen = z > 0
    crossed = seen[1:] != seen[:-1]
    often = torch.stack([quarter.any(0) for quarter in crossed.chunk(QUARTERS)]).all(0)
    kinks = often & (z.abs().amax(0) <= z.diff(dim=0).abs().amax(0))
    return kinks, seen[0], ~(crossed.any(0) & ~kinks).any(1)


def _gaps(X: Tensor, window: Window, which: Tensor, plain: bool) -> float:
    """The largest relative difference between the motion of the sliding neurons and eqs. 45 and 46."""
    worst = 0.0
    for j in which.nonzero()[:, 0]:
        kinks = window.kinks[j]
        motion = (window.pushed[:, j] * (window.active[j] & ~kinks)) @ X
        if not plain:
            motion = motion - (motion @ X[kinks].T) @ torch.linalg.pinv(X[kinks]).T
        size = (window.pushed[-1, j].abs() * (window.active[j] | kinks)) @ X.norm(dim=1)
        gap, a_gap = (window.moved[:, j] - motion).norm(dim=1), (window.a_moved[:, j] - window.a_pushed[:, j]).abs()
        worst = max(worst, float(torch.maximum(gap, a_gap).max() / size))
    return worst


def _independent(Z: Float64[Tensor, "k d"]) -> float:
    return float(torch.linalg.svdvals(Z / Z.norm(dim=1, keepdim=True))[-1]) if len(Z) <= Z.shape[1] else 0.0


def _data(twice: bool = False) -> Labeled:
    """Two points at an acute angle: neurons of each sign slide on the kink of the other class.

    With ``twice``, every point is followed by its double.
    """
    X, y = torch.tensor([[1.0, 0.0], [0.5, 1.0]]).double(), torch.tensor([1.0, -1.0]).double()
    return Labeled(torch.cat([X, 2 * X]), torch.cat([y, y])) if twice else Labeled(X, y)


THEOREM = Theorem(
    id="IB.LA3",
    title="The motion of neurons, also along kinks",
    statement="Let the training points and 0 be in general position. Then gradient flow satisfies ȧ_j = "
    "−Σ_i ℓ'_i ρ(w_jᵀx_i) and ẇ_j = −Σ_i ℓ'_i 1{w_jᵀx_i > 0} a_j P_j x_i for every neuron j and almost all times. A "
    "neuron on the kinks w_jᵀx_i = 0 of some points slides along them.",
    symbols={
        "x_i": "training point i",
        "w_j": "input weights of neuron j",
        "a_j": "output weight of neuron j",
        "ẇ_j": "time derivative of w_j",
        "ȧ_j": "time derivative of a_j",
        "ℓ'_i": "derivative of the loss of point i with respect to the output of the network",
        "P_j": "the orthogonal projection onto the orthogonal complement of all x_i with w_jᵀx_i = 0",
        "1{…}": "1 if the condition is true, and 0 otherwise",
        **RELU,
    },
    in_print="The footnote on general position cannot be met as written for more points than dimensions: k points "
    "always lie on a plane of k − 2 dimensions if this is at least the dimension of the space. The proof uses only "
    "that the points on the kinks of one neuron are linearly independent; here this is required.",
    source="IB lemma A.3, eqs. 45 and 46",
    check=sliding_neurons,
    on={LabeledTable: sliding_neurons},
    variants=("plain",),
    demonstrations=(
        Demonstration(
            "20 neurons, two points of different classes at an acute angle",
            Verdict.HOLDS,
            lambda: sliding_neurons(_data()),
        ),
        Demonstration(
            "Every point and its double, which have the same kink",
            Verdict.NOT_APPLICABLE,
            lambda: sliding_neurons(_data(twice=True)),
        ),
        Demonstration(
            "Negative control: the motion without the projection",
            Verdict.REFUTED,
            lambda: sliding_neurons(_data(), plain=True),
        ),
    ),
)
