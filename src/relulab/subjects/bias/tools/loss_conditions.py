"""Conditions on the loss (IB section 2), as checks."""

import math

from relulab.flow.margin_losses import AnyLoss, loss_named
from relulab.lab.theorem import Check


def bounded_slope(loss: AnyLoss) -> Check:
    """Check that the derivative of the loss is bounded, as lemma A.4 requires.

    Args:
        loss: Name of the loss.

    >>> from relulab.flow.margin_losses import LOSSES
    >>> [name for name in LOSSES if not bounded_slope(name).holds]
    ['exponential', 'squared', 'hinge']
    """
    facts = loss_named(loss)
    size = f"is at most {facts.largest:g} in absolute value" if math.isfinite(facts.largest) else "is unbounded"
    detail = f"that of the {loss} loss {size if facts.differentiable else 'does not exist everywhere'}"
    holds = facts.differentiable and math.isfinite(facts.largest)
    return Check("The loss has a bounded derivative", int(holds), "==", 1, detail=detail)


def steady_pull(loss: AnyLoss) -> Check:
    """Check that the derivative is bounded and Lipschitz, and always pulls toward the label: −y_i ℓ'_i(u) > 0.

    Args:
        loss: Name of the loss.

    >>> from relulab.flow.margin_losses import LOSSES
    >>> [name for name in LOSSES if steady_pull(name).holds]
    ['logistic', 'sigmoid', 'capped-exponential', 'rational']
    """
    facts = loss_named(loss)
    broken = [
        words
        for fails, words in (
            (math.isinf(facts.largest), "its derivative is unbounded"),
            (not facts.differentiable, "it is not differentiable everywhere"),
            (facts.differentiable and math.isinf(facts.lipschitz), "its derivative is not Lipschitz continuous"),
            (not facts.pulls, "it does not pull points with large margins"),
        )
        if fails
    ]
    detail = f"it is {facts.formula} at the margin m"
    says = "The loss has a bounded Lipschitz derivative and pulls every point toward its label"
    return Check(says, len(broken), "==", 0, detail=f"{detail}; {', and '.join(broken)}" if broken else detail)


def exponential_tail(loss: AnyLoss) -> Check:
    """Check that the loss falls as e^{−m} for large margins m: the limit of theorem 1 depends on it.

    Args:
        loss: Name of the loss.
    """
    tail = loss_named(loss).tail
    detail = f"the {loss} loss {'does' if tail else 'does not'}"
    return Check("The loss falls exponentially for large margins", int(tail), "==", 1, detail=detail)
