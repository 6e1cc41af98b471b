"""Logistic regression without a bias, to train a linear teacher on labeled points."""

import numpy as np
from jaxtyping import Float64
from scipy.optimize import minimize

from relulab.core.errors import UserError
from relulab.data.labeled import labeled
from relulab.subjects.distillation.tools.transfer import Numbers


def logistic_regression(X: Numbers, y: Numbers, *, penalty: float = 1.0) -> Float64[np.ndarray, " d"]:
    """Minimize Σ_i log(1 + exp(−y_i wᵀx_i)) + penalty ‖w‖²/2 over w by L-BFGS.

    With a penalty of 1, this is the default of scikit-learn's LogisticRegression, without the bias.

    Args:
        X: Points, (n, d), one point per row.
        y: Labels, (n,), of any two values; the one that sorts last is +1.
        penalty: Factor of the penalty, above 0. Without it, separable points have no minimizer.

    >>> bool(logistic_regression([[2.0, 1.0], [-1.0, 1.0]], [1, 0])[0] > 0)
    True
    """
    if not penalty > 0:
        raise UserError(f"expected a positive penalty, got penalty = {penalty}: without it, w may grow without limit")
    data = labeled(X, y, strict=False)  # a penalized fit may have equal points with different labels
    Z = (data.X * data.y[:, None]).numpy()

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        z = Z @ w
        # σ(−z) = exp(−log(1 + exp z)) neither overflows nor loses digits.
        return float(np.logaddexp(0, -z).sum() + penalty * w @ w / 2), penalty * w - np.exp(-np.logaddexp(0, z)) @ Z

    result = minimize(loss, np.zeros(Z.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-14})
    return result.x
