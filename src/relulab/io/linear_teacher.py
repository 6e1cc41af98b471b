"""A linear teacher from a user's file, and points of a user's that fit it."""

from pathlib import Path

import numpy as np
from jaxtyping import Float64

from relulab.core.errors import UserError
from relulab.io.tensors import read_tensors

WEIGHTS = ("weight", "w", "coef", "coef_", "w_star", "teacher")
BIASES = ("bias", "b", "intercept", "intercept_")


def read_linear_teacher(path: Path | str, d: int) -> Float64[np.ndarray, " k"]:
    """The weights of a linear classifier of points with d columns: d of them, or d + 1 with the bias last.

    A file with several arrays must have one called weight, w, coef or coef_, and perhaps bias, b, intercept or
    intercept_, as a torch.nn.Linear(d, 1) and a logistic regression of scikit-learn have. A single array may be a row
    or a column.
    """
    tensors, _ = read_tensors(path)
    layers = [name for name in tensors if name.rpartition(".")[2].lower() == "weight"]
    if len(layers) > 1:
        raise UserError(f"{path} holds {', '.join(layers[:6])}: a teacher of one layer was expected")
    named = {name.rpartition(".")[2].lower(): name for name in tensors}
    of_w = next((named[name] for name in WEIGHTS if name in named), None)
    of_b = next((named[name] for name in BIASES if name in named), None)
    if of_w is None:
        if len(tensors) > 1:
            raise UserError(f"{path} holds {', '.join(list(tensors)[:6])}: which is the teacher? Call it weight")
        of_w, of_b = next(iter(tensors)), None
    w = tensors[of_w].double().numpy()
    b = tensors[of_b].double().numpy().reshape(-1) if of_b is not None else np.zeros(0)
    if w.size != max(w.shape, default=1) or b.size > 1:
        raise UserError(
            f"{path}: weights of shape {w.shape}; one vector was expected, the weights of a classifier of two classes"
        )
    w = np.concatenate([w.reshape(-1), b])
    if len(w) not in (d, d + 1) or (b.size and len(w) == d):
        raise UserError(
            f"{path}: {len(w)} weights{', the bias among them' if b.size else ''}, for points with {d} columns: {d} "
            f"were expected, or {d + 1} with a bias"
        )
    return w


def with_ones(X: Float64[np.ndarray, "n d"], w: Float64[np.ndarray, " k"]) -> Float64[np.ndarray, "n k"]:
    """The points as a teacher with a bias sees them: with a column of ones, which the bias is the weight of."""
    return X if len(w) == X.shape[1] else np.column_stack([X, np.ones(len(X))])
