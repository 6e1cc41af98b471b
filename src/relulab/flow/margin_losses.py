r"""Losses ℓ = Σ_i φ(m_i) of the margins m_i = y_i f(x_i), and which conditions of IB section 2 they satisfy.

IB states its results for the cross-entropy loss, and more generally for every differentiable loss whose derivative is
bounded, Lipschitz continuous and always pulls toward the label: φ'(m) < 0 for all m. The limit of theorem 1 needs one
more property: an exponential tail, φ(m) ≈ c e^{−m} for large m. The loss 1/(1 + m) satisfies all printed conditions,
but its pull p_i falls only as a power of the margin, so points beyond the support examples keep their influence.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeGuard

import torch
from jaxtyping import Float64
from torch import Tensor
from torch.nn.functional import logsigmoid, softplus

from relulab.core.errors import UserError, nearest

LogLoss = Callable[[Float64[Tensor, "lane n"]], tuple[Float64[Tensor, " lane"], Float64[Tensor, "lane n"]]]
"""the function of the margins that returns log ℓ and p_i = −∂ log ℓ/∂m_i"""
FlowLoss = Literal["logistic", "exponential", "sigmoid", "capped-exponential", "rational"]
"""losses whose gradient flow can be followed"""
AnyLoss = Literal["logistic", "exponential", "sigmoid", "capped-exponential", "rational", "squared", "hinge"]
LATE = 1000.0  # margin from which a network counts as late in training


@dataclass(frozen=True)
class Loss:
    """A loss φ of one margin m, with the facts on which theorems depend."""

    formula: str
    """φ(m)"""
    largest: float
    """the least upper bound of |φ'|"""
    lipschitz: float
    """the least Lipschitz constant of φ'"""
    differentiable: bool = True
    pulls: bool = True
    """whether φ'(m) < 0 for all m"""
    tail: bool = True
    """whether φ(m) e^m has a positive limit as m → ∞"""
    late: float = LATE
    """−log φ at the margin 1000"""
    log: LogLoss | None = None
    """log ℓ and the pulls; None if the flow is not followed, because ℓ can reach 0"""


def log_cross_entropy(
    m: Float64[Tensor, "lane n"],
) -> tuple[Float64[Tensor, " lane"], Float64[Tensor, "lane n"]]:
    """Compute log ℓ for ℓ = Σ_i log(1 + exp(−m_i)), and p_i = −∂ log ℓ/∂m_i.

    Args:
        m: Margins m_i = y_i f(x_i), (lane, n).

    Returns:
        log ℓ, (lane,), and p, (lane, n). The sum of p_i over i is at most 1.

    >>> log_loss, p = log_cross_entropy(torch.tensor([[2000.0, 2000.0]], dtype=torch.float64))
    >>> round(float(log_loss) + 2000, 6), p.tolist()
    (0.693147, [[0.5, 0.5]])
    """
    # For m > 40, log(1 + e^{−m}) equals e^{−m} up to rounding, and its logarithm is −m even where e^{−m} underflows.
    if m.min() > 40:
        return _exponential(m)
    log_loss = torch.where(m > 40, -m, softplus(-m).log()).logsumexp(-1)
    return log_loss, (logsigmoid(-m) - log_loss[:, None]).exp()


def _exponential(m: Tensor) -> tuple[Tensor, Tensor]:
    return (-m).logsumexp(-1), (-m).softmax(-1)


def _sigmoid(m: Tensor) -> tuple[Tensor, Tensor]:
    log_phi = logsigmoid(-m)
    return _pulls(log_phi, log_phi + logsigmoid(m))


def _capped_exponential(m: Tensor) -> tuple[Tensor, Tensor]:
    right = m.clamp(min=0)
    return _pulls((m - right).neg().log1p() - right, -right)


def _rational(m: Tensor) -> tuple[Tensor, Tensor]:
    right = m.clamp(min=0).log1p()
    return _pulls(m.clamp(max=0).neg().log1p() - right, -2 * right)


def _pulls(log_phi: Tensor, log_slope: Tensor) -> tuple[Tensor, Tensor]:
    """log ℓ and p from log φ(m_i) and log(−φ'(m_i))."""
    log_loss = log_phi.logsumexp(-1)
    return log_loss, (log_slope - log_loss[:, None]).exp()


LOSSES: dict[str, Loss] = {
    "logistic": Loss("log(1 + e^{−m})", 1.0, 0.25, log=log_cross_entropy),
    "exponential": Loss("e^{−m}", math.inf, math.inf, log=_exponential),
    "sigmoid": Loss("1/(1 + e^m)", 0.25, 1 / (6 * math.sqrt(3)), log=_sigmoid),
    "capped-exponential": Loss("e^{−m} for m ≥ 0 and 1 − m for m < 0", 1.0, 1.0, log=_capped_exponential),
    "rational": Loss(
        "1/(1 + m) for m ≥ 0 and 1 − m for m < 0", 1.0, 2.0, tail=False, late=math.log1p(LATE), log=_rational
    ),
    "squared": Loss("(1 − m)²", math.inf, 2.0, pulls=False, tail=False),
    "hinge": Loss("max(0, 1 − m)", 1.0, math.inf, differentiable=False, pulls=False, tail=False),
}


def loss_named(loss: AnyLoss) -> Loss:
    """Return a loss with its facts.

    Args:
        loss: Name of the loss.

    >>> loss_named("sigmoid").formula
    '1/(1 + e^m)'
    """
    if not isinstance(loss, str):
        raise UserError(f"expected the name of a loss, got {type(loss).__name__}: give one of {', '.join(LOSSES)}")
    if loss not in LOSSES:
        raise UserError(f"there is no loss {loss!r}: {nearest(loss, LOSSES)}")
    return LOSSES[loss]


def followed(loss: AnyLoss) -> TypeGuard[FlowLoss]:
    """Whether the gradient flow of a loss can be followed.

    Args:
        loss: Name of the loss.

    >>> followed("sigmoid"), followed("hinge")
    (True, False)
    """
    return loss_named(loss).log is not None


def log_loss_of(loss: FlowLoss) -> LogLoss:
    """Return the function that computes log ℓ and the pulls p_i from the margins.

    Args:
        loss: Name of the loss.

    >>> log_loss, p = log_loss_of("rational")(torch.tensor([[3.0, 3.0]], dtype=torch.float64))
    >>> round(float(log_loss.exp()), 12), [round(v, 12) for v in p[0].tolist()]
    (0.5, [0.125, 0.125])
    """
    log = loss_named(loss).log
    if log is None:
        raise UserError(f"the gradient flow of the {loss} loss is not followed: give another loss")
    return log
