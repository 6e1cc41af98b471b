"""Labeled data sets as a training task: one data set per lane, and one pass over it per epoch."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.ranges import at_least
from relulab.core.seeds import Role, check_seeds, stream
from relulab.core.short_repr import counted
from relulab.data.labeled import Labeled
from relulab.data.task import Points


class LabeledTask:
    """Train lane i on data set i, with the order of its batches given by ``seeds[i]``.

    In each epoch all points are visited once in random order, as with a shuffled data loader. Points that do not fill
    the last batch are left out in that epoch.

    Args:
        data: One data set per lane, all of the same shape (n, d).
        seeds: One seed per lane.
        root: Root seed of all random streams.
        dtype: Data type of points and labels.

    >>> from relulab.subjects.bias.tools.orthants import OppositeOrthants
    >>> task = LabeledTask([OppositeOrthants(3).draw(np.random.default_rng(0), 10)], seeds=[0])
    >>> sorted(task.batches(0, 2, 5).flatten().tolist()) == list(range(10))
    True
    """

    outputs = 1
    fresh = False

    def __init__(
        self, data: Sequence[Labeled], *, seeds: Sequence[int], root: int = 0, dtype: torch.dtype = torch.float32
    ):
        shapes = {tuple(labeled.X.shape) for labeled in data}
        if len(data) != len(seeds) or len(shapes) != 1:
            raise UserError(
                f"expected one data set per seed, all of the same shape, got {len(data)} data sets with {len(shapes)} "
                f"different shapes and {len(seeds)} seeds: use data sets with the same number of points and inputs"
            )
        check_seeds(root, seeds)
        self.data, self.seeds, self.root, self.dtype = tuple(data), tuple(seeds), root, dtype
        self.n, self.d = shapes.pop()
        self.lanes = len(data)
        X = torch.stack([labeled.X for labeled in data]).to(dtype)
        y = torch.stack([labeled.y for labeled in data]).to(dtype)
        self._points = Points(X, y[..., None], torch.arange(self.lanes))

    def __repr__(self) -> str:
        sizes = f"{counted(self.n, 'point')} with {counted(self.d, 'input')}"
        return f"LabeledTask({counted(self.lanes, 'lane')}, {sizes}, {str(self.dtype).removeprefix('torch.')})"

    def train(self, epoch: int = 0) -> Points:
        """Return all points with their labels as targets; they are the same in every epoch.

        Args:
            epoch: Number of the epoch.
        """
        return self._points

    def steps(self, batch: int) -> int:
        """Return the number of full batches in one pass over the points.

        Args:
            batch: Number of points per step.
        """
        at_least(1, batch=batch)
        return self.n // batch

    def batches(self, epoch: int, steps: int, batch: int) -> Int[Tensor, "lane steps batch"]:
        """Return the indices of the points of each training step.

        Args:
            epoch: Number of the epoch; each epoch has its own random order.
            steps: Number of training steps.
            batch: Number of points per step.
        """
        at_least(1, steps=steps, batch=batch)
        if steps * batch > self.n:
            raise UserError(
                f"expected at most {self.n // batch} batches of {batch} in one pass over {self.n} points, got "
                f"{steps}: reduce steps or batch"
            )
        orders = [stream(self.root, Role.BATCHES, seed, epoch).permutation(self.n) for seed in self.seeds]
        return torch.from_numpy(np.stack(orders)[:, : steps * batch].reshape(self.lanes, steps, batch))
