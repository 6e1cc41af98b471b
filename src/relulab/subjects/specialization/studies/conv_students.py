"""The common setup of the studies with convolutional students: teachers of Luck Matters, one student at a time."""

from itertools import pairwise
from typing import Annotated

from annotated_types import Len
from pydantic import PositiveInt, model_validator
from torch import nn

from relulab.data.inputs import Gaussian
from relulab.data.task import Task
from relulab.lab.study import Unit
from relulab.nets.conv_net import check_images, conv_net, time_share
from relulab.subjects.specialization.studies.deep_students import DeepStudents
from relulab.subjects.specialization.tools.luck_conv_teacher import luck_conv_teacher
from relulab.subjects.specialization.tools.module_observation import ModuleObserver

KERNEL = 3  # pixels along a side of the filters

Channels = Annotated[tuple[PositiveInt, ...], Len(min_length=1)]


class ConvStudents(DeepStudents):
    """Base class of the studies with convolutional networks on images of Gaussian pixels with one channel.

    Convolutions have 3×3 filters without padding, and a linear layer is on top. Channels are the nodes. A unit is one
    student of one seed. Studies that also inherit from another base class declare the fields themselves whose defaults
    differ, because Pydantic takes a default that a base class inherits for its own.
    """

    side: PositiveInt = 16
    """height and width of the images in pixels"""

    @model_validator(mode="after")
    def _large_enough(self):
        check_images((1, *self.hidden), self.side, self.C, KERNEL)
        return self

    def channels(self, over: int) -> tuple[int, ...]:
        """The numbers of channels of the images and of the students of a width."""
        return (1, *(over * n for n in self.hidden))

    def images(self) -> Gaussian:
        """The distribution of the images."""
        return Gaussian(self.side**2, self.sigma)

    def task(self, seeds: tuple[int, ...]) -> Task:
        (seed,) = seeds
        teacher = luck_conv_teacher(self.channels(1), self.side, self.C, seed=seed, root=self.root)
        return Task(
            teacher, self.images(), seeds=seeds, n_train=self.n_train, n_held_out=self.n_held_out, fresh=self.fresh,
            root=self.root, shape=(1, self.side, self.side),
        )  # fmt: skip

    def students(self, task: Task, over: int) -> nn.Module:
        norm = None if self.batch_norm == "none" else self.batch_norm
        (seed,) = task.seeds
        return conv_net(self.channels(over), self.side, self.C, seed=seed, root=self.root, batch_norm=norm)

    def observer(self, task: Task) -> ModuleObserver:
        return ModuleObserver(task.teacher, task.held_out())

    def units(self) -> list[Unit]:
        steps = self.epochs * self.steps
        drawn = (self.epochs if self.fresh else 1) * self.n_train + self.n_held_out
        units = []
        for over in self.over:
            first, *others = self._products(over)
            training = 2.0 * steps * self.batch * (2 * first + 3 * sum(others))
            looks = 2.0 * len(self.looks()) * self.n_held_out * (first + sum(others) + sum(self._products(1)))
            flops = training + looks + 2.0 * drawn * sum(self._products(1))
            units += [
                Unit(f"over{over}-seed{seed}", {"over": over, "seeds": (seed,)}, steps, flops)
                for seed in range(self.seeds)
            ]
        return units

    def _products(self, over: int) -> list[float]:
        """The multiply-adds of every layer for one image, times how long one of them takes."""
        channels = self.channels(over)
        sides = [self.side - l * (KERNEL - 1) for l in range(1, len(channels))]
        layers = zip(pairwise(channels), sides, strict=True)
        products = [time_share(n, k) * n * k * KERNEL**2 * side**2 for (n, k), side in layers]
        return [*products, channels[-1] * sides[-1] ** 2 * self.C]
