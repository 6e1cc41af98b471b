"""Training tasks: for every lane, inputs drawn with its seed and targets from its teacher."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.ranges import at_least
from relulab.core.seeds import Role, check_seeds, stream
from relulab.core.short_repr import counted, short_repr
from relulab.core.threads import threads_for
from relulab.data.inputs import Inputs
from relulab.nets.mlp import MLP


@dataclass(frozen=True)
class Points:
    """Inputs and targets, such as a teacher's outputs.

    Lanes that share their inputs form a group: inputs are stored once per group, targets once per lane.

    Args:
        X: The inputs of each group.
        Y: The targets of each lane.
        group: The group of each lane.
    """

    X: Shaped[Tensor, "group N *x"]
    Y: Shaped[Tensor, "lane N *y"]
    group: Int[Tensor, " lane"]

    __repr__ = short_repr

    def of_lane(self, i: int) -> tuple[Shaped[Tensor, "N *x"], Shaped[Tensor, "N *y"]]:
        """Return the inputs and targets of lane ``i``."""
        return self.X[self.group[i]], self.Y[i]


@runtime_checkable
class TrainingTask(Protocol):
    """The interface of a task: the points of each epoch, and the indices of the points of each training step.

    ``train`` returns the points of an epoch. ``steps`` returns the number of batches in one pass over the points.
    ``batches`` returns indices of shape (group, step, batch), or a list of such tensors if batches differ in size. Lane
    i uses the random streams of ``seeds[i]`` with the root seed ``root``.
    """

    lanes: int
    seeds: tuple[int, ...]
    root: int

    def train(self, epoch: int = 0) -> Points: ...
    def steps(self, batch: int) -> int: ...
    def batches(self, epoch: int, steps: int, batch: int) -> Tensor | list[Tensor]: ...


class Task:
    """A teacher-student task: random inputs with the outputs of ``teacher`` as targets.

    Lane i uses the random streams of ``seeds[i]``. Lanes with the same seed, such as settings that differ only in the
    teacher's strengths, share inputs and batches, so that they can be compared in pairs. If each lane has its own input
    distribution, lanes with the same seed still draw from the same stream and use the same indices in each batch.

    Args:
        teacher: The teachers, one per lane, whose outputs are the targets; ``MLP.of(module)`` converts other networks.
        inputs: The distribution of the inputs, such as ``Gaussian(d)``, or one distribution per lane.
        held_out_inputs: The distribution of the held-out points, or one per lane. Default: ``inputs``.
        seeds: One seed per lane.
        n_train: Number of training points per lane.
        n_held_out: Number of held-out points per lane.
        fresh: Whether to draw new training points in every epoch; otherwise they are fixed.
        root: Root seed of all random streams.
        dtype: Data type of inputs and targets.

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
            raise UserError(
                f"expected one seed per lane of the teacher, got {len(seeds)} seeds for {teacher.lanes} lanes: change "
                "seeds or the teacher"
            )
        check_seeds(root, seeds)
        at_least(1, n_train=n_train, n_held_out=n_held_out)
        self.teacher, self.seeds, self.root, self.dtype = teacher, tuple(seeds), root, dtype
        self.n_train, self.n_held_out, self.fresh = n_train, n_held_out, fresh
        self.inputs = self._one_per_lane(inputs)
        self._held_out_inputs = self._one_per_lane(inputs if held_out_inputs is None else held_out_inputs)
        firsts, self.group = self._groups(self.inputs)
        self.streams = tuple(self.seeds[i] for i in firsts)
        self._fixed: Points | None = None
        self.lanes, self.d, self.outputs = teacher.lanes, teacher.widths[0], teacher.widths[-1]

    def __repr__(self) -> str:
        kinds = list(dict.fromkeys(map(repr, self.inputs)))
        inputs = kinds[0] if len(kinds) == 1 else f"{len(kinds)} input distributions"
        fresh = ", new ones in every epoch" if self.fresh else ""
        return (
            f"Task({self.teacher!r}, {inputs}, {counted(self.n_train, 'training point')}{fresh}, "
            f"{self.n_held_out:,} held-out, {str(self.dtype).removeprefix('torch.')})"
        )

    def train(self, epoch: int = 0) -> Points:
        """Return the training points of an epoch.

        Args:
            epoch: Number of the epoch.
        """
        if self.fresh:
            return self._draw(self.inputs, Role.TRAIN, self.n_train, epoch)
        if self._fixed is None:
            self._fixed = self._draw(self.inputs, Role.TRAIN, self.n_train, 0)
        return self._fixed

    def held_out(self) -> Points:
        """Return the held-out points."""
        return self._draw(self._held_out_inputs, Role.HELD_OUT, self.n_held_out, 0)

    def steps(self, batch: int) -> int:
        """Return the number of batches that together have as many points as the training set.

        Args:
            batch: Number of points per step.
        """
        at_least(1, batch=batch)
        return max(1, self.n_train // batch)

    def batches(self, epoch: int, steps: int, batch: int) -> Int[Tensor, "group steps batch"]:
        """Return the indices of the training points of each step, drawn with replacement.

        Args:
            epoch: Number of the epoch.
            steps: Number of training steps.
            batch: Number of points per step.
        """
        at_least(1, steps=steps, batch=batch)
        draws = [
            stream(self.root, Role.BATCHES, seed, epoch).integers(self.n_train, size=(steps, batch))
            for seed in self.streams
        ]
        return torch.from_numpy(np.stack(draws))

    def _one_per_lane(self, inputs: Inputs | Sequence[Inputs]) -> tuple[Inputs, ...]:
        d, lanes = self.teacher.widths[0], self.teacher.lanes
        distributions = (inputs,) * lanes if isinstance(inputs, Inputs) else tuple(inputs)
        if len(distributions) != lanes:
            raise UserError(
                f"expected one input distribution, or one per lane of the teacher, got {len(distributions)} for "
                f"{lanes} lanes: change inputs or the teacher"
            )
        wrong = [distribution.d for distribution in distributions if distribution.d != d]
        if wrong:
            raise UserError(
                f"expected inputs of dimension {d} for a teacher with {d} inputs, got dimension {wrong[0]}: change the "
                "inputs or the teacher"
            )
        return distributions

    def _groups(self, inputs: Sequence[Inputs]) -> tuple[list[int], Int[Tensor, " lane"]]:
        """Return the first lane of each group and the group of each lane: lanes with the same seed and inputs."""
        kinds = [(seed, id(distribution)) for seed, distribution in zip(self.seeds, inputs, strict=True)]
        groups = {kind: g for g, kind in enumerate(dict.fromkeys(kinds))}
        return [kinds.index(kind) for kind in groups], torch.tensor([groups[kind] for kind in kinds])

    @torch.no_grad()
    def _draw(self, inputs: Sequence[Inputs], role: Role, n: int, epoch: int) -> Points:
        firsts, group = self._groups(inputs)
        xs = [torch.from_numpy(inputs[i].draw(stream(self.root, role, self.seeds[i], epoch), n)) for i in firsts]
        with threads_for(n * max(W[0].numel() for W in self.teacher.W)):
            # One lane at a time, so that the targets are bitwise the same for any number of lanes.
            ys = [self.teacher.lane(i).double()(xs[g])[0].to(self.dtype) for i, g in enumerate(group.tolist())]
        return Points(torch.stack([x.to(self.dtype) for x in xs]), torch.stack(ys), group)
