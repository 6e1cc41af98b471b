"""Logistic regression without a bias: how a linear teacher is had from labeled points."""

import numpy as np
from jaxtyping import Float64
from scipy.optimize import minimize

from relulab.core.errors import UserError
from relulab.data.labeled import labeled
from relulab.subjects.distillation.tools.transfer import Numbers


def logistic_regression(X: Numbers, y: Numbers, *, penalty: float = 1.0) -> Float64[np.ndarray, " d"]:
    """The w that minimizes Σ_i log(1 + exp(−y_i wᵀx_i)) + penalty ‖w‖²/2, by L-BFGS.

    With a penalty of 1 that is what scikit-learn's LogisticRegression does unless told, without its bias. Labels are
    any two values, of which the one that sorts last is +1. Without a penalty separable points have no minimizer.

    >>> bool(logistic_regression([[2.0, 1.0], [-1.0, 1.0]], [1, 0])[0] > 0)
    True
    """
    if not penalty > 0:
        raise UserError(f"penalty = {penalty}: a positive number was expected, without it w may grow for ever")
    data = labeled(X, y)
    Z = (data.X * data.y[:, None]).numpy()

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        z = Z @ w
        # σ(−z) = exp(−log(1 + exp z)), which neither overflows nor loses its digits
        return float(np.logaddexp(0, -z).sum() + penalty * w @ w / 2), penalty * w - np.exp(-np.logaddexp(0, z)) @ Z

    found = minimize(loss, np.zeros(Z.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-14})
    return found.x
