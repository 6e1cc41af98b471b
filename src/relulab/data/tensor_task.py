"""A user's own points as a task: tensors of inputs and targets, a shuffled pass an epoch."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.data.task import Points


class TensorTask:
    """Points ``X`` with targets ``Y``; an epoch goes through all of them in a random order.

    The last batch may be a short one. Integer targets are classes. With several ``seeds`` there is a lane
    for each, on the same points in another order.

    Args:
        X: inputs, (N, …): vectors, images, or whole numbers such as tokens.
        Y: targets, (N,) of integers for classes, else (N,) or (N, C) of numbers.
        seed: the seed of the order of points, for a network without lanes or of one lane.
        seeds: one seed a lane, instead.
        classes: how many classes there are; one more than the largest label if not given.
        root: root of all random streams.

    >>> TensorTask(torch.zeros(10, 3), torch.arange(10) % 4).classes
    4
    """

    fresh = False

    def __init__(
        self,
        X: Shaped[Tensor, "N *x"],
        Y: Shaped[Tensor, "N *y"],
        *,
        seed: int = 0,
        seeds: Sequence[int] | None = None,
        classes: int | None = None,
        root: int = 0,
    ):
        if not len(X):
            raise UserError("there are no points to train on")
        self.seeds, self.root = (seed,) if seeds is None else tuple(seeds), root
        self.n, self.lanes, self.dtype, self.d = len(X), len(self.seeds), X.dtype, X.shape[-1] if X.dim() > 1 else 1
        self.classes = self._count(Y, classes)
        self.outputs = self.classes or (Y.shape[1] if Y.dim() > 1 else 1)
        # A lane that is alone shares the user's memory, and its layout.
        X, Y = (A[None] if self.lanes == 1 else A.expand(self.lanes, *A.shape).contiguous() for A in (X, Y))
        self._points = Points(X, Y, torch.arange(self.lanes))

    @staticmethod
    def _count(Y: Tensor, classes: int | None) -> int | None:
        if Y.is_floating_point():
            return None
        if Y.dtype == torch.bool or Y.min() < 0:
            raise UserError(f"labels of type {Y.dtype} from {Y.min()}: classes are whole numbers from 0")
        found = int(Y.max()) + 1
        if classes is not None and classes < found:
            raise UserError(f"a label {found - 1} with classes={classes}: labels run from 0 to classes − 1")
        return classes or found

    def train(self, epoch: int = 0) -> Points:
        """All points; the same in every epoch."""
        return self._points

    def steps(self, batch: int) -> int:
        """Batches in a pass over the points."""
        return -(-self.n // batch)

    def batches(self, epoch: int, steps: int, batch: int) -> list[Int[Tensor, "lane _ _"]]:
        """Which points each step takes: those of full batches, and of a short last one."""
        if steps > self.steps(batch):
            raise UserError(f"{steps} batches of {batch}: a pass over {self.n} points has {self.steps(batch)} of them")
        orders = np.stack([stream(self.root, Role.BATCHES, seed, epoch).permutation(self.n) for seed in self.seeds])
        rows = torch.from_numpy(orders)[:, : steps * batch]
        full = rows.shape[1] // batch
        parts = rows[:, : full * batch].reshape(self.lanes, full, batch), rows[:, None, full * batch :]
        return [part for part in parts if part.numel()]
