"""The common setup of the two-layer studies: teachers, over-realized students, seeds × polarities as lanes."""

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
from relulab.lab.study import Tick, Unit, blocks, distinct
from relulab.nets.initial import small_normal
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.studies.leaky_students import LeakyStudents
from relulab.subjects.specialization.studies.statements import Statement, claimed
from relulab.subjects.specialization.tools.observation import Observation, Observer
from relulab.subjects.specialization.tools.teacher import teacher
from relulab.train.fit import fit
from relulab.train.probe import Probe, Reading

Widths = Annotated[tuple[PositiveInt, ...], Len(min_length=1), AfterValidator(distinct)]
Polarities = Annotated[tuple[NonNegativeFloat, ...], Len(min_length=1), AfterValidator(distinct)]
Correlation = Annotated[float, Gt(0), Lt(1)]
SMOKE = {
    "d": 20, "C": 10, "m": 4, "over": (1, 5), "polarity": (1.0,), "seeds": 2, "epochs": 3, "steps": 100,
    "n_train": 500, "n_held_out": 500,
}  # fmt: skip
STEP = 2.5e6  # overhead of a training step of all lanes, in flops that could be done in that time


def step_flops(batch: int, d: int, n: int, C: int) -> float:
    """Return the flops of one SGD step of a two-layer student.

    Per point, the forward pass has d n + n C multiply-adds; the backward pass has n C for the gates and n C + d n for
    the weights.

    Args:
        batch: Points per step.
        d: Number of inputs.
        n: Number of hidden nodes.
        C: Number of outputs.
    """
    return 2.0 * batch * n * (2 * d + 3 * C)


def unstacked(measured: xr.Dataset, /, **lanes: list) -> xr.Dataset:
    """Split the dimension "lane" of a dataset into several dimensions.

    Args:
        measured: The dataset, with the dimension "lane".
        lanes: For each new dimension its value in every lane; the first dimension varies slowest.
    """
    labeled = measured.assign_coords({name: ("lane", values) for name, values in lanes.items()})
    return labeled.set_index(lane=tuple(lanes)).unstack("lane")


def recovered_nodes(result: xr.Dataset, threshold: float) -> xr.DataArray:
    """Return whether each teacher node is recovered, 0 or 1; NaN where training diverged.

    Args:
        result: The result of a study, with the best correlations as "best".
        threshold: Correlation above which a node counts as recovered.
    """
    return (result.best > threshold).astype(float).where(result.best.notnull())


def end_loss(result: xr.Dataset, epochs: int) -> dict[str, xr.DataArray]:
    """Return the evaluation loss of every seed after training, with its name, for comparisons of settings.

    Args:
        result: The result of a study.
        epochs: Number of epochs.
    """
    loss = xr.apply_ufunc(np.log10, result.loss.sel(epoch=epochs)).mean(("over", "polarity"), skipna=False)
    return {f"log₁₀ evaluation loss after {epochs} epochs": loss.drop_vars("epoch")}


