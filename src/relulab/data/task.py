"""Training tasks: for every lane, inputs drawn with its seed and targets from its teacher."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Float64, Int, Shaped
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.ranges import at_least
from relulab.core.seeds import Role, check_seeds, stream
from relulab.core.short_repr import counted, short_repr
from relulab.core.threads import threads_for
from relulab.data.inputs import Inputs
from relulab.nets.eval_mode import eval_mode
from relulab.nets.hooks import applied, fitted
from relulab.nets.mlp import MLP

CHUNK = 500  # points that a module takes at once
LARGEST = 100_000  # points that an MLP takes at once: the activations of millions would not fit in memory
Teacher = TypeVar("Teacher", bound=nn.Module)


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


class Task(Generic[Teacher]):
    """A teacher-student task: random inputs with the outputs of ``teacher`` as targets.

    Lane i uses the random streams of ``seeds[i]``. Lanes with the same seed, such as settings that differ only in the
    teacher's strengths, share inputs and batches, so that they can be compared in pairs. If each lane has its own input
    distribution, lanes with the same seed still draw from the same stream and use the same indices in each batch.

    Args:
        teacher: The teachers, one per lane, whose outputs are the targets. ``MLP.of(module)`` converts fully connected
            networks. Any other module is the only teacher, and computes in its own data type.
        inputs: The distribution of the inputs, such as ``Gaussian(d)``, or one distribution per lane.
        held_out_inputs: The distribution of the held-out points, or one per lane. Default: ``inputs``.
        seeds: One seed per lane.
        n_train: Number of training points per lane.
        n_held_out: Number of held-out points per lane.
        fresh: Whether to draw new training points in every epoch; otherwise they are fixed.
        root: Root seed of all random streams.
        dtype: Data type of inputs and targets.
        shape: Shape of the inputs of a module, such as (1, 16, 16) for images. Default: vectors.

    >>> from relulab.data.inputs import Gaussian
    >>> task = Task(MLP((3, 4, 2), lanes=2), Gaussian(3), seeds=[0, 7], n_train=10, n_held_out=5)
    >>> task.held_out().Y.shape
    torch.Size([2, 5, 2])
    """

    def __init__(
        self,
        teacher: Teacher,
        inputs: Inputs | Sequence[Inputs],
        *,
        held_out_inputs: Inputs | Sequence[Inputs] | None = None,
        seeds: Sequence[int],
        n_train: int = 10_000,
        n_held_out: int = 10_000,
        fresh: bool = False,
        root: int = 0,
        dtype: torch.dtype = torch.float32,
        shape: Sequence[int] | None = None,
    ):
        self.lanes = teacher.lanes if isinstance(teacher, MLP) else 1
        if len(seeds) != self.lanes:
            raise UserError(
                f"expected one seed per lane of the teacher, got {len(seeds)} seeds for {counted(self.lanes, 'lane')}: "
                "change seeds or the teacher"
            )
        check_seeds(root, seeds)
        at_least(1, n_train=n_train, n_held_out=n_held_out)
        self.d, self.shape = _sizes(teacher, inputs, shape)
        self.teacher, self.seeds, self.root, self.dtype = teacher, tuple(seeds), root, dtype
        self.n_train, self.n_held_out, self.fresh = n_train, n_held_out, fresh
        self.inputs = self._one_per_lane(inputs)
        self._held_out_inputs = self._one_per_lane(inputs if held_out_inputs is None else held_out_inputs)
        firsts, self.group = self._groups(self.inputs)
        self.streams = tuple(self.seeds[i] for i in firsts)
        self._fixed: Points | None = None
        if isinstance(teacher, MLP):
            self.outputs = teacher.widths[-1]
        else:
            self.outputs = self._of_module(torch.zeros(1, self.d)).shape[1]

    def __repr__(self) -> str:
        kinds = list(dict.fromkeys(map(repr, self.inputs)))
        inputs = kinds[0] if len(kinds) == 1 else f"{len(kinds)} input distributions"
        fresh = ", new ones in every epoch" if self.fresh else ""
        teacher = repr(self.teacher) if isinstance(self.teacher, MLP) else type(self.teacher).__name__
        return (
            f"Task({teacher}, {inputs}, {counted(self.n_train, 'training point')}{fresh}, "
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
        d, lanes = self.d, self.lanes
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
        # One lane at a time, so that the targets are bitwise the same for any number of lanes.
        ys = [self._targets(i, xs[g]).to(self.dtype) for i, g in enumerate(group.tolist())]
        return Points(torch.stack([x.to(self.dtype).view(-1, *self.shape) for x in xs]), torch.stack(ys), group)

    def _targets(self, i: int, x: Float64[Tensor, "N d"]) -> Float[Tensor, "N C"]:
        """Return the outputs of the teacher of lane ``i``."""
        if not isinstance(self.teacher, MLP):
            return torch.cat([self._of_module(part) for part in x.split(CHUNK)])
        teacher = self.teacher.lane(i).double()
        with threads_for(len(x) * max(W[0].numel() for W in self.teacher.W)):
            return torch.cat([teacher(part)[0].to(self.dtype) for part in x.split(LARGEST)])

    @torch.no_grad()
    def _of_module(self, x: Tensor) -> Float[Tensor, "N C"]:
        with eval_mode(self.teacher):
            y = applied(self.teacher, fitted(self.teacher, x.view(-1, *self.shape)))
        if not isinstance(y, Tensor) or y.dim() != 2 or len(y) != len(x):
            given = f"shape {tuple(y.shape)}" if isinstance(y, Tensor) else type(y).__name__
            raise UserError(
                f"expected a teacher with outputs of shape (N, C) for {counted(len(x), 'point')}, got {given}: use "
                "another teacher"
            )
        return y


def _sizes(teacher: nn.Module, inputs: Any, shape: Sequence[int] | None) -> tuple[int, tuple[int, ...]]:
    """Return the dimension and the shape of the inputs."""
    if isinstance(teacher, MLP):
        d = teacher.widths[0]
    else:
        first = inputs if isinstance(inputs, Inputs) else next(iter(inputs), None)
        d = first.d if isinstance(first, Inputs) else 0
    if shape is None:
        return d, (d,)
    if isinstance(teacher, MLP) or math.prod(shape) != d or min(shape, default=0) < 1:
        remedy = " for an MLP, which takes vectors: leave shape out"
        raise UserError(
            f"expected the shape of the inputs of a module, with a product of {d}, got {tuple(shape)}"
            + (remedy if isinstance(teacher, MLP) else ": change the shape")
        )
    return d, tuple(int(size) for size in shape)
