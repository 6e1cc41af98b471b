r"""LM.T3: BatchNorm conserves the norms of the weights before it (LM theorem 3, section 8.3).

Let the node j of a layer be followed by BatchNorm, directly (Linear → BatchNorm → ReLU) or after its ReLU (Linear →
ReLU → BatchNorm), and let all weights follow gradient flow of any loss. By LM.L1, the gradient behind BatchNorm is
orthogonal to its input, and σ(z) = σ'(z) z, so

    ½ d‖w_j‖²/dt = w_jᵀ ẇ_j = E[f_j g_j] = 0.

In other words, multiplying w_j by a positive number does not change the outputs. If a ReLU lies between, w_j contains
the bias of the node. If not, the bias changes nothing at all and stays constant by itself. For a convolution, w_j is a
filter with all of its inputs, and E runs over samples and positions. Under gradient descent with step η,
‖w_j‖² grows by η² ‖ẇ_j‖² in every step, so over a fixed time it drifts by an amount of first order in η.

The flow is checked as follows: the drift over the same time, with steps of a sixteenth of the size, must be at most
half as large. If it is not, this refutes the theorem only if the drift has converged.
"""

import math
from collections.abc import Callable
from copy import deepcopy

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.ranges import above, at_least
from relulab.core.seeds import Role, stream
from relulab.core.threads import one_thread
from relulab.lab.show.words import number
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.nets.hooks import points
from relulab.subjects.specialization.theorems.batch_norm_gradient import varied
from relulab.subjects.specialization.tools.batch_norm_nets import Order, convolutional, fully_connected
from relulab.subjects.specialization.tools.batch_statistics import EPS, SMALLEST
from relulab.subjects.specialization.tools.normalized_layers import (
    Layer,
    Part,
    as_module,
    normalized_layers,
    sequential_parts,
)
from relulab.subjects.specialization.tools.weight_rates import (
    Objective,
    Rates,
    descend,
    inputs_of_norms,
    largest_rate,
    weight_rates,
)

RESOLUTION = 1e-3  # with a larger error of the cosine between w_j and ẇ_j, or a smaller motion, nothing is shown
ROUNDING = 1e-12
FINER, LEFT, SETTLED = (1, 4, 16), 0.5, 0.1  # a drift of first order shrinks to 1/16; one of the flow does not change


def half_squares(y: Tensor) -> Callable[[Tensor], Tensor]:
    """The loss ½ E‖y − f‖² of LM eq. 1, as a function of the outputs f.

    Args:
        y: Targets, one row per sample.
    """
    return lambda f: 0.5 * (y - f).square().flatten(1).sum(1).mean()


@one_thread()
def conserved_norms(
    net: nn.Module, x: Float[Tensor, "N ..."], y: Tensor, *,
    loss: Callable[[Tensor, Tensor], Tensor] | None = None, epsilon: float | None = None, weight_decay: float = 0.0,
    step: float = 0.01, steps: int = 10, with_bias: bool = True, everywhere: bool = False,
) -> Finding:  # fmt: skip
    """Check that w_j and ẇ_j are orthogonal before BatchNorm, and follow gradient descent with two step sizes.

    Args:
        net: An ``nn.Sequential`` with BatchNorm in training mode, or a ``BatchNormMLP`` with one lane. A copy in
            float64 is used.
        x: Points, (N, …). Statistics of BatchNorm are those of all of them.
        y: Targets, (N, …): outputs, or what else ``loss`` takes, such as numbers of classes.
        loss: Loss as a function of outputs and targets. Default: ½ E‖y − f‖².
        epsilon: ε of BatchNorm, in place of that of the modules. The theorem needs 0.
        weight_decay: This multiple of the weights is added to the gradient. The theorem needs 0.
        step: Largest relative change of the weights of a node or a layer in the first step of gradient descent.
        steps: Number of steps.
        with_bias: False leaves the bias out of w_j, which is wrong if a ReLU lies between. This is a negative control.
        everywhere: True claims the same of all hidden layers, also without BatchNorm. This is the other one.

    >>> _ = torch.manual_seed(0)
    >>> net = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 1))
    >>> x = torch.linspace(0, 1, 60).reshape(20, 3).cos()
    >>> conserved_norms(net, x, x[:, :1], epsilon=0).verdict.name
    'HOLDS'
    """
    x, y = points(x).detach().double(), points(y).detach()
    y = y.double() if y.is_floating_point() else y
    above(0, step=step)
    at_least(1, steps=steps)
    at_least(0, epsilon=epsilon, weight_decay=weight_decay)
    if not y.dim() or len(x) != len(y) or len(x) < 2:
        raise UserError(
            f"expected one target per point and at least two points, got points of shape {tuple(x.shape)} and targets "
            f"of shape {tuple(y.shape)}: give as many targets as points"
        )
    net = deepcopy(as_module(net)).double()
    parts = sequential_parts(net)
    layers = normalized_layers(parts, everywhere=everywhere)
    for layer in layers:
        if layer.norm is not None:
            layer.norm.eps = max(layer.norm.eps if epsilon is None else epsilon, SMALLEST)
    conditions = _structure(layers, weight_decay)
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    conditions += _statistics(parts, layers, x)
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    objective = half_squares(y) if loss is None else lambda f: loss(f, y)
    rates = weight_rates(parts, layers, x, objective, with_bias=with_bias)
    checks = [_orthogonal(layer, rate, with_bias) for layer, rate in zip(layers, rates, strict=True)]
    return Finding(conditions, (*checks, _drift(net, layers, rates, x, objective, step, steps, with_bias)))


