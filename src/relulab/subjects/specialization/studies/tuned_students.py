"""The common setup of the deep studies of SS and S0: teachers with half-active nodes, one lane per seed."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar

from annotated_types import Ge
from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from relulab.core.products import product_flops
from relulab.data.inputs import Gaussian, Inputs
from relulab.data.task import Task
from relulab.lab.study import blocks
from relulab.lab.trained_study import TrainedStudy
from relulab.nets.initial import torch_default
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.studies.deep_students import LANES, Hidden, weights_of
from relulab.subjects.specialization.studies.two_layer_students import STEP
from relulab.subjects.specialization.tools.deep_teacher import deep_teacher


@dataclass(frozen=True)
class Changed:
    """A schedule: the factor 1, and another one from an epoch on."""

    epoch: int
    factor: float

    def __call__(self, t: int) -> float:
        return self.factor if t >= self.epoch else 1.0


class TunedStudents(TrainedStudy):
    """Base class: students learn from teachers of several hidden layers with half-active nodes (``deep_teacher``)."""

    symbols: ClassVar[dict[str, str]] = {
        "ρ_mean": "mean over the teacher nodes of a layer of the best correlation with a student node",
        "d": "number of inputs",
        "C": "number of outputs",
    }

    d: PositiveInt = 20
    """input dimension"""
    C: PositiveInt = 100
    """number of outputs"""
    hidden: Hidden = (50, 75, 100, 125)
    """numbers of nodes of the teacher's hidden layers"""
    polarity: NonNegativeFloat = 0
    """polarity p of the teachers: the strength of node j of a layer is about proportional to 1/j^p"""
    batch: PositiveInt = 64
    """points per step, drawn with replacement"""
    n_held_out: Annotated[int, Ge(2)] = 10_240
    """number of held-out points, for the biases of the teacher, correlations and loss"""
    sigma: PositiveFloat = 10
    """standard deviation of Gaussian inputs"""
    lr: PositiveFloat = 0.2
    """learning rate; the squared error is a mean over outputs"""
    later_lr: PositiveFloat = 0.1
    """with schedule=constant: learning rate from the epoch later_from on"""
    later_from: NonNegativeInt = 20
    """with schedule=constant: first epoch with the learning rate later_lr"""

    def widths(self, over: int) -> tuple[int, ...]:
        """The numbers of units of students of a width."""
        return (self.d, *(over * n for n in self.hidden), self.C)

    def blocks(self, seeds: int, over: int, n_train: int) -> list[tuple[int, ...]]:
        """Divide the seeds into blocks that are trained together: fewer for wide students and for many points."""
        lanes = min(8, LANES / sum(weights_of(self.widths(over))), 5e7 / (n_train * self.C))
        return blocks(seeds, max(1, round(lanes)))

    def flops(self, lanes: int, steps: int, over: int, looks: int) -> float:
        """Estimate the cost of a unit in floating-point operations.

        Args:
            lanes: Number of students.
            steps: Number of training steps of each of them.
            over: Their width.
            looks: How often they are measured.
        """
        weights = weights_of(self.widths(over))
        nodes = sum(over * n * n for n in self.hidden)  # products for the correlations
        look = 2.0 * self.n_held_out * (sum(weights) + nodes)
        first, *others = (product_flops(self.batch, n, k) for n, k in pairwise(self.widths(over)))
        return lanes * (steps * (2 * first + 3 * sum(others)) + looks * look) + STEP * steps

    def task(self, seeds: tuple[int, ...], n_train: int, inputs: Inputs | None = None, fresh: bool = False) -> Task:
        """The learning task, with one lane per seed.

        Args:
            seeds: The seeds.
            n_train: Number of training points.
            inputs: Distribution of the inputs. Default: Gaussian.
            fresh: Whether new training points are drawn every epoch.
        """
        inputs = Gaussian(self.d, self.sigma) if inputs is None else inputs
        shared: dict[str, Any] = {"seeds": seeds, "n_held_out": self.n_held_out, "root": self.root}
        teachers = deep_teacher(self.widths(1), polarity=self.polarity, inputs=inputs, **shared)
        return Task(teachers, inputs, n_train=n_train, fresh=fresh, **shared)

    def students(self, task: Task, over: int) -> MLP:
        """The students of a width before training, one lane per lane of the task."""
        return torch_default(self.widths(over), task.seeds, root=self.root)

    def training(self, parts: int = 1) -> dict[str, Any]:
        options = super().training(parts)
        if self.schedule == "constant":
            options["schedule"] = Changed(self.later_from * parts, self.later_lr / self.lr)
        return options
