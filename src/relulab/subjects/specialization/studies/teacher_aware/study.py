"""SS figure 9: training points chosen with knowledge of the teacher versus points chosen without."""

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge, Len
from jaxtyping import Float64
from matplotlib.figure import Figure
from pydantic import AfterValidator, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from relulab.data.inputs import Gaussian
from relulab.data.task import Task
from relulab.lab.claim import Claim
from relulab.lab.control import Control
from relulab.lab.study import Tick, Unit, distinct
from relulab.nets.initial import small_normal
from relulab.subjects.specialization.studies.leaky_students import LeakyStudents
from relulab.subjects.specialization.studies.teacher_aware.claims import KINDS, OTHER, claims
from relulab.subjects.specialization.studies.teacher_aware.drawing import losses
from relulab.subjects.specialization.studies.two_layer_students import STEP, Widths, step_flops, unstacked
from relulab.subjects.specialization.tools.near_boundaries import NearBoundaries
from relulab.subjects.specialization.tools.nodes import lowest
from relulab.subjects.specialization.tools.observation import Observer
from relulab.subjects.specialization.tools.teacher import teacher
from relulab.train.fit import fit

LANES = (*KINDS, OTHER)  # kinds of training points, in the order of lanes


class Further(Gaussian):
    """Normal inputs that are disjoint from those of ``Gaussian`` in the same seed."""

    def draw(self, rng: np.random.Generator, n: int) -> Float64[np.ndarray, "n d"]:
        return super().draw(rng, 2 * n)[n:]