class TwoLayer(LeakyStudents):
    """Base class of the two-layer studies: students of several widths learn from teachers of several polarities.

    A unit is one student width with a block of seeds. All polarities of a seed share data, initial weights and batches.
    """

    symbols: ClassVar[dict[str, str]] = {"σ": "standard deviation of the inputs"}
    remarks: ClassVar[str] = (
        "The setup is that of the authors' released code. It differs from the printed text, which has σ = 10 with "
        "learning rate 0.01: that diverges (sigma=10 trains with lr=0.001). In print, teacher nodes are active on "
        "about half of the inputs (teacher_bias=median makes it exactly half), and their strengths follow 1/j^p "
        "exactly (fan_out=exact). Two things differ from the release: training is in float32 instead of float64, and "
        "correlations are computed on held-out points, whereas the release computes figure 5 on training points."
    )

    d: PositiveInt = 100
    """input dimension"""
    C: PositiveInt = 50
    """number of outputs"""
    m: PositiveInt = 20
    """number of hidden nodes of the teacher"""
    over: Widths = (1, 2, 5, 10)
    """student widths, as multiples of the teacher width"""
    polarity: Polarities = (0, 0.5, 1, 1.5, 2, 2.5)
    """polarity p: the strength of teacher node j is proportional to 1/j^p"""
    seeds: PositiveInt = 32
    """number of seeds: networks of each width and polarity"""
    epochs: PositiveInt = 100
    """number of training epochs"""
    steps: PositiveInt = 1000
    """SGD steps per epoch"""
    batch: PositiveInt = 16
    """points per step, drawn with replacement"""
    n_train: PositiveInt = 10_000
    """number of training points"""
    n_held_out: Annotated[int, Ge(2)] = 10_000
    """number of held-out points, for correlations and loss"""
    inputs: Literal["gaussian", "uniform"] = "gaussian"
    """distribution of the inputs"""
    sigma: PositiveFloat = 1.5
    """standard deviation of Gaussian inputs, or half the width of uniform inputs"""
    fresh: bool = False
    """draw new training points every epoch"""
    teacher_bias: float | Literal["median"] = -0.1
    """bias of every teacher node; 'median' makes each node active on half of the inputs"""
    fan_out: Literal["released", "exact"] = "released"
    """strengths of teacher nodes: random row norms divided by j^p (released), or exactly 1/j^p (exact)"""
    student_std: PositiveFloat = 0.005
    """standard deviation of the initial weights"""
    dtype: Literal["float32", "float64"] = "float32"
    """floating-point type of training"""

    def units(self) -> list[Unit]:
        # Fewer seeds per unit for wider students, so that units cost about the same.
        units = []
        for over in self.over:
            for seeds in blocks(self.seeds, max(2, 4 // over)):
                steps = len(seeds) * len(self.polarity) * self.epochs * self.steps
                flops = steps * step_flops(self.batch, self.d, over * self.m, self.C) + STEP * self.epochs * self.steps
                name = f"over{over}-seeds{seeds[0]}-{seeds[-1]}"
                units.append(Unit(name, {"over": over, "seeds": seeds}, steps, flops))
        return units

    def task(self, seeds: tuple[int, ...]) -> Task:
        """The learning task, with one lane per seed and polarity, ordered by seed."""
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
            slope=self.slope_of_teachers,
        )
        return Task(
            teachers, inputs, seeds=lanes, n_train=self.n_train, n_held_out=self.n_held_out, fresh=self.fresh,
            root=self.root, dtype=getattr(torch, self.dtype),
        )  # fmt: skip

    def students(self, task: Task, over: int) -> MLP:
        """The students of a width before training, one lane per lane of the task."""
        return small_normal(
            (self.d, over * self.m, self.C), task.seeds, std=self.student_std, root=self.root, slope=self.slope,
            dtype=task.dtype,
        )  # fmt: skip

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        over, seeds = unit.values["over"], unit.values["seeds"]
        task = self.task(seeds)
        student = self.students(task, over)
        data = self.train(unit, student, task, Observer(task.teacher, task.held_out()), tick)
        for name, (dims, values) in self.after(student, task, over).items():
            data[name] = (dims, values.numpy())
        data["strength"] = (("lane", "node"), task.teacher.W[1].data.norm(dim=-1).numpy())
        data = data.assign_coords(
            {dim: range(1, n + 1) for dim, n in data.sizes.items() if dim not in ("epoch", "lane")}
        )
        data = unstacked(data, seed=list(task.seeds), polarity=[*map(float, self.polarity)] * len(seeds))
        return data.assign_coords(over=over).expand_dims("over")

    def train(self, unit: Unit, student: MLP, task: Task, observe: Observer, tick: Tick) -> xr.Dataset:
        """Train the students of a unit, and return what is stored of them along "epoch" and "lane"."""
        return fit(
            student, task, epochs=self.epochs, steps=self.steps, batch=self.batch, tick=tick, **self.training(),
            probes=[Probe(self.looks(), lambda net: self.read(observe(net)))],
        )  # fmt: skip

    def claims(self, result: xr.Dataset) -> list[Claim]:
        # A seed with a diverged network has no value: its students would look un-specialized.
        finite = np.isfinite(result.loss.sel(epoch=self.epochs))
        lost = ~finite.all([dim for dim in finite.dims if dim != "seed"]).values
        return claimed(self.statements(result), lost)

    @abstractmethod
    def statements(self, result: xr.Dataset) -> list[Statement]:
        """Return the paper's statements about this figure, as numbers."""

    @staticmethod
    def weakness(result: xr.Dataset) -> xr.DataArray:
        """Rank teacher nodes by strength ‖v*_j‖: 1 is the strongest, m the weakest."""
        from scipy.stats import rankdata

        node = [["node"]]
        return xr.apply_ufunc(
            rankdata, -result.strength, input_core_dims=node, output_core_dims=node, kwargs={"axis": -1}
        )

    def after(self, student: MLP, task: Task, over: int) -> Reading:
        """Measure the trained students, lane by lane; nothing by default."""
        return {}

    @abstractmethod
    def looks(self) -> tuple[int, ...]:
        """Return the epochs at which students are measured."""

    @abstractmethod
    def read(self, snapshot: Observation) -> Reading:
        """Select what is stored of a measurement."""
