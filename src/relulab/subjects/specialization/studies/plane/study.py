"""SS figure 3, S0 figure 2: two teacher nodes and six students as lines in the plane during training."""

import math
from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge
from matplotlib.figure import Figure
from pydantic import PositiveFloat, PositiveInt

from relulab.data.inputs import Gaussian
from relulab.data.task import Points, Task
from relulab.lab.claim import Claim
from relulab.lab.control import Control
from relulab.lab.show.animation import Animation
from relulab.lab.study import Tick, Unit, blocks
from relulab.nets.initial import small_normal
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.studies.leaky_students import LeakyStudents
from relulab.subjects.specialization.studies.plane.claims import statements, with_another_teacher
from relulab.subjects.specialization.studies.plane.drawing import frames, lines, students
from relulab.subjects.specialization.studies.plane.measures import hidden, share
from relulab.subjects.specialization.studies.shuffled import before_training
from relulab.subjects.specialization.studies.statements import claimed
from relulab.subjects.specialization.studies.two_layer_students import STEP, step_flops
from relulab.subjects.specialization.tools.nodes import Nodes
from relulab.subjects.specialization.tools.teacher import teacher
from relulab.train.fit import fit
from relulab.train.probe import Probe, Reading

BLOCK = 10  # steps between two possible snapshots
SNAPSHOTS = 100  # number of snapshots, before those in the same block are merged
MOMENTS = (0, 2, 10)  # epochs shown in the paper, besides the last


