"""What the two-layer studies share: teachers, over-realized students, seeds × polarities as lanes."""

from abc import abstractmethod
from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge, Gt, Len, Lt
from pydantic import AfterValidator, NonNegativeFloat, PositiveFloat, PositiveInt

from relulab.data.inputs import Gaussian, Uniform
from relulab.data.task import Task
from relulab.lab.claim import Claim
from relulab.lab.study import Study, Tick, Unit, blocks, distinct
from relulab.nets.initial import small_normal
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.studies.statements import Statement, claimed
from relulab.subjects.specialization.tools.observation import Observation, Observer
from relulab.subjects.specialization.tools.teacher import teacher
from relulab.train.probe import Probe, Reading
from relulab.train.sgd import sgd

Widths = Annotated[tuple[PositiveInt, ...], Len(min_length=1), AfterValidator(distinct)]
Polarities = Annotated[tuple[NonNegativeFloat, ...], Len(min_length=1), AfterValidator(distinct)]
Correlation = Annotated[float, Gt(0), Lt(1)]
SMOKE = {
    "d": 20, "C": 10, "m": 4, "over": (1, 5), "polarity": (1.0,), "seeds": 2, "epochs": 3, "steps": 100,
    "n_train": 500, "n_held_out": 500,
}  # fmt: skip
STEP = 2.5e6  # flops that could be done in the time that a step of all lanes takes beside its products


def step_flops(batch: int, d: int, n: int, C: int) -> float:
    """Flops of one SGD step of a two-layer student: forward d n + n C, backward n C for the gate and n C + d n more.

    Args:
        batch: points of the step.
        d: inputs.
        n: hidden nodes.
        C: outputs.
    """
    return 2.0 * batch * n * (2 * d + 3 * C)


def unstacked(measured: xr.Dataset, /, **lanes: list) -> xr.Dataset:
    """A dataset with the dimension "lane" taken apart into the dimensions that the lanes stand for.

    Args:
        measured: what is known of all lanes.
        lanes: for each new dimension its value in every lane; the first is the slowest.
    """
    named = measured.assign_coords({name: ("lane", values) for name, values in lanes.items()})
    return named.set_index(lane=tuple(lanes)).unstack("lane")


