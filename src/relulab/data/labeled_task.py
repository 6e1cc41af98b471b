"""Labeled data sets as a task for SGD: a lane a data set, an epoch a pass over it."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.data.labeled import Labeled
from relulab.data.task import Points


class LabeledTask:
    """Data set i for lane i, with the order of its batches from the stream of ``seeds[i]``.

    An epoch goes through all points once in a random order, as a shuffled data loader does; what does not fill a last
    batch is left out of it.

    Args:
        data: One data set per lane, all of one shape (n, d).
        seeds: One seed per lane.
        root: Root of all random streams.
        dtype: Floating type in which points and labels are kept.

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
        shapes = {tuple(one.X.shape) for one in data}
        if len(data) != len(seeds) or len(shapes) != 1:
            raise UserError(f"{len(data)} data sets of {len(shapes)} shapes for {len(seeds)} seeds: one a seed, alike")
        self.data, self.seeds, self.root, self.dtype = tuple(data), tuple(seeds), root, dtype
        self.n, self.d = shapes.pop()
        self.lanes = len(data)
        X = torch.stack([one.X for one in data]).to(dtype)
        self._points = Points(X, torch.stack([one.y for one in data]).to(dtype)[..., None], torch.arange(self.lanes))

    def train(self, epoch: int = 0) -> Points:
        """All points, with labels for targets; the same in every epoch."""
        return self._points

    def steps(self, batch: int) -> int:
        """Full batches in a pass over the points."""
        return self.n // batch

    def batches(self, epoch: int, steps: int, batch: int) -> Int[Tensor, "lane steps batch"]:
        """Which points each step takes."""
        if steps * batch > self.n:
            raise UserError(f"{steps} batches of {batch}: a pass over {self.n} points has {self.n // batch} of them")
        orders = [stream(self.root, Role.BATCHES, seed, epoch).permutation(self.n) for seed in self.seeds]
        return torch.from_numpy(np.stack(orders)[:, : steps * batch].reshape(self.lanes, steps, batch))