def _structure(layers: list[Layer], weight_decay: float) -> tuple[Check, ...]:
    norms = [layer.norm for layer in layers if layer.norm is not None]
    stored = sum(not norm.training and norm.running_mean is not None for norm in norms)
    return (
        Check("BatchNorm follows a linear layer, directly or after its ReLU", len(norms), ">=", 1,
              detail=f"it follows {len(norms):,} linear layer{'s' * (len(norms) != 1)}"),
        Check("BatchNorm uses the statistics of the batch", stored, "==", 0,
              detail=f"{stored:,} of {len(norms):,} use stored statistics, those of eval mode"),
        Check("There is no weight decay", float(weight_decay), "==", 0.0, detail=f"it is {weight_decay:g}"),
    )  # fmt: skip


def _statistics(parts: list[Part], layers: list[Layer], x: Tensor) -> tuple[Check, ...]:
    inputs = inputs_of_norms(parts, layers, x)
    constant = varied(sum(len(of.constant) for of in inputs), sum(len(of.s) for of in inputs))
    if not constant.holds:
        return (constant,)
    kappa = max(float(of.kappa.max()) for of in inputs)
    detail = f"κ is up to {number(kappa)}, the share of the radial gradient that remains"
    return constant, Check("κ = ε/(σ² + ε) is zero for every unit", kappa, "==", 0.0, EPS, detail=detail)


def _orthogonal(layer: Layer, rates: Rates, with_bias: bool) -> Check:
    """The cosine between w_j and ẇ_j at the node where it exceeds its rounding error most."""
    b = "" if with_bias or not layer.rectified else " without its bias"
    says = f"In layer {layer.name}, ẇ_j is orthogonal to w_j{b} for every node"
    size = rates.size * rates.speed
    moving = size * RESOLUTION > rates.error
    if not moving.any():
        return Check(says, math.nan, "==", 0.0, detail="unknown, because no node moves by more than rounding errors")
    cosine, error = rates.inner[moving].abs() / size[moving], rates.error[moving] / size[moving]
    worst = (cosine / error).argmax()
    detail = (
        f"the cosine between them is at most {number(float(cosine[worst]))} for {len(cosine):,} of {len(size):,} nodes "
        f"that move; the error allowed is {number(float(error[worst]))}"
    )
    return Check(says, float(cosine[worst]), "==", 0.0, float(error[worst]), detail=detail)


def _drift(
    net: nn.Module, layers: list[Layer], rates: list[Rates], x: Tensor, objective: Objective, step: float,
    steps: int, with_bias: bool,
) -> Check:  # fmt: skip
    """Whether the relative change of ‖w_j‖² over a fixed time vanishes with the step size."""
    says = "The change of ‖w_j‖ over a fixed time vanishes with the step size"
    fastest = max(largest_rate(net, x, objective), *(float((r.speed / r.size)[r.size > 0].max()) for r in rates))
    if not 0 < fastest < math.inf:
        return Check(says, math.nan, "<=", 0.0, detail="unknown, because no weights move")
    eta, start = step / fastest, [layer.rows(with_bias) for layer in layers]
    weights, drifts, moved = deepcopy(net.state_dict()), [], 0.0
    for k in FINER:
        net.load_state_dict(weights)
        descend(net, x, objective, step=eta / k, steps=steps * k)
        end = [layer.rows(with_bias) for layer in layers]
        drifts.append(_largest(start, [w.square().sum(1) - v.square().sum(1) for w, v in zip(end, start, strict=True)]))
        moved = _largest(start, [(w - v).square().sum(1) for w, v in zip(end, start, strict=True)]) ** 0.5
    coarse, middle, fine = drifts
    if not moved >= RESOLUTION:
        detail = f"unknown, because no w_j moves by more than {number(moved)} of its length: use more or larger steps"
        return Check(says, math.nan, "<=", 0.0, detail=detail)
    bound = LEFT * coarse + ROUNDING
    error = 0.0 if fine <= bound or abs(fine - middle) <= SETTLED * fine else math.inf
    detail = (
        f"‖w_j‖² changes by at most {number(coarse)} of itself with {steps:,} steps and by {number(fine)} with "
        f"{steps * FINER[-1]:,} steps; it must fall to {LEFT:.0%} or less"
    )
    return Check(says, fine, "<=", bound, error, detail=detail)