class TwoLayer(Study):
    """A unit is one student width with a block of seeds; all polarities of a seed share data, start and batches."""

    remarks: ClassVar[str] = (
        "The setup is the one the authors ran. The printed text has σ = 10 and learning rate 0.01, which diverges "
        "(sigma=10 trains with lr=0.001), biases that make about half of the inputs active (teacher_bias=median makes "
        "it exactly half) and strengths that follow 1/j^p (fan_out=exact). Training is in float32, the release's in "
        "float64; correlations are taken on held-out points, the release's figure 5 has them on training points."
    )

    d: PositiveInt = 100
    """input dimension"""
    C: PositiveInt = 50
    """outputs"""
    m: PositiveInt = 20
    """hidden nodes of the teacher"""
    over: Widths = (1, 2, 5, 10)
    """student widths, in teacher widths"""
    polarity: Polarities = (0, 0.5, 1, 1.5, 2, 2.5)
    """p: strengths fall as 1/j^p"""
    seeds: PositiveInt = 32
    """networks of each kind"""
    epochs: PositiveInt = 100
    """epochs of training"""
    steps: PositiveInt = 1000
    """SGD steps an epoch"""
    batch: PositiveInt = 16
    """points a step, drawn with replacement"""
    lr: PositiveFloat = 0.01
    """learning rate"""
    n_train: PositiveInt = 10_000
    """training points"""
    n_held_out: Annotated[int, Ge(2)] = 10_000
    """points for correlations and loss"""
    inputs: Literal["gaussian", "uniform"] = "gaussian"
    """distribution of the points"""
    sigma: PositiveFloat = 1.5
    """standard deviation; of uniform inputs half the width"""
    fresh: bool = False
    """new training points each epoch"""
    teacher_bias: float | Literal["median"] = -0.1
    """of every teacher node, or median: active on half of the inputs"""
    fan_out: Literal["released", "exact"] = "released"
    """1/j^p up to the rows' own norms (released) or exact"""
    student_std: PositiveFloat = 0.005
    """standard deviation of the starting weights"""
    dtype: Literal["float32", "float64"] = "float32"
    """of training"""

    def units(self) -> list[Unit]:
        """Blocks shrink as students widen, so that units cost about the same and enough lanes travel together."""
        found = []
        for over in self.over:
            for seeds in blocks(self.seeds, max(2, 4 // over)):
                steps = len(seeds) * len(self.polarity) * self.epochs * self.steps
                flops = steps * step_flops(self.batch, self.d, over * self.m, self.C) + STEP * self.epochs * self.steps
                name = f"over{over}-seeds{seeds[0]}-{seeds[-1]}"
                found.append(Unit(name, {"over": over, "seeds": seeds}, steps, flops))
        return found

    def task(self, seeds: tuple[int, ...]) -> Task:
        """The task of every (seed, polarity), seed by seed."""
        lanes = [seed for seed in seeds for _ in self.polarity]
        inputs = Gaussian(self.d, self.sigma) if self.inputs == "gaussian" else Uniform(self.d, self.sigma)
        teachers = teacher(
            (self.d, self.m, self.C),
            seeds=lanes,
            polarity=[*self.polarity] * len(seeds),
            bias=self.teacher_bias,
            fan_out=self.fan_out,
            inputs=inputs,
            root=self.root,
        )
        return Task(
            teachers, inputs, seeds=lanes, n_train=self.n_train, n_held_out=self.n_held_out, fresh=self.fresh,
            root=self.root, dtype=getattr(torch, self.dtype),
        )  # fmt: skip

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        over, seeds = unit.values["over"], unit.values["seeds"]
        task = self.task(seeds)
        student = small_normal(
            (self.d, over * self.m, self.C), task.seeds, std=self.student_std, root=self.root, dtype=task.dtype
        )
        look = Observer(task.teacher, task.held_out())
        data = sgd(
            student, task, epochs=self.epochs, steps=self.steps, batch=self.batch, lr=self.lr, tick=tick,
            probes=[Probe(self.looks(), lambda net: self.read(look(net)))],
        )  # fmt: skip
        for name, (dims, values) in self.after(student, task, over).items():
            data[name] = (dims, values.numpy())
        data["strength"] = (("lane", "node"), task.teacher.W[1].data.norm(dim=-1).numpy())
        data = data.assign_coords(
            {dim: range(1, n + 1) for dim, n in data.sizes.items() if dim not in ("epoch", "lane")}
        )
        data = unstacked(data, seed=list(task.seeds), polarity=[*map(float, self.polarity)] * len(seeds))
        return data.assign_coords(over=over).expand_dims("over")

    def claims(self, result: xr.Dataset) -> list[Claim]:
        """A seed with a network that diverged has no value: its correlations would pass for un-specialized students."""
        lost = ~np.isfinite(result.loss.sel(epoch=self.epochs)).all(("over", "polarity")).values
        return claimed(self.statements(result), lost)

    @abstractmethod
    def statements(self, result: xr.Dataset) -> list[Statement]:
        """What the paper says of this figure, in numbers."""

    @staticmethod
    def weakness(result: xr.Dataset) -> xr.DataArray:
        """The place of each teacher node by strength ‖v*_j‖: 1 the strongest, m the weakest."""
        from scipy.stats import rankdata

        node = [["node"]]
        return xr.apply_ufunc(
            rankdata, -result.strength, input_core_dims=node, output_core_dims=node, kwargs={"axis": -1}
        )

    def after(self, student: MLP, task: Task, over: int) -> Reading:
        """What is measured of the trained students alone, lane by lane."""
        return {}

    @abstractmethod
    def looks(self) -> tuple[int, ...]:
        """The epochs at which students are looked at."""

    @abstractmethod
    def read(self, seen: Observation) -> Reading:
        """What is kept of a look."""