class TeacherAware(LeakyStudents):
    """Do training points near the boundaries of the teacher's nodes lead to a lower evaluation loss?

    Each seed has two students with the same teacher, initial weights and batches. One trains on teacher-agnostic points
    from N(0, σ² I), the other on equally many teacher-aware points, on and near the boundaries of the teacher's nodes.
    Both are evaluated on the same held-out points from N(0, σ² I), which is the training distribution of the
    teacher-agnostic student only.
    """

    name: ClassVar = "teacher-aware"
    ids: ClassVar = ("SS.F9",)
    title: ClassVar = "Teacher-aware versus teacher-agnostic data"
    source: ClassVar = "SS figure 9"
    remarks: ClassVar = (
        "Widths, sample sizes and points are those of the authors' released code. Of every three teacher-aware points, "
        "one lies on the boundary of a node and two at the same distance on either side of it, so the sample sizes are "
        "multiples of 3m (on_boundary=false omits the points on the boundary). We project points orthogonally onto the "
        "boundary. The release projects in homogeneous coordinates, which with biases of −0.1 changes lengths by a few "
        "percent before all points are scaled to the same norm. Evaluation is on N(0, σ² I), as in the release. "
        "Training is in float32 instead of float64."
    )
    symbols: ClassVar = {
        "σ": "standard deviation of the inputs", "m": "number of hidden nodes of the teacher", "d": "number of inputs",
    }  # fmt: skip
    presets: ClassVar = {
        "smoke": {
            "d": 20, "C": 10, "over": (2,), "points": (30, 60), "seeds": 2, "epochs": 2, "steps": 100,
            "n_held_out": 500,
        },
        "quick": {"points": (30, 120, 510), "epochs": 4, "n_held_out": 5000},
    }  # fmt: skip
    captions: ClassVar = {
        "losses": "Evaluation loss on Gaussian points (top) and training loss (bottom) versus the number of training "
        "points, one column per student width, with teacher-aware (orange-red, dashed, squares) and teacher-agnostic "
        "(blue, solid, circles) training points. Lines are means over the seeds, shaded areas 95% intervals. With few "
        "points, teacher-aware data lead to a much lower evaluation loss. Answers figure 9 of SS."
    }
    version: ClassVar = 2  # 2: other teacher-agnostic points, and losses before training, for controls

    d: PositiveInt = 100
    """input dimension"""
    C: PositiveInt = 50
    """number of outputs"""
    m: PositiveInt = 5
    """number of hidden nodes of the teacher"""
    over: Widths = (1, 2, 5, 10)
    """student widths, as multiples of the teacher width"""
    polarity: NonNegativeFloat = 1
    """polarity p: the strength of teacher node j is proportional to 1/j^p"""
    points: Annotated[tuple[Annotated[int, Ge(2)], ...], Len(min_length=1), AfterValidator(distinct)] = (
        *range(30, 211, 15), 270, 330, 390, 510, 630, 810, 1110
    )  # fmt: skip
    """numbers of training points"""
    seeds: PositiveInt = 10
    """number of seeds"""
    epochs: PositiveInt = 20
    """number of training epochs"""
    steps: PositiveInt = 5000
    """SGD steps per epoch"""
    batch: PositiveInt = 16
    """points per step, drawn with replacement"""
    n_held_out: Annotated[int, Ge(2)] = 10_000
    """number of evaluation points, from N(0, σ² I)"""
    sigma: PositiveFloat = 1.5
    """σ: standard deviation of teacher-agnostic points; teacher-aware points have norm σ√d"""
    near: NonNegativeFloat = 2
    """smallest distance of teacher-aware points from the boundary"""
    far: NonNegativeFloat = 4
    """largest distance of teacher-aware points from the boundary"""
    on_boundary: bool = True
    """put a third of the teacher-aware points on the boundary"""
    teacher_bias: float = -0.1
    """bias of every teacher node"""
    student_std: PositiveFloat = 0.005
    """standard deviation of the initial weights"""
    dtype: Literal["float32", "float64"] = "float32"
    """floating-point type of training"""

    @model_validator(mode="after")
    def _ordered(self):
        if self.near > self.far:
            raise ValueError(f"near = {self.near:g} is larger than far = {self.far:g}: choose near ≤ far")
        return self

    def units(self) -> list[Unit]:
        steps = len(LANES) * self.seeds * self.epochs * self.steps
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
        """The learning task with N training points; lanes are ordered by seed, then by the kind of points."""
        seeds = [seed for seed in range(self.seeds) for _ in LANES]
        star = teacher(
            (self.d, self.m, self.C), seeds=seeds, polarity=self.polarity, bias=self.teacher_bias, root=self.root,
            slope=self.slope_of_teachers,
        )  # fmt: skip
        plain = Gaussian(self.d, self.sigma)
        agnostic = {"agnostic": plain, OTHER: Further(self.d, self.sigma)}
        inputs = [
            agnostic[kind] if kind in agnostic
            else NearBoundaries(lowest(star, i), self.sigma, self.near, self.far, self.on_boundary)
            for i, kind in enumerate([*LANES] * self.seeds)
        ]  # fmt: skip
        return Task(
            star, inputs, held_out_inputs=plain, seeds=seeds, n_train=N, n_held_out=self.n_held_out, root=self.root,
            dtype=getattr(torch, self.dtype),
        )  # fmt: skip

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        over, N = unit.values["over"], unit.values["N"]
        task = self.task(N)
        student = small_normal(
            (self.d, over * self.m, self.C), task.seeds, std=self.student_std, root=self.root, slope=self.slope,
            dtype=task.dtype,
        )  # fmt: skip
        untrained = Observer(task.teacher, task.train())(student).loss
        course = fit(
            student, task, epochs=self.epochs, steps=self.steps, batch=self.batch, tick=tick, **self.training()
        )
        variables: dict[str, Any] = {
            "diverged_at": ("lane", course.diverged_at.values), "train_before": ("lane", untrained.numpy()),
        }  # fmt: skip
        for name, points in (("train", task.train()), ("evaluation", task.held_out())):
            snapshot = Observer(task.teacher, points)(student)
            variance = points.Y.double().var(1, correction=0).mean(-1)
            variables |= {name: ("lane", snapshot.loss.numpy()), f"{name}_variance": ("lane", variance.numpy())}
        variables["best"] = (("lane", "node"), snapshot.rho.amax(-1).numpy())  # of the held-out points, which come last
        data = xr.Dataset(variables, coords={"node": range(1, self.m + 1)})
        data = unstacked(data, seed=list(task.seeds), data=[*LANES] * self.seeds)
        return data.assign_coords(over=over, points=N).expand_dims(("over", "points"))

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        return {"losses": losses(result, self.over)}

    def controls(self, result: xr.Dataset) -> list[Control]:
        alike = result.sel(data=[OTHER, "agnostic"]).assign_coords(data=list(KINDS))
        return [
            Control("students before training", ("SS.F9.train-*",), result.assign(train=result.train_before)),
            Control("other teacher-agnostic data in the place of teacher-aware data", ("SS.F9.*",), alike),
        ]

    def claims(self, result: xr.Dataset) -> list[Claim]:
        return claims(result)


STUDY = TeacherAware
