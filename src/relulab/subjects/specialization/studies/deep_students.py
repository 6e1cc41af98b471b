"""The common setup of the deep studies: teachers of Luck Matters, over-realized students, one lane per seed."""

from itertools import pairwise
from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge, Len
from pydantic import PositiveFloat, PositiveInt
from torch import Tensor, nn

from relulab.core.products import product_flops
from relulab.data.inputs import Gaussian
from relulab.data.task import Task
from relulab.lab.study import Tick, Unit, blocks
from relulab.lab.trained_study import TrainedStudy
from relulab.nets.initial import torch_default
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.winner_ranks import winner_ranks
from relulab.subjects.specialization.studies.two_layer_students import STEP, Correlation, Widths
from relulab.subjects.specialization.tools.layer_observation import LayerObservation, LayerObserver
from relulab.subjects.specialization.tools.luck_teacher import luck_teacher
from relulab.subjects.specialization.tools.module_observation import ModuleObserver
from relulab.train.fit import fit
from relulab.train.probe import Probe, Reading

Hidden = Annotated[tuple[PositiveInt, ...], Len(min_length=1)]
LANES = 2e6  # weights of all lanes of a unit: enough for full speed


def weights_of(widths: tuple[int, ...]) -> list[int]:
    """Return the number of weights of each layer.

    Args:
        widths: Number of units of each layer, from the inputs to the outputs.
    """
    return [n * k for n, k in pairwise(widths)]


class DeepStudents(TrainedStudy):
    """Base class of the deep studies: students of several widths learn from teachers of several hidden layers.

    A unit is one student width with a block of seeds. In each seed, all widths share the teacher and the data.
    """

    symbols: ClassVar[dict[str, str]] = {
        "ρ̄": "mean over the teacher nodes of a layer of the best correlation; nodes that are never active are left out",
        "r̄": "mean rank of the final best students over the teacher nodes of a layer",
    }

    d: PositiveInt = 20
    """input dimension"""
    C: PositiveInt = 100
    """number of outputs"""
    hidden: Hidden = (50, 75, 100, 125)
    """numbers of nodes of the teacher's hidden layers"""
    over: Widths = (10,)
    """student widths, as multiples of the teacher's widths"""
    seeds: PositiveInt = 5
    """number of seeds: teachers, each with one student of each width"""
    epochs: PositiveInt = 20
    """number of training epochs"""
    steps: PositiveInt = 1562
    """SGD steps per epoch"""
    batch: Annotated[int, Ge(2)] = 64
    """points per step, drawn with replacement"""
    n_train: PositiveInt = 100_000
    """number of training points"""
    n_held_out: Annotated[int, Ge(2)] = 10_000
    """number of held-out points, for correlations and loss"""
    sigma: PositiveFloat = 10
    """standard deviation of the Gaussian inputs"""
    fresh: bool = True
    """draw new training points every epoch"""
    batch_norm: Literal["none", "after", "before"] = "none"
    """BatchNorm of the students: none, after the ReLU, or before it"""
    threshold: Correlation = 0.95
    """correlation above which a teacher node counts as recovered"""
    lr: PositiveFloat = 0.001
    """learning rate"""

    def widths(self, over: int) -> tuple[int, ...]:
        """The numbers of units of students of a width."""
        return (self.d, *(over * n for n in self.hidden), self.C)

    def units(self) -> list[Unit]:
        units = []
        for over in self.over:
            weights = weights_of(self.widths(over))
            first, *others = (product_flops(self.batch, n, k) for n, k in pairwise(self.widths(over)))
            for seeds in blocks(self.seeds, max(1, min(8, round(LANES / sum(weights))))):
                steps = self.epochs * self.steps
                flops = len(seeds) * steps * (2 * first + 3 * sum(others)) + STEP * steps
                name = f"over{over}-seeds{seeds[0]}-{seeds[-1]}"
                units.append(Unit(name, {"over": over, "seeds": seeds}, len(seeds) * steps, flops))
        return units

    def task(self, seeds: tuple[int, ...]) -> Task:
        """The learning task, with one lane per seed."""
        teachers = luck_teacher((self.d, *self.hidden, self.C), seeds=seeds, root=self.root)
        return Task(
            teachers, Gaussian(self.d, self.sigma), seeds=seeds, n_train=self.n_train, n_held_out=self.n_held_out,
            fresh=self.fresh, root=self.root,
        )  # fmt: skip

    def observer(self, task: Task) -> LayerObserver | ModuleObserver:
        """What measures students, with ``alive`` for each hidden layer."""
        assert isinstance(task.teacher, MLP)
        return LayerObserver(task.teacher, task.held_out())

    def students(self, task: Task, over: int) -> nn.Module:
        """The students of a width before training, one lane per lane of the task."""
        norm = None if self.batch_norm == "none" else self.batch_norm
        return torch_default(self.widths(over), task.seeds, root=self.root, batch_norm=norm)

    def looks(self) -> tuple[int, ...]:
        """The epochs at which students are measured: dense at first, and the last one."""
        return tuple(sorted({0, *np.geomspace(1, self.epochs, 8).round().astype(int).tolist()}))

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        over, seeds = unit.values["over"], unit.values["seeds"]
        task = self.task(seeds)
        student, observe = self.students(task, over), self.observer(task)
        history = fit(
            student, task, epochs=self.epochs, steps=self.steps, batch=self.batch, tick=tick, **self.training(),
            probes=[Probe(self.looks(), lambda net: self.read(observe(net)))],
        )  # fmt: skip
        by_layer = [self.of_layer(history, l, alive) for l, alive in enumerate(observe.alive)]
        data = xr.concat(by_layer, "layer").assign(loss=history.loss, variance=("lane", _variance(task)))
        data = data.assign_coords(layer=range(len(by_layer)), lane=list(seeds)).rename(lane="seed")
        return data.assign_coords(over=over).expand_dims("over")

    def read(self, seen: LayerObservation) -> Reading:
        """What a measurement stores until the end of the unit: all correlations, for the ranks, and the loss."""
        rho = {f"rho{l}": (("lane", f"node{l}", f"student{l}"), rho) for l, rho in enumerate(seen.rho)}
        return {**rho, "loss": (("lane",), seen.loss)}

    def of_layer(self, history: xr.Dataset, l: int, alive: Tensor) -> xr.Dataset:
        """Return what is stored of a layer, over the teacher nodes that are sometimes active.

        Args:
            history: The course of training, with the correlations of the layer.
            l: The layer, from 0.
            alive: Which teacher nodes are sometimes active, (lane, m).
        """
        rho = torch.from_numpy(history[f"rho{l}"].transpose("lane", "epoch", ...).values)
        best = rho.amax(-1).where(alive[:, None], torch.nan)
        ranks = winner_ranks(rho, rho[:, -1:].expand_as(rho)).where(alive[:, None], torch.nan)
        dims = ("lane", "epoch")
        recovered = (best > self.threshold).double().where(~best.isnan(), torch.nan)
        return xr.Dataset(
            {
                "rho": (dims, best.nanmean(-1).numpy()),
                "recovered": (dims, recovered.nanmean(-1).numpy()),
                "mean_rank": (dims, ranks.nanmean(-1).numpy()),
                "median_rank": (dims, ranks.nanquantile(0.5, -1).numpy()),
                "never_active": ("lane", (~alive).sum(-1).numpy()),
            },
            coords={"epoch": history.epoch},
        )


def _variance(task: Task) -> np.ndarray:
    """Return the loss of the best constant output: the mean variance of the teacher's outputs."""
    return task.held_out().Y.var(1, correction=0).mean(-1).numpy()
