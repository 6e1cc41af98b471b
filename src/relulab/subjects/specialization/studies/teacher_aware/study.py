"""SS figure 9: training points made with knowledge of the teacher against points made without."""

from typing import Annotated, ClassVar, Literal

import torch
import xarray as xr
from annotated_types import Ge, Len
from matplotlib.figure import Figure
from pydantic import AfterValidator, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from relulab.data.inputs import Gaussian
from relulab.data.task import Task
from relulab.lab.claim import Claim
from relulab.lab.study import Study, Tick, Unit, distinct
from relulab.nets.initial import small_normal
from relulab.subjects.specialization.studies.teacher_aware.claims import KINDS, claims
from relulab.subjects.specialization.studies.teacher_aware.drawing import losses
from relulab.subjects.specialization.studies.two_layer_students import STEP, Widths, step_flops, unstacked
from relulab.subjects.specialization.tools.near_boundaries import NearBoundaries
from relulab.subjects.specialization.tools.nodes import lowest
from relulab.subjects.specialization.tools.observation import Observer
from relulab.subjects.specialization.tools.teacher import teacher
from relulab.train.sgd import sgd


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
                steps * step_flops(self.batch, self.d, over * self.m, self.C) + STEP * self.epochs * self.steps,
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
        data = xr.Dataset(variables, coords={"node": range(1, self.m + 1)})
        data = unstacked(data, seed=list(task.seeds), data=[*KINDS] * self.seeds)
        return data.assign_coords(over=over, points=N).expand_dims(("over", "points"))

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        return {"losses": losses(result, self.over)}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        return claims(result)


STUDY = TeacherAware