def _largest(start: list[Tensor], squares: list[Tensor]) -> float:
    """The largest of some squares relative to ‖w_j‖² at the start."""
    shares = [s.abs() / w.square().sum(1) for s, w in zip(squares, start, strict=True)]
    return float(torch.cat(shares).nan_to_num(0.0, posinf=math.inf).max())


def _case(
    order: Order = "before the ReLU", *, widths: tuple[int, ...] = (5, 8, 7, 3), bare: int = 0, eval_mode: bool = False,
    labels: bool = False, **options,
) -> Finding:  # fmt: skip
    rng = stream(0, Role.DEMONSTRATION, 22)
    net = fully_connected(widths, order, rng, bare=bare)
    x, y = (torch.from_numpy(rng.standard_normal((60, n))) for n in (5, 3))
    if eval_mode:
        net.eval()
    if labels:
        return conserved_norms(net, x, y.argmax(1), loss=nn.functional.cross_entropy, **options)
    return conserved_norms(net, x, y, **options)


def _filters(order: Order) -> Finding:
    rng = stream(0, Role.DEMONSTRATION, 23)
    net = convolutional((1, 4, 5), 8, 3, order, rng)
    x, y = (torch.from_numpy(rng.standard_normal(shape)) for shape in ((12, 1, 8, 8), (12, 3)))
    return conserved_norms(net, x, y)


THEOREM = Theorem(
    id="LM.T3",
    title="BatchNorm conserves the norms of the weights before it",
    statement="Let BatchNorm with statistics of the batch and ε = 0 follow every node j of a layer, directly or after "
    "its ReLU. Under gradient flow of any loss, w_jᵀ ẇ_j = 0, so ‖w_j‖ is constant. If a ReLU lies between, w_j "
    "contains the bias of the node. For a convolution, w_j is a filter. Under gradient descent over a fixed time, "
    "the change of ‖w_j‖ is of first order in the step size η.",
    symbols={
        "j": "a node of a hidden layer; for a convolution, a channel",
        "w_j": "input weights of node j; with its bias as last entry if a ReLU lies between them and BatchNorm",
        "ẇ_j": "time derivative of w_j under gradient flow: minus the gradient of the loss",
        "η": "step size of gradient descent",
        "ε": "a small number that BatchNorm adds to the variance",
        "σ": "standard deviation of the inputs of BatchNorm for a unit",
        "κ": "ε/(σ² + ε), the share of ε in what BatchNorm divides by",
    },
    in_print="The proof leaves the bias out of w_j. For Linear → BatchNorm → ReLU this is right: it has no effect and "
    "does not move. For Linear → ReLU → BatchNorm it is wrong: only the norm of the weights together with the bias is "
    "constant. Without the bias is the first negative control. The text does not say that ε must be 0. With ε > 0, "
    "w_jᵀ ẇ_j is κ times the weight of BatchNorm times the time derivative of that weight. Weight decay and stored "
    "statistics spoil the theorem as well.",
    source="LM theorem 3, sections 3.1 and 8.3, figure 15",
    check=conserved_norms,
    variants=("with_bias", "everywhere"),
    demonstrations=(
        Demonstration("Linear → BatchNorm → ReLU, two hidden layers", Verdict.HOLDS, _case),
        Demonstration(
            "Linear → ReLU → BatchNorm, three hidden layers, cross-entropy",
            Verdict.HOLDS,
            lambda: _case("after the ReLU", widths=(5, 8, 7, 6, 3), labels=True),
        ),
        Demonstration("Convolution → BatchNorm → ReLU", Verdict.HOLDS, lambda: _filters("before the ReLU")),
        Demonstration("Convolution → ReLU → BatchNorm", Verdict.HOLDS, lambda: _filters("after the ReLU")),
        Demonstration("Without BatchNorm", Verdict.NOT_APPLICABLE, lambda: _case("no BatchNorm")),
        Demonstration("With PyTorch's ε = 10⁻⁵", Verdict.NOT_APPLICABLE, lambda: _case(epsilon=1e-5)),
        Demonstration("With weight decay", Verdict.NOT_APPLICABLE, lambda: _case(weight_decay=1e-4)),
        Demonstration("With stored statistics", Verdict.NOT_APPLICABLE, lambda: _case(eval_mode=True)),
        Demonstration(
            "Negative control: the bias is left out of w_j in Linear → ReLU → BatchNorm",
            Verdict.REFUTED,
            lambda: _case("after the ReLU", with_bias=False),
        ),
        Demonstration(
            "Negative control: the same of a layer without BatchNorm",
            Verdict.REFUTED,
            lambda: _case(bare=1, everywhere=True),
        ),
    ),
)
