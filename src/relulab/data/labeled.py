"""Data sets of two classes, and the checks that they must pass before anything is measured on them."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.numbers import Numbers, tensor
from relulab.core.short_repr import counted


class Labeled(NamedTuple):
    """Points with labels ±1, both in float64. ``labeled`` creates and checks them.

    Args:
        X: Points, (n, d), one row per point; use ``labeled(X, y)`` for points and labels of any type.
        y: Labels −1 and 1, (n,); use ``labeled(X, y)`` for any other labels.
        names: The original labels of classes −1 and +1.
    """

    X: Float64[Tensor, "n d"]
    y: Float64[Tensor, " n"]
    names: tuple[str, str] = ("-1", "1")

    def __repr__(self) -> str:
        classes = [f"{int((self.y == y).sum()):,} of class {name}" for y, name in zip((-1, 1), self.names, strict=True)]
        n, d = self.X.shape
        return f"Labeled({counted(n, 'point')} with {counted(d, 'input')}: {' and '.join(classes)})"

    def of(self, label: int) -> Float64[Tensor, "k d"]:
        """Return the points of one class.

        Args:
            label: The class, +1 or −1.
        """
        if label not in (-1, 1):
            raise UserError(f"expected the label 1 or -1, got {label}: the original labels are in names")
        return self.X[self.y == label]


def labeled(X: Numbers, y: Numbers, *, strict: bool = True) -> Labeled:
    """Create a data set of two classes with labels ±1.

    The points must be finite and have at least two columns, there must be exactly two different labels, and no point
    may have both labels. The label that sorts last (1 among 0 and 1, "yes" among "no" and "yes") becomes +1.

    Args:
        X: Points, (n, d), one row per point.
        y: Labels, (n,), with exactly two different values of any type.
        strict: Whether to refuse points with one column, and equal points with different labels. Use ``strict=False``
            for features computed by a network, where both can occur.

    >>> labeled([[1.0, 2.0], [-1.0, 0.0]], ["spam", "ham"]).y.tolist()
    [1.0, -1.0]
    """
    X, labels = tensor("points", X).detach().double(), np.asarray(y)
    if X.dim() != 2 or labels.ndim < 1 or len(X) != len(labels):
        count = labels.size if labels.ndim < 1 else len(labels)
        raise UserError(
            f"expected points of shape (points, inputs) with one label per point, got points of shape {tuple(X.shape)} "
            f"and {count} labels: give one row and one label for each point"
        )
    if not len(X):
        raise UserError("expected at least one point of each class, got no points: check the data")
    if X.shape[1] < 1 + strict:
        raise UserError(
            f"expected points with at least {1 + strict} columns, got d = {X.shape[1]}: add inputs (in one dimension "
            "there are only two directions)"
        )
    wrong = (~X.isfinite()).any(1).nonzero()[:, 0]
    if len(wrong):
        raise UserError(
            f"expected finite points, got NaN or infinite values in {len(wrong)} of {len(X)} rows, first in row "
            f"{wrong[0]} (counting from 0): remove or replace them"
        )
    signs, names = _signs(labels)
    data = Labeled(X, signs, names)
    if strict:
        _no_contradiction(data)
    return data


def _signs(y: np.ndarray) -> tuple[Float64[Tensor, " n"], tuple[str, str]]:
    """Map labels with two values to ±1 and return the two values."""
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise UserError(
            f"expected finite labels, got {(~np.isfinite(y)).sum()} of {y.size} that are NaN or infinite: remove these "
            "points"
        )
    if y.dtype.kind == "O":
        y = y.astype(str)
    values = np.unique(y)
    if len(values) == 1:
        raise UserError(
            f"expected labels of two classes, but all {len(y)} points have the label {values[0]}: add points of a "
            "second class"
        )
    if len(values) > 2:
        shown = ", ".join(str(v) for v in values[:4]) + (", …" if len(values) > 4 else "")
        raise UserError(
            f"expected labels of two classes, got {len(values)} different labels ({shown}): keep the points of two "
            "classes"
        )
    return torch.from_numpy(np.where(y == values[1], 1.0, -1.0)), (str(values[0]), str(values[1]))


def _no_contradiction(data: Labeled) -> None:
    """Raise ``UserError`` if a point has both labels, because no classifier could fit it."""
    rows = np.ascontiguousarray(data.X.numpy() + 0.0)  # + 0.0 turns −0 into 0
    keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))[:, 0]
    order = np.argsort(keys, kind="stable")
    same = keys[order[1:]] == keys[order[:-1]]
    y = data.y.numpy()[order]
    clash = np.flatnonzero(same & (y[1:] != y[:-1]))
    if len(clash):
        i, j = sorted(order[clash[0] : clash[0] + 2].tolist())
        raise UserError(
            f"rows {i} and {j} (counting from 0) are the same point with different labels"
            + (f", and so are {len(clash) - 1} more pairs" if len(clash) > 1 else "")
            + ": remove one row of each pair, because no network can fit both"
        )