class Plane(LeakyStudents):
    """Where do the boundaries of students move, and what happens to students that match no teacher node?

    With inputs in the plane, the boundary of a node is a line. Six students learn from a teacher with
    two nodes. Some of them end on a line of the teacher. By theorem 2 of SS, the fan-out ‖v_k‖ of the others should go
    to zero.
    """

    name: ClassVar = "plane"
    ids: ClassVar = ("SS.F3", "S0.F2")
    title: ClassVar = "Two teacher nodes and six students in the plane"
    source: ClassVar = "SS figure 3; S0 figure 2"
    remarks: ClassVar = (
        "The papers do not print the setup of this figure. The printed values of ‖v_k‖ at iteration 0 are 0.03 to "
        "0.04, which fits 50 outputs with weights N(0, 0.005²), the initialization of their other two-layer "
        "experiments. Therefore the teacher, inputs, learning rate and batch size are also those of these experiments, "
        "and an iteration is taken to be an epoch of 1,000 steps. At the end, the un-aligned students in print have "
        "‖v_k‖ of 0.01 and 0.00, less than at the start. Gradient flow conserves ‖v_k‖² − ‖w̃_k‖² − b_k², so this is "
        "impossible with small hidden weights (start=small); with start=regular they have norm one, as in SS "
        "definition 1. Theorem 2 requires as many independent observers as outputs, so 50 here, which six students "
        "cannot provide; C=4 makes it possible."
    )
    symbols: ClassVar = {
        "w̃_k": "input weights of student k", "b_k": "bias of student k",
        "C": "number of outputs",
    }  # fmt: skip
    presets: ClassVar = {
        "smoke": {"C": 10, "seeds": 2, "epochs": 2, "steps": 100, "n_train": 500, "n_held_out": 500},
        "quick": {"seeds": 16},
    }
    captions: ClassVar = {
        "frames": "Boundaries of the two teacher nodes (solid lines) and the six students (dashed lines, one color and "
        "dash pattern each) in the plane of the two inputs, at several moments of one seed. Thick lines have "
        "a large fan-out, which is given in the legends. Some students move onto the lines of the teacher. Answers "
        "figure 3 of SS and figure 2 of S0.",
        "students": "Contribution (fan-out times norm of the input weights) versus alignment error for all students of "
        "all seeds at the end of training: circles are aligned, triangles are not; the dotted line is the tolerance "
        "for being aligned. Theorem 2 of SS says that students far from every teacher node contribute nothing. Our "
        "addition to figure 3 of SS.",
        "lines": "The lines of one seed in the plane of the two inputs during training: solid lines for teacher nodes, "
        "dashed lines for students, thick ones with a large fan-out. Below: the fan-out of each student as a bar in "
        "its color, and the evaluation loss over SGD steps, with a dot for the current step. An animated version of "
        "figure 3 of SS and figure 2 of S0.",
    }

    C: PositiveInt = 50
    """number of outputs"""
    m: PositiveInt = 2
    """number of hidden nodes of the teacher"""
    n: PositiveInt = 6
    """number of hidden nodes of the student"""
    seeds: PositiveInt = 32
    """number of seeds: pairs of a teacher and a student"""
    epochs: PositiveInt = 30
    """number of training epochs"""
    steps: PositiveInt = 1000
    """SGD steps per epoch"""
    batch: PositiveInt = 16
    """points per step, drawn with replacement"""
    n_train: PositiveInt = 10_000
    """number of training points"""
    n_held_out: Annotated[int, Ge(2)] = 2000
    """number of held-out points, for the loss and shares of variance"""
    sigma: PositiveFloat = 1.5
    """standard deviation of the inputs"""
    teacher_bias: float = -0.1
    """bias of every teacher node; its absolute value is the distance of the line from the origin"""
    start: Literal["regular", "small"] = "regular"
    """initial hidden weights: of norm one (regular), or as small as the other weights (small)"""
    student_std: PositiveFloat = 0.005
    """standard deviation of the initial weights"""
    tolerance: PositiveFloat = 0.1
    """alignment error up to which a student counts as aligned"""

    def units(self) -> list[Unit]:
        units = []
        for seeds in blocks(self.seeds, 8):
            steps = self.epochs * self.steps
            flops = steps * (STEP + len(seeds) * step_flops(self.batch, 2, self.n, self.C))
            units.append(Unit(f"seeds{seeds[0]}-{seeds[-1]}", {"seeds": seeds}, len(seeds) * steps, flops))
        return units

    def task(self, seeds: tuple[int, ...]) -> Task:
        """The learning task, with one lane per seed."""
        star = teacher(
            (2, self.m, self.C), seeds=seeds, bias=self.teacher_bias, root=self.root, slope=self.slope_of_teachers
        )
        sizes = {"n_train": self.n_train, "n_held_out": self.n_held_out}
        return Task(star, Gaussian(2, self.sigma), seeds=seeds, root=self.root, **sizes)

    def student(self, seeds: tuple[int, ...]) -> MLP:
        """The students before training, one lane per seed."""
        net = small_normal((2, self.n, self.C), seeds, std=self.student_std, root=self.root, slope=self.slope)
        if self.start == "regular":
            net.W[0].data /= net.W[0].data.norm(dim=1, keepdim=True)
        return net

    def looks(self) -> tuple[int, ...]:
        """Return the blocks after which students are measured: spaced geometrically, with the paper's moments."""
        last, epoch = self.epochs * self.steps // self.block, self.steps // self.block
        spaced = np.geomspace(1, last, SNAPSHOTS).round().astype(int)
        return tuple(sorted({0, *spaced.tolist(), *(e * epoch for e in MOMENTS if e < self.epochs)}))

    @property
    def block(self) -> int:
        """Steps between two possible snapshots, a divisor of the steps per epoch."""
        return math.gcd(self.steps, BLOCK)

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        seeds = unit.values["seeds"]
        task, student = self.task(seeds), self.student(seeds)
        star, held_out = hidden(task.teacher), task.held_out()
        parts = self.steps // self.block
        data = fit(
            student, task, epochs=self.epochs * parts, steps=self.block, batch=self.batch, tick=tick,
            **self.training(parts), probes=[Probe(self.looks(), lambda net: self.read(net, star, held_out))],
        )  # fmt: skip
        data["w_star"] = (("lane", "node", "axis"), star.w.numpy())
        data["b_star"] = (("lane", "node"), star.b.numpy())
        data = data.assign_coords(epoch=data.epoch * self.block).rename(epoch="step", lane="seed")
        names = {"seed": list(seeds), "student": range(1, self.n + 1), "node": range(1, self.m + 1), "axis": [1, 2]}
        return data.assign_coords(names)

    @torch.no_grad()
    def read(self, net: MLP, star: Nodes, points: Points) -> Reading:
        """Measure the students at one moment."""
        nodes, x = hidden(net), points.X[points.group]
        error = alignment(star, nodes)
        return {
            "w": (("lane", "student", "axis"), nodes.w),
            "b": (("lane", "student"), nodes.b),
            "fan_out": (("lane", "student"), net.W[1].data.norm(dim=-1)),
            "error": (("lane", "node", "student"), error),
            "share": (("lane",), share(net, x, error.amin(1) > self.tolerance)),
            "loss": (("lane",), (net(x) - points.Y).square().mean((1, 2))),
        }

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        steps = [e * self.steps for e in (*MOMENTS, self.epochs) if e <= self.epochs]
        early = result.step.values[np.abs(result.step.values - self.steps // 4).argmin()]
        shown = sorted({*steps, int(early)})
        return {
            "frames": frames(result.isel(seed=0).sel(step=shown), self.steps),
            "students": students(result.isel(step=-1), self.tolerance),
        }

    def animations(self, result: xr.Dataset) -> dict[str, Animation]:
        return {"lines": lines(result.isel(seed=0))}

    def controls(self, result: xr.Dataset) -> list[Control]:
        return [
            Control("students before training", ("SS.F3.share",), before_training(result, "step")),
            Control("the teacher of another seed", ("SS.F3.*", "S0.F2.*"), with_another_teacher(result)),
        ]

    def claims(self, result: xr.Dataset) -> list[Claim]:
        # Seeds whose training diverged have no value.
        lost = ~np.isfinite(result.loss.isel(step=-1).values)
        return claimed(statements(result, self.tolerance), lost)


STUDY = Plane
