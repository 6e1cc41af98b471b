"""A task: for every lane the inputs of its seed and what its teacher makes of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.data.inputs import Inputs
from relulab.nets.mlp import MLP


@dataclass(frozen=True)
class Points:
    """Inputs, kept once for the lanes that share them, with the targets, such as a teacher's outputs, once a lane.

    ``group`` maps a lane to its inputs.
    """

    X: Shaped[Tensor, "group N *x"]
    Y: Shaped[Tensor, "lane N *y"]
    group: Int[Tensor, " lane"]

    def of_lane(self, i: int) -> tuple[Shaped[Tensor, "N *x"], Shaped[Tensor, "N *y"]]:
        return self.X[self.group[i]], self.Y[i]


@runtime_checkable
class TrainingTask(Protocol):
    """What training asks of a task: the points of an epoch, and which of them each step takes.

    ``batches`` are (group, step, batch), or a list of such where batches differ in size; ``steps`` is how many batches
    are a pass. Lane i has the streams of ``seeds[i]`` below ``root``.
    """

    lanes: int
    seeds: tuple[int, ...]
    root: int

    def train(self, epoch: int = 0) -> Points: ...
    def steps(self, batch: int) -> int: ...
    def batches(self, epoch: int, steps: int, batch: int) -> Tensor | list[Tensor]: ...


class Task:
    """Points for the lanes of ``teacher``, lane i with the streams of ``seeds[i]``.

    Lanes with the same seed (settings that differ in the teacher's strengths, say) share inputs and batches, so their
    differences are paired. With inputs of its own for each lane, lanes of one seed draw from the same stream and take
    the same rows in each batch.

    Args:
        teacher: The teachers, one per lane; their outputs are the targets.
        inputs: The law of the inputs, or one per lane, for points that depend on its teacher.
        held_out_inputs: The same for held-out points; None takes ``inputs``.
        seeds: One seed per lane.
        n_train: Training points per lane.
        n_held_out: Held-out points per lane.
        fresh: Whether training points are drawn anew each epoch; otherwise they are fixed.
        root: Root of all random streams.
        dtype: Floating type in which inputs and targets are kept.

    >>> from relulab.data.inputs import Gaussian
    >>> task = Task(MLP((3, 4, 2), lanes=2), Gaussian(3), seeds=[0, 7], n_train=10, n_held_out=5)
    >>> task.held_out().Y.shape
    torch.Size([2, 5, 2])
    """

    def __init__(
        self,
        teacher: MLP,
        inputs: Inputs | Sequence[Inputs],
        *,
        held_out_inputs: Inputs | Sequence[Inputs] | None = None,
        seeds: Sequence[int],
        n_train: int = 10_000,
        n_held_out: int = 10_000,
        fresh: bool = False,
        root: int = 0,
        dtype: torch.dtype = torch.float32,
    ):
        if len(seeds) != teacher.lanes:
            raise UserError(f"{len(seeds)} seeds for a teacher with {teacher.lanes} lanes: give one seed a lane")
        self.teacher, self.seeds, self.root, self.dtype = teacher, tuple(seeds), root, dtype
        self.n_train, self.n_held_out, self.fresh = n_train, n_held_out, fresh
        self.inputs = self._one_a_lane(inputs)
        self._held_out_inputs = self._one_a_lane(inputs if held_out_inputs is None else held_out_inputs)
        firsts, self.group = self._groups(self.inputs)
        self.streams = tuple(self.seeds[i] for i in firsts)
        self._fixed: Points | None = None
        self.lanes, self.d, self.outputs = teacher.lanes, teacher.widths[0], teacher.widths[-1]

    def train(self, epoch: int = 0) -> Points:
        """The training points of an epoch."""
        if self.fresh:
            return self._draw(self.inputs, Role.TRAIN, self.n_train, epoch)
        if self._fixed is None:
            self._fixed = self._draw(self.inputs, Role.TRAIN, self.n_train, 0)
        return self._fixed

    def held_out(self) -> Points:
        return self._draw(self._held_out_inputs, Role.HELD_OUT, self.n_held_out, 0)

    def steps(self, batch: int) -> int:
        """Batches that have as many points as there are."""
        return max(1, self.n_train // batch)

    def batches(self, epoch: int, steps: int, batch: int) -> Int[Tensor, "group steps batch"]:
        """Which training points each step takes, drawn with replacement."""
        draws = [
            stream(self.root, Role.BATCHES, seed, epoch).integers(self.n_train, size=(steps, batch))
            for seed in self.streams
        ]
        return torch.from_numpy(np.stack(draws))

    def _one_a_lane(self, inputs: Inputs | Sequence[Inputs]) -> tuple[Inputs, ...]:
        d, lanes = self.teacher.widths[0], self.teacher.lanes
        found = (inputs,) * lanes if isinstance(inputs, Inputs) else tuple(inputs)
        if len(found) != lanes:
            raise UserError(f"{len(found)} inputs for a teacher with {lanes} lanes: give one, or one a lane")
        wrong = [one.d for one in found if one.d != d]
        if wrong:
            raise UserError(f"inputs of dimension {wrong[0]} for a teacher that takes {d}")
        return found

    def _groups(self, inputs: Sequence[Inputs]) -> tuple[list[int], Int[Tensor, " lane"]]:
        """The first lane of every group and the group of every lane: those of one seed and one inputs share points."""
        kinds = [(seed, id(one)) for seed, one in zip(self.seeds, inputs, strict=True)]
        groups = {kind: g for g, kind in enumerate(dict.fromkeys(kinds))}
        return [kinds.index(kind) for kind in groups], torch.tensor([groups[kind] for kind in kinds])

    @torch.no_grad()
    def _draw(self, inputs: Sequence[Inputs], role: Role, n: int, epoch: int) -> Points:
        firsts, group = self._groups(inputs)
        xs = [torch.from_numpy(inputs[i].draw(stream(self.root, role, self.seeds[i], epoch), n)) for i in firsts]
        # One lane at a time: the targets of a lane must not depend, to the bit, on how many travel with it.
        ys = [self.teacher.lane(i).double()(xs[g])[0].to(self.dtype) for i, g in enumerate(group.tolist())]
        return Points(torch.stack([x.to(self.dtype) for x in xs]), torch.stack(ys), group)
