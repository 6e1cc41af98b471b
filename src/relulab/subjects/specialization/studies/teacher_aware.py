"""SS figure 9: training points made with knowledge of the teacher against points made without."""

from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge, Len
from matplotlib.figure import Figure
from pydantic import AfterValidator, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from relulab.data.inputs import Gaussian
from relulab.data.task import Task
from relulab.lab.claim import Claim, claim, half_width
from relulab.lab.show.figure import legend, panels
from relulab.lab.study import Study, Tick, Unit, distinct
from relulab.nets.initial import small_normal
from relulab.subjects.specialization.studies.two_layer_students import STEP, Widths
from relulab.subjects.specialization.tools.near_boundaries import NearBoundaries
from relulab.subjects.specialization.tools.nodes import lowest
from relulab.subjects.specialization.tools.observation import Observer
from relulab.subjects.specialization.tools.teacher import teacher
from relulab.train.sgd import sgd

KINDS = {"aware": "#d1495b", "agnostic": "#30638e"}
LOW = 0.01  # share of the variance that a low loss leaves unexplained
OURS = "The paper gives no number; the line is ours, drawn before the first run."


class TeacherAware(Study):
    """Points about the teacher's boundaries teach more: few of them give a far lower evaluation loss.

    Two students of a seed have the same teacher, start and batches. One trains on teacher-agnostic points N(0, σ² I),
    the other on as many teacher-aware ones, on and about the boundaries of the teacher's nodes. Both are evaluated on
    the same held-out points of N(0, σ² I), the distribution that the agnostic student knows and the aware one does not.
    """

    name: ClassVar = "teacher-aware"
    ids: ClassVar = ("SS.F9",)
    title: ClassVar = "Teacher-aware against teacher-agnostic data"
    source: ClassVar = "SS figure 9"
    remarks: ClassVar = (
        "Widths, sample sizes and points are those of the authors' sweep: of three teacher-aware points one lies on "
        "the boundary of a node and two at the same distance on its two sides, so sizes are multiples of 3 m "
        "(on_boundary=false leaves the first out). Points are projected onto a boundary at right angles; the release "
        "does so in homogeneous coordinates, which with biases of −0.1 changes lengths by some percent before all "
        "points get one norm. Evaluation is on N(0, σ² I), as in the release. Training is in float32, the release's "
        "in float64."
    )
    presets: ClassVar = {
        "smoke": {
            "d": 20, "C": 10, "over": (2,), "points": (30, 60), "seeds": 2, "epochs": 2, "steps": 100,
            "n_held_out": 500,
        },
        "quick": {"points": (30, 120, 510), "epochs": 4, "n_held_out": 5000},
    }  # fmt: skip

    d: PositiveInt = 100
    """input dimension"""
    C: PositiveInt = 50
    """outputs"""
    m: PositiveInt = 5
    """hidden nodes of the teacher"""
    over: Widths = (1, 2, 5, 10)
    """student widths, in teacher widths"""
    polarity: NonNegativeFloat = 1
    """p: strengths fall as 1/j^p"""
    points: Annotated[tuple[Annotated[int, Ge(2)], ...], Len(min_length=1), AfterValidator(distinct)] = (
        *range(30, 211, 15), 270, 330, 390, 510, 630, 810, 1110
    )  # fmt: skip
    """numbers of training points"""
    seeds: PositiveInt = 10
    """students of each kind"""
    epochs: PositiveInt = 20
    """epochs of training"""
    steps: PositiveInt = 5000
    """SGD steps an epoch"""
    batch: PositiveInt = 16
    """points a step, drawn with replacement"""
    lr: PositiveFloat = 0.01
    """learning rate"""
    n_held_out: Annotated[int, Ge(2)] = 10_000
    """points for evaluation, N(0, σ² I)"""
    sigma: PositiveFloat = 1.5
    """standard deviation of the points; teacher-aware ones have norm σ√d"""
    near: NonNegativeFloat = 2
    """least distance of a teacher-aware point from its boundary"""
    far: NonNegativeFloat = 4
    """largest distance"""
    on_boundary: bool = True
    """a third of the teacher-aware points lies on the boundary"""
    teacher_bias: float = -0.1
    """of every teacher node"""
    student_std: PositiveFloat = 0.005
    """standard deviation of the starting weights"""
    dtype: Literal["float32", "float64"] = "float32"
    """of training"""

    @model_validator(mode="after")
    def _ordered(self):
        if self.near > self.far:
            raise ValueError(f"near = {self.near:g} lies beyond far = {self.far:g}")
        return self

    def units(self) -> list[Unit]:
        steps = 2 * self.seeds * self.epochs * self.steps
        return [
            Unit(
                f"over{over}-points{N}",
                {"over": over, "N": N},
                steps,
                steps * 2 * self.batch * over * self.m * (2 * self.d + 3 * self.C) + STEP * self.epochs * self.steps,
            )
            for over in self.over
            for N in self.points
        ]

    def task(self, N: int) -> Task:
        """Lanes are seed by seed, the two kinds of points side by side."""
        seeds = [seed for seed in range(self.seeds) for _ in KINDS]
        star = teacher(
            (self.d, self.m, self.C), seeds=seeds, polarity=self.polarity, bias=self.teacher_bias, root=self.root
        )
        plain = Gaussian(self.d, self.sigma)
        inputs = [
            NearBoundaries(lowest(star, i), self.sigma, self.near, self.far, self.on_boundary)
            if kind == "aware" else plain
            for i, kind in enumerate([*KINDS] * self.seeds)
        ]  # fmt: skip
        return Task(
            star, inputs, held_out_inputs=plain, seeds=seeds, n_train=N, n_held_out=self.n_held_out, root=self.root,
            dtype=getattr(torch, self.dtype),
        )  # fmt: skip

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        over, N = unit.values["over"], unit.values["N"]
        task = self.task(N)
        student = small_normal(
            (self.d, over * self.m, self.C), task.seeds, std=self.student_std, root=self.root, dtype=task.dtype
        )
        sgd(student, task, epochs=self.epochs, steps=self.steps, batch=self.batch, lr=self.lr, tick=tick)
        variables = {}
        for name, points in (("train", task.train()), ("evaluation", task.held_out())):
            seen = Observer(task.teacher, points)(student)
            variance = points.Y.double().var(1, correction=0).mean(-1)
            variables |= {name: ("lane", seen.loss.numpy()), f"{name}_variance": ("lane", variance.numpy())}
        variables["best"] = (("lane", "node"), seen.rho.amax(-1).numpy())  # on the held-out points, the last seen
        lane = {"seed": ("lane", list(task.seeds)), "data": ("lane", [*KINDS] * self.seeds)}
        data = xr.Dataset(variables, coords={"node": range(1, self.m + 1)} | lane)
        data = data.set_index(lane=("seed", "data")).unstack("lane")
        return data.assign_coords(over=over, points=N).expand_dims(("over", "points"))

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        # a single width needs room for the title
        figure, axes = panels(2, len(self.over), width=max(2.3, 5 / len(self.over)), sharex=True, sharey="row")
        ticks = _apart(self.points)
        for row, name in zip(axes, ("evaluation", "train"), strict=True):
            mean, half = interval(np.log10(result[name].sortby("points")))
            for ax, over in zip(row, self.over, strict=True):
                for kind, colour in KINDS.items():
                    y, e = (a.sel(over=over, data=kind) for a in (mean, half))
                    ax.plot(y.points, y, ".-", ms=4, color=colour, label=f"teacher-{kind}")
                    ax.fill_between(y.points, y - e, y + e, color=colour, alpha=0.2, lw=0)
                ax.set(xscale="log", xticks=ticks, xticklabels=ticks)
                ax.tick_params("x", which="minor", bottom=False, labelbottom=False)
            row[0].set_ylabel(f"log₁₀ {name} loss")
        for over, top, bottom in zip(self.over, *axes, strict=True):
            top.set_title(f"{over}×")
            bottom.set_xlabel("training points")
        figure.suptitle(f"Mean and 95 % interval over {self.seeds} seeds; evaluation on N(0, σ² I)", fontsize=9)
        legend(figure, axes[0, 0])
        return {"losses": figure}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        least = min(self.points)
        log = np.log10(result.evaluation).mean("over", skipna=False)
        gap = log.sel(data="aware") - log.sel(data="agnostic")
        share = {name: (result[name] / result[f"{name}_variance"]).mean("over", skipna=False)
                 for name in ("train", "evaluation")}  # fmt: skip
        over_fit = (share["evaluation"] - share["train"]).sel(points=least)
        left = {kind: float(share["evaluation"].sel(data=kind, points=least).mean()) for kind in KINDS}
        widths = "mean over widths" if len(self.over) > 1 else f"{self.over[0]}× students"
        return [
            claim(
                "SS.F9.few",
                "With few samples teacher-aware data give a lower evaluation loss: log₁₀ loss of teacher-aware less "
                f"of teacher-agnostic students of the same seed at {least} points, {widths}",
                gap.sel(points=least).values,
                "<",
                0,
                note=_intervals(log.sel(points=least)),
            ),
            claim(
                "SS.F9.sizes",
                f"So it is over all sample sizes: the same difference, mean over {min(self.points)} to "
                f"{max(self.points)} points, {widths}",
                gap.mean("points", skipna=False).values,
                "<",
                0,
                note=self._by_size(gap),
            ),
            *(
                claim(
                    f"SS.F9.train-{kind}",
                    f"Training loss is low on teacher-{kind} data: share of the outputs' variance on the training "
                    f"points that is left unexplained, mean over sizes, {widths}",
                    share["train"].sel(data=kind).mean("points", skipna=False).values,
                    "<",
                    LOW,
                    note=OURS,
                    within=(0, np.inf),
                )
                for kind in KINDS
            ),
            claim(
                "SS.F9.no-overfit",
                "Teacher-aware students overfit less with few samples: share of the variance left unexplained on "
                f"evaluation points less on training points, aware less agnostic, at {least} points, {widths}",
                (over_fit.sel(data="aware") - over_fit.sel(data="agnostic")).values,
                "<",
                0,
                note=f"On evaluation points {left['aware']:.1%} of the variance is left teacher-aware, "
                f"{left['agnostic']:.1%} agnostic.",
            ),
        ]

    def _by_size(self, gap: xr.DataArray) -> str:
        """Where the whole interval of the difference lies above 0, for a mean over sizes may hide it."""
        mean, half = interval(gap)
        worse = [str(N) for N in sorted(self.points) if float((mean - half).sel(points=N)) > 0]
        return f"Teacher-agnostic students have the lower loss at {', '.join(worse)} points." if worse else ""


def interval(values: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """Mean over seeds and half the width of its 95 % Student interval."""
    n = values.sizes["seed"]
    mean = values.mean("seed", skipna=False)
    return mean, values.std("seed", ddof=1, skipna=False) * half_width(n) if n > 1 else mean * np.nan


def _intervals(log: xr.DataArray) -> str:
    """Both intervals in words, and whether they overlap."""
    mean, half = interval(log)
    low, high = mean - half, mean + half
    said = [f"{float(mean.sel(data=k)):.2f} [{float(low.sel(data=k)):.2f}, {float(high.sel(data=k)):.2f}] teacher-{k}"
            for k in KINDS]  # fmt: skip
    apart = float(low.max()) > float(high.min())
    return f"log₁₀ evaluation loss is {' and '.join(said)}: the intervals {'do not ' if apart else ''}overlap."


def _apart(points: tuple[int, ...]) -> list[int]:
    """Those of the sizes whose labels have room on a logarithmic axis."""
    kept: list[int] = []
    for size in sorted(points):
        if not kept or size / kept[-1] >= 2:
            kept.append(size)
    return kept


STUDY = TeacherAware
