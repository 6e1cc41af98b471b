"""Tensors of inputs and targets as a training task, with one shuffled pass per epoch."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.numbers import tensor
from relulab.core.ranges import at_least
from relulab.core.seeds import Role, check_seeds, stream
from relulab.core.short_repr import counted
from relulab.data.task import Points


class TensorTask:
    """Train on points ``X`` with targets ``Y``; each epoch visits all points once in random order.

    The last batch may be smaller. Integer targets are classes. With several ``seeds`` there is one lane per seed, and
    all lanes train on the same points in different orders.

    Args:
        X: Inputs, (N, …): vectors, images, or integers such as tokens; a tensor or a NumPy array.
        Y: Targets: classes as integers, (N,), or real numbers, (N,) or (N, C).
        seed: Seed of the order of the points, for a network without lanes or with one lane.
        seeds: One seed per lane; replaces ``seed``.
        classes: Number of classes. Default: the largest label plus 1.
        root: Root seed of all random streams.

    >>> TensorTask(torch.zeros(10, 3), torch.arange(10) % 4).classes
    4
    """

    fresh = False

    def __init__(
        self,
        X: Shaped[Tensor | np.ndarray, "N *x"],
        Y: Shaped[Tensor | np.ndarray, "N *y"],
        *,
        seed: int = 0,
        seeds: Sequence[int] | None = None,
        classes: int | None = None,
        root: int = 0,
    ):
        X, Y = (A if isinstance(A, Tensor) else tensor(name, A) for name, A in (("inputs", X), ("targets", Y)))
        _checked(X, Y)
        self.seeds, self.root = (seed,) if seeds is None else tuple(seeds), root
        check_seeds(root, self.seeds)
        at_least(1, classes=classes)
        self.n, self.lanes, self.dtype, self.d = len(X), len(self.seeds), X.dtype, X.shape[-1] if X.dim() > 1 else 1
        self.classes = self._count(Y, classes)
        self.outputs = self.classes or (Y.shape[1] if Y.dim() > 1 else 1)
        # A single lane shares the memory and memory format of the given tensors.
        X, Y = (A[None] if self.lanes == 1 else A.expand(self.lanes, *A.shape).contiguous() for A in (X, Y))
        self._points = Points(X, Y, torch.arange(self.lanes))

    def __repr__(self) -> str:
        X, Y = (tuple(part.shape[2:]) for part in (self._points.X, self._points.Y))
        targets = counted(self.classes, "class", "classes") if self.classes else f"targets {Y}"
        dtype = str(self.dtype).removeprefix("torch.")
        return f"TensorTask({counted(self.n, 'point')}, inputs {X}, {targets}, {dtype}, {counted(self.lanes, 'lane')})"

    @staticmethod
    def _count(Y: Tensor, classes: int | None) -> int | None:
        if Y.is_floating_point():
            return None
        if Y.dtype == torch.bool or Y.min() < 0:
            raise UserError(
                f"expected classes as integers from 0, got labels of type {Y.dtype} with minimum {Y.min()}: number the "
                "classes from 0, or give real numbers for regression"
            )
        count = int(Y.max()) + 1
        if classes is not None and classes < count:
            raise UserError(
                f"expected labels from 0 to {classes - 1} for classes={classes}, got label {count - 1}: increase "
                "classes or renumber the labels"
            )
        return classes or count

    def train(self, epoch: int = 0) -> Points:
        """Return all points; they are the same in every epoch.

        Args:
            epoch: Number of the epoch.
        """
        return self._points

    def steps(self, batch: int) -> int:
        """Return the number of batches in one pass over the points.

        Args:
            batch: Number of points per step.
        """
        at_least(1, batch=batch)
        return -(-self.n // batch)

    def batches(self, epoch: int, steps: int, batch: int) -> list[Int[Tensor, "lane _ _"]]:
        """Return the indices of the points of each step: first the full batches, then a smaller last batch, if any.

        Args:
            epoch: Number of the epoch; each epoch has its own random order.
            steps: Number of training steps.
            batch: Number of points per step.
        """
        at_least(1, steps=steps)
        if steps > self.steps(batch):
            raise UserError(
                f"expected at most {self.steps(batch)} batches of {batch} in one pass over {self.n} points, got "
                f"{steps}: reduce steps or batch"
            )
        orders = np.stack([stream(self.root, Role.BATCHES, seed, epoch).permutation(self.n) for seed in self.seeds])
        rows = torch.from_numpy(orders)[:, : steps * batch]
        full = rows.shape[1] // batch
        parts = rows[:, : full * batch].reshape(self.lanes, full, batch), rows[:, None, full * batch :]
        return [part for part in parts if part.numel()]


def _checked(X: Tensor, Y: Tensor) -> None:
    if not X.dim() or not len(X):
        raise UserError(f"expected at least one point to train on, got inputs of shape {tuple(X.shape)}: add points")
    if not Y.dim() or len(X) != len(Y):
        raise UserError(
            f"expected one target per point, got inputs of shape {tuple(X.shape)} and targets of shape "
            f"{tuple(Y.shape)}: give as many targets as inputs"
        )
    if X.requires_grad or Y.requires_grad:
        name = "inputs" if X.requires_grad else "targets"
        raise UserError(
            f"expected data that is not trained itself, got {name} with requires_grad=True: pass them with .detach()"
        )
