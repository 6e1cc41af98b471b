r"""IB.L4, balanced neurons stay balanced and keep their sign (IB lemma A.4).

Gradient flow with a loss of bounded slope keeps, for every neuron of a two-layer ReLU network that is balanced at the
start, a_j(t) = sign a_j(0) · ‖w_j(t)‖ (57): ‖w_j‖² and a_j² grow at one rate, and a_j cannot reach zero in finite time.
Any data will do.

Our own integrator has this law built in, which would make the check one that cannot fail. So it is done with plain
midpoint steps on ∇ log ℓ, which break the law by an error of second order in the step, of first order where a neuron
slides along the boundary of a point. A gap that vanishes with the step is the integrator's; one that stays is the
flow's. So the gap at a sixteenth of the step must be less than half of that at the step. If it is not, it tells
against the law only where it has settled: where it is the same at a quarter of the step.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float64
from torch import Tensor, nn

from relulab.core.seeds import Role, stream
from relulab.core.threads import one_thread
from relulab.data.labeled import Labeled
from relulab.flow.autograd_flow import ByAutograd
from relulab.flow.on_log_loss import Clock, follow
from relulab.lab.inputs.labeled_table import TableAndStart
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.nets.initial import balanced, torch_default
from relulab.nets.mlp import MLP
from relulab.nets.residual import residual
from relulab.subjects.bias.tools.conditions import balanced as balanced_at
from relulab.subjects.bias.tools.neuron_flow import neurons
from relulab.subjects.bias.tools.trained_network import looked_at, plain

ROUNDING = 1e-12
FINER, LEFT = (1, 4, 16), 0.5  # an error of first order leaves a sixteenth, a gap of the flow's own would stay whole
SETTLED = 0.1  # relative change, from a quarter of the step to a sixteenth, below which a gap is the flow's own


@one_thread()
def balanced_neurons(
    data: Labeled, start: nn.Module | None = None, *, width: int = 20, seed: int = 0, size: float = 0.01,
    step: float = 0.08, steps: int = 125, sums: bool = False,
) -> Finding:  # fmt: skip
    """Follows a network, balanced with norms ``size`` unless ``start`` is given, for some steps, then by finer ones.

    Args:
        data: Points, (n, d), with labels −1 and 1. They need not be separable.
        start: The network to begin with: two layers, one output, no biases. None makes a balanced one.
        width: Number of neurons of that one.
        seed: Seed of that one.
        size: Norm of every w_j and size of every a_j of that one.
        step: The largest relative change of a weight, and the largest fall of log ℓ, in one coarse step. The finer ones
            are a quarter and a sixteenth of it.
        steps: Number of coarse steps.
        sums: A false variant of the statement, for the negative control: that ‖w_j‖² + a_j² is kept, rather than the
            difference.

    >>> data = Labeled(torch.eye(2).double(), torch.tensor([1.0, -1.0]).double())
    >>> balanced_neurons(data, width=3, steps=2).verdict.name
    'HOLDS'
    """
    dtype = torch.float64 if start is None else next(start.parameters()).dtype
    start = balanced((data.X.shape[1], width, 1), [seed], size=size) if start is None else plain(start, data)
    condition = balanced_at(looked_at(start, data), dtype)
    if not condition.holds:
        return Finding((condition,), ())
    kept: Callable[[Tensor, Tensor], Tensor] = _sum if sums else _difference
    coarse, middle, fine = (_largest(start, data, step / k, steps * k, kept) for k in FINER)
    vanishes = fine[0] <= LEFT * coarse[0] + ROUNDING
    error = 0.0 if vanishes or abs(fine[0] - middle[0]) <= SETTLED * fine[0] else math.inf
    word = "‖w_j‖² + a_j²" if sums else "‖w_j‖² − a_j²"
    says = f"largest change of {word}, over a_j², with steps of {step / FINER[-1]:g}, against {LEFT:g} of {step:g}'s"
    return Finding((condition,), (
        Check(says, fine[0], "<=", LEFT * coarse[0] + ROUNDING, error),
        Check("neurons whose a_j changed its sign", fine[1], "==", 0, error),
    ))  # fmt: skip


def _difference(W: Float64[Tensor, "p d"], a: Float64[Tensor, " p"]) -> Float64[Tensor, " p"]:
    return W.square().sum(1) - a.square()


def _sum(W: Float64[Tensor, "p d"], a: Float64[Tensor, " p"]) -> Float64[Tensor, " p"]:
    return W.square().sum(1) + a.square()


def _largest(start: MLP, data: Labeled, step: float, steps: int, kept: Callable) -> tuple[float, int]:
    """Over all looks: the largest change of what is kept, as a share of a_j², and how many signs of a_j changed."""
    W_0, a_0 = (t[0] for t in neurons(start))
    before, worst, turned = kept(W_0, a_0), 0.0, torch.zeros_like(a_0, dtype=torch.bool)

    def look(state: tuple[Tensor, ...], clock: Clock) -> bool:
        nonlocal worst
        W, a = state[0][0].T, state[1][0, :, 0]
        alive = a.square() > 0
        worst = max(worst, float(((kept(W, a) - before).abs()[alive] / a.square()[alive]).nan_to_num(math.inf).max()))
        turned.logical_or_(a.sign() != a_0.sign())
        return False

    flow = ByAutograd(residual, data.X[None], data.y[None])
    weights = tuple(W.data.clone() for W in start.W)
    follow(flow, weights, Clock.start(1), until=float("inf"), step=step, steps=steps, look=look)
    return worst, int(turned.sum())


def _data() -> Labeled:
    rng = stream(0, Role.DEMONSTRATION, 13)
    return Labeled(torch.from_numpy(rng.standard_normal((30, 5))), torch.from_numpy(rng.choice((-1.0, 1.0), 30)))


THEOREM = Theorem(
    id="IB.L4",
    title="Balanced neurons stay balanced",
    statement="Gradient flow from a balanced start keeps ‖w_j‖ = |a_j| and the sign of a_j for every neuron.",
    source="IB lemma A.4, eq. 57",
    ids=("IB.LA4",),
    check=balanced_neurons,
    on={TableAndStart: balanced_neurons},
    variants=("sums",),
    demonstrations=(
        Demonstration(
            "20 neurons, 30 points in R⁵ with random labels", Verdict.HOLDS, lambda: balanced_neurons(_data())
        ),
        Demonstration(
            "a start that is not balanced",
            Verdict.NOT_APPLICABLE,
            lambda: balanced_neurons(_data(), start=torch_default((5, 20, 1), [0], bias=False, dtype=torch.float64)),
        ),
        Demonstration(
            "negative control: the sum is kept", Verdict.REFUTED, lambda: balanced_neurons(_data(), sums=True)
        ),
    ),
)
