"""Read a linear teacher from a file, and extend points to match a teacher with a bias."""

from pathlib import Path

import numpy as np
from jaxtyping import Float64

from relulab.core.errors import UserError
from relulab.io.tensors import read_tensors

WEIGHTS = ("weight", "w", "coef", "coef_", "w_star", "teacher")
BIASES = ("bias", "b", "intercept", "intercept_")


def read_linear_teacher(path: Path | str, d: int) -> Float64[np.ndarray, " k"]:
    """Read the weights of a linear classifier for points with d columns.

    A file with several arrays must have one named weight, w, coef or coef_, and may have one named bias, b, intercept
    or intercept_. These are the names in torch.nn.Linear(d, 1) and in scikit-learn's LogisticRegression. A single array
    may have any name and may be a vector, a row or a column.

    Args:
        path: The file: .npy, .npz, .safetensors, or a PyTorch dictionary of tensors (.pt, .pth, .bin).
        d: The number of columns of the points.

    Returns:
        The weights, (d,), or (d + 1,) with the bias last.
    """
    w, b = _weights(path)
    w = np.concatenate([w, b])
    if len(w) not in (d, d + 1) or (b.size and len(w) == d):
        raise UserError(
            f"{path}: expected {d} weights for points with {d} columns, or {d + 1} including the bias, got {len(w)}"
            f"{' including the bias' if b.size else ''}: use a teacher and points with the same number of inputs"
        )
    return w


def linear_inputs(path: Path | str) -> set[int]:
    """Return how many columns points may have for the teacher in a file.

    Args:
        path: The file, as in ``read_linear_teacher``. If it has no separate bias, the last weight may be one.
    """
    w, b = _weights(path)
    return {len(w)} if b.size else {len(w), len(w) - 1}


def _weights(path: Path | str) -> tuple[Float64[np.ndarray, " k"], Float64[np.ndarray, " b"]]:
    """Read the weights and the bias, if the file has a separate one."""
    tensors, _ = read_tensors(path)
    layers = [name for name in tensors if name.rpartition(".")[2].lower() == "weight"]
    if len(layers) > 1:
        raise UserError(
            f"expected a teacher with one layer, but {path} contains {', '.join(layers[:6])}: keep one weight"
        )
    named = {name.rpartition(".")[2].lower(): name for name in tensors}
    weight_name = next((named[name] for name in WEIGHTS if name in named), None)
    bias_name = next((named[name] for name in BIASES if name in named), None)
    if weight_name is None:
        if len(tensors) > 1:
            raise UserError(
                f"expected a teacher named weight in {path}, got {', '.join(list(tensors)[:6])}: rename its array"
            )
        weight_name, bias_name = next(iter(tensors)), None
    w = tensors[weight_name].double().numpy()
    b = tensors[bias_name].double().numpy().reshape(-1) if bias_name is not None else np.zeros(0)
    if w.size != max(w.shape, default=1) or b.size > 1:
        raise UserError(
            f"{path}: expected one weight vector and at most one bias, as for two classes, got weights of shape "
            f"{w.shape} and {b.size} biases: save a classifier of two classes"
        )
    return w.reshape(-1), b


def with_ones(X: Float64[np.ndarray, "n d"], w: Float64[np.ndarray, " k"]) -> Float64[np.ndarray, "n k"]:
    """Append a column of ones to the points if the teacher has a bias.

    Args:
        X: Points, (n, d).
        w: Teacher weights, (d,), or (d + 1,) with the bias last.
    """
    return X if len(w) == X.shape[1] else np.column_stack([X, np.ones(len(X))])
