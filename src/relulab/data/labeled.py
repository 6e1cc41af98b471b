"""Points of two classes: what a binary data set must be before anything is measured on it."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.numbers import Numbers, tensor


class Labeled(NamedTuple):
    """Points in rows with labels ±1, both in float64; ``names`` are the user's own labels of −1 and +1."""

    X: Float64[Tensor, "n d"]
    y: Float64[Tensor, " n"]
    names: tuple[str, str] = ("-1", "1")

    def of(self, label: int) -> Float64[Tensor, "k d"]:
        """The points of one label, +1 or −1."""
        return self.X[self.y == label]


def labeled(X: Numbers, y: Numbers, *, strict: bool = True) -> Labeled:
    """A data set of two classes, checked: finite, at least two columns, two labels, no point with both of them.

    Labels may be any two values; the one that sorts last (1 of 0 and 1, True, "yes" of "no" and "yes") becomes +1.
    Features of a network may be one column wide, or the same for points of two labels: ``strict=False`` lets them pass.

    Args:
        X: Points, (n, d), a point a row.
        y: Labels, (n,), of any two values.
        strict: Whether points of one column, and equal points of both labels, are refused.

    >>> labeled([[1.0, 2.0], [-1.0, 0.0]], ["spam", "ham"]).y.tolist()
    [1.0, -1.0]
    """
    X, labels = tensor("points", X).detach().double(), np.asarray(y)
    if X.dim() != 2 or labels.ndim < 1 or len(X) != len(labels):
        count = labels.size if labels.ndim < 1 else len(labels)
        raise UserError(f"points of shape {tuple(X.shape)} with {count} labels: one row and one label a point")
    if not len(X):
        raise UserError("there are no points")
    if X.shape[1] < 1 + strict:
        raise UserError(
            f"points have d = {X.shape[1]} columns: at least 2 are needed, in one dimension a direction is a sign"
        )
    wrong = (~X.isfinite()).any(1).nonzero()[:, 0]
    if len(wrong):
        raise UserError(f"{len(wrong)} of {len(X)} points have NaN or infinite entries, the first is row {wrong[0]}")
    signs, names = _signs(labels)
    found = Labeled(X, signs, names)
    if strict:
        _no_contradiction(found)
    return found


def _signs(y: np.ndarray) -> tuple[Float64[Tensor, " n"], tuple[str, str]]:
    """±1 for labels of two values, and what those were."""
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise UserError(f"{(~np.isfinite(y)).sum()} labels are NaN or infinite")
    if y.dtype.kind == "O":
        y = y.astype(str)
    values = np.unique(y)
    if len(values) == 1:
        raise UserError(f"all {len(y)} points have the label {values[0]}: points of two classes are needed")
    if len(values) > 2:
        shown = ", ".join(str(v) for v in values[:4]) + (" …" if len(values) > 4 else "")
        raise UserError(f"labels take {len(values)} values ({shown}): exactly two are needed")
    return torch.from_numpy(np.where(y == values[1], 1.0, -1.0)), (str(values[0]), str(values[1]))


def _no_contradiction(data: Labeled) -> None:
    """No point may bear both labels: nothing could separate it from itself."""
    rows = np.ascontiguousarray(data.X.numpy() + 0.0)  # + 0 makes one zero of the two
    keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))[:, 0]
    order = np.argsort(keys, kind="stable")
    same = keys[order[1:]] == keys[order[:-1]]
    y = data.y.numpy()[order]
    clash = np.flatnonzero(same & (y[1:] != y[:-1]))
    if len(clash):
        i, j = sorted(order[clash[0] : clash[0] + 2].tolist())
        raise UserError(
            f"rows {i} and {j} are the same point with opposite labels"
            + (f", and there are {len(clash) - 1} more such pairs" if len(clash) > 1 else "")
            + ": remove one of each, no network can fit both"
        )
