r"""IB.L4: balanced neurons stay balanced and keep their sign (IB lemma A.4).

Let a two-layer ReLU network be balanced at the start and trained by gradient flow with a loss whose derivative is
bounded. Then every neuron keeps a_j(t) = sign a_j(0) · ‖w_j(t)‖ (eq. 57): ‖w_j‖² and a_j² grow at the same rate, and
a_j cannot reach zero in finite time. The data may be arbitrary.

The integrator of ``gradient_flow`` has this law built in, so a check with it could not fail. The check therefore uses
plain midpoint steps on ∇ log ℓ, which violate the law by an error of second order in the step size, and of first order
where a neuron slides along the boundary of a point. A gap that vanishes with the step size is an error of the
integrator; a gap that remains belongs to the flow. The gap with a sixteenth of the step must therefore be at most half
of the gap with the full step. If it is not, this refutes the law only if the gap has converged: if it is the same with
a quarter of the step.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float64
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.ranges import at_least
from relulab.core.seeds import Role, stream
from relulab.core.threads import one_thread
from relulab.data.labeled import Labeled
from relulab.flow.autograd_flow import ByAutograd
from relulab.flow.margin_losses import AnyLoss, LogLoss, followed, log_loss_of
from relulab.flow.on_log_loss import Clock, follow
from relulab.lab.inputs.labeled_table import TableAndStart
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.nets.initial import balanced, torch_default
from relulab.nets.mlp import MLP
from relulab.nets.residual import residual
from relulab.subjects.bias.tools.conditions import balanced as balanced_at
from relulab.subjects.bias.tools.loss_conditions import bounded_slope
from relulab.subjects.bias.tools.neuron_flow import neurons
from relulab.subjects.bias.tools.trained_network import looked_at, plain

ROUNDING = 1e-12
FINER, LEFT = (1, 4, 16), 0.5  # a first-order error would shrink to 1/16, a gap of the flow itself would not shrink
MOVED = 0.01  # least relative change of some a_j² on a path that shows something
SETTLED = 0.1  # relative change from a quarter to a sixteenth of the step below which a gap has converged


@one_thread()
def balanced_neurons(
    data: Labeled, start: nn.Module | None = None, *, width: int = 20, seed: int = 0, size: float = 0.01,
    step: float = 0.08, steps: int = 125, loss: AnyLoss = "logistic", sums: bool = False,
) -> Finding:  # fmt: skip
    """Follow a network with coarse steps, and again with finer steps; compare the changes of ‖w_j‖² − a_j².

    Args:
        data: Points, (n, d), with labels −1 and 1. They need not be separable.
        start: Network to start from: two layers, one output, no biases. Default: a random balanced network.
        width: Number of neurons of the balanced network.
        seed: Seed of the balanced network.
        size: ‖w_j‖ = |a_j| of every neuron of the balanced network.
        step: Largest relative change of a weight and largest fall of log ℓ in one coarse step. The finer steps are a
            quarter and a sixteenth of it.
        steps: Number of coarse steps.
        loss: Loss of the margins y_i f(x_i). The derivatives of ``exponential`` and ``squared`` are not bounded.
        sums: False variant for the negative control: ‖w_j‖² + a_j² is constant, instead of the difference.

    >>> data = Labeled(torch.eye(2).double(), torch.tensor([1.0, -1.0]).double())
    >>> balanced_neurons(data, width=3, steps=2).verdict.name
    'HOLDS'
    """
    if not 0 < step <= 1:
        raise UserError(f"expected a step above 0 and at most 1, got step={step}: change it")
    at_least(1, width=width, steps=steps)
    dtype = torch.float64 if start is None else next((p.dtype for p in start.parameters()), torch.float64)
    start = balanced((data.X.shape[1], width, 1), [seed], size=size) if start is None else plain(start, data)
    condition = balanced_at(looked_at(start, data), dtype)
    conditions = (condition, bounded_slope(loss))
    if not condition.holds or not followed(loss):
        return Finding(conditions, ())
    log_loss = log_loss_of(loss)
    kept: Callable[[Tensor, Tensor], Tensor] = _sum if sums else _difference
    coarse, middle, fine = (_largest(start, data, step / k, steps * k, kept, log_loss) for k in FINER)
    if fine[2] < MOVED:
        detail = f"no a_j² changes by more than {fine[2]:.2g} of itself, so the path shows nothing: use another size"
        return Finding(conditions, (Check("The neurons stay balanced", math.nan, "==", 0.0, detail=detail),))
    vanishes = fine[0] <= LEFT * coarse[0] + ROUNDING
    error = 0.0 if vanishes or abs(fine[0] - middle[0]) <= SETTLED * fine[0] else math.inf
    detail = (
        f"it is at most {coarse[0]:.2g} of a_j² with steps of {step:g} and {fine[0]:.2g} with steps of "
        f"{step / FINER[-1]:g}; it must fall to {LEFT:.0%} or less"
    )
    return Finding(conditions, (
        Check(f"The change of ‖w_j‖² {'+' if sums else '−'} a_j² vanishes with the step size", fine[0], "<=",
              LEFT * coarse[0] + ROUNDING, error, detail=detail),
        Check("No a_j changes its sign", fine[1], "==", 0, error,
              detail=f"{fine[1]:,} of {start.widths[1]:,} neurons do"),
    ))  # fmt: skip


def _difference(W: Float64[Tensor, "p d"], a: Float64[Tensor, " p"]) -> Float64[Tensor, " p"]:
    return W.square().sum(1) - a.square()


def _sum(W: Float64[Tensor, "p d"], a: Float64[Tensor, " p"]) -> Float64[Tensor, " p"]:
    return W.square().sum(1) + a.square()


def _largest(
    start: MLP, data: Labeled, step: float, steps: int, kept: Callable, loss: LogLoss
) -> tuple[float, int, float]:
    """The largest change of the constant over all steps, the number of a_j that changed sign, and the motion.

    The motion is the largest change of a_j². All changes are relative to a_j².
    """
    W_0, a_0 = (t[0] for t in neurons(start))
    before, worst, moved, turned = kept(W_0, a_0), 0.0, 0.0, torch.zeros_like(a_0, dtype=torch.bool)

    def look(state: tuple[Tensor, ...], clock: Clock) -> bool:
        nonlocal worst, moved
        W, a = state[0][0].T, state[1][0, :, 0]
        alive = a.square() > 0
        worst = max(worst, float(((kept(W, a) - before).abs()[alive] / a.square()[alive]).nan_to_num(math.inf).max()))
        moved = max(moved, float(((a.square() - a_0.square()).abs()[alive] / a_0.square()[alive]).max()))
        turned.logical_or_(a.sign() != a_0.sign())
        return False

    flow = ByAutograd(residual, data.X[None], data.y[None], loss)
    weights = tuple(W.data.clone() for W in start.W)
    follow(flow, weights, Clock.start(1), until=float("inf"), step=step, steps=steps, look=look, fine=1)
    return worst, int(turned.sum()), moved


def _data() -> Labeled:
    rng = stream(0, Role.DEMONSTRATION, 13)
    return Labeled(torch.from_numpy(rng.standard_normal((30, 5))), torch.from_numpy(rng.choice((-1.0, 1.0), 30)))


THEOREM = Theorem(
    id="IB.L4",
    title="Balanced neurons stay balanced",
    statement="Let a two-layer ReLU network be balanced at the start, ‖w_j‖ = |a_j| for every neuron, and trained by "
    "gradient flow with a loss whose derivative is bounded. Then a_j(t) = sign a_j(0) · ‖w_j(t)‖ at all times t: the "
    "neurons stay balanced and keep the signs of their output weights.",
    symbols={
        "w_j": "input weights of neuron j",
        "a_j": "output weight of neuron j",
        "t": "training time",
    },
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
            "A start that is not balanced",
            Verdict.NOT_APPLICABLE,
            lambda: balanced_neurons(_data(), start=torch_default((5, 20, 1), [0], bias=False, dtype=torch.float64)),
        ),
        Demonstration(
            "The squared loss, whose derivative is not bounded",
            Verdict.NOT_APPLICABLE,
            lambda: balanced_neurons(_data(), loss="squared"),
        ),
        Demonstration(
            "Negative control: the sum ‖w_j‖² + a_j² is constant",
            Verdict.REFUTED,
            lambda: balanced_neurons(_data(), sums=True),
        ),
    ),
)
