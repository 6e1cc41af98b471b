"""SS figure 3 with S0 figure 2: two teacher nodes and six students as lines in the plane, moving while they train."""

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
from relulab.lab.show.animation import Animation
from relulab.lab.study import Study, Tick, Unit, blocks
from relulab.nets.initial import small_normal
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.studies.plane.claims import statements
from relulab.subjects.specialization.studies.plane.drawing import frames, lines, students
from relulab.subjects.specialization.studies.plane.measures import hidden, share
from relulab.subjects.specialization.studies.statements import claimed
from relulab.subjects.specialization.studies.two_layer_students import STEP, step_flops
from relulab.subjects.specialization.tools.nodes import Nodes
from relulab.subjects.specialization.tools.teacher import teacher
from relulab.train.probe import Probe, Reading
from relulab.train.sgd import sgd

BLOCK = 10  # steps between two possible looks
LOOKS = 100  # before those that fall on one block are joined
MOMENTS = (0, 2, 10)  # epochs that the paper shows, beside the last


class Plane(Study):
    """Where do the boundaries of students go, and what becomes of those that find no teacher node?

    With inputs in the plane a node is the line w̃ᵀx + b = 0. Two teacher nodes stand still (solid), six students
    (dashed) move. Some come to lie on a teacher's line; the fan-out ‖v_k‖ of the others should go to zero (SS
    theorem 2).
    """

    name: ClassVar = "plane"
    ids: ClassVar = ("SS.F3", "S0.F2")
    title: ClassVar = "Two teachers and six students in the plane"
    source: ClassVar = "SS figure 3; S0 figure 2"
    remarks: ClassVar = (
        "The papers print no setup. Their legend at iteration 0 has ‖v_k‖ from 0.03 to 0.04, as 50 outputs with "
        "weights N(0, 0.005²) have, which is the start of their other two-layer runs; so teacher, inputs, rate and "
        "batch are those too, and an iteration is taken as an epoch of 1,000 steps. At the end their un-aligned "
        "students have 0.01 and 0.00, less than at the start. Gradient flow keeps ‖v_k‖² − ‖w̃_k‖² − b_k², so that "
        "cannot be with small hidden weights (start=small); start=regular gives these norm one, as SS definition 1 "
        "has them. Six students cannot be 50 independent observers, which theorem 2 asks for: C=4 makes that possible."
    )
    presets: ClassVar = {
        "smoke": {"C": 10, "seeds": 2, "epochs": 2, "steps": 100, "n_train": 500, "n_held_out": 500},
        "quick": {"seeds": 16},
    }

    C: PositiveInt = 50
    """outputs"""
    m: PositiveInt = 2
    """hidden nodes of the teacher"""
    n: PositiveInt = 6
    """hidden nodes of the student"""
    seeds: PositiveInt = 32
    """pairs of teacher and student"""
    epochs: PositiveInt = 30
    """epochs of training"""
    steps: PositiveInt = 1000
    """SGD steps an epoch"""
    batch: PositiveInt = 16
    """points a step, drawn with replacement"""
    lr: PositiveFloat = 0.01
    """learning rate"""
    n_train: PositiveInt = 10_000
    """training points"""
    n_held_out: Annotated[int, Ge(2)] = 2000
    """points for the loss and for shares of variance"""
    sigma: PositiveFloat = 1.5
    """standard deviation of the inputs"""
    teacher_bias: float = -0.1
    """of every teacher node: minus the distance of its line from the origin"""
    start: Literal["regular", "small"] = "regular"
    """hidden weights at the start: of norm one, or as small as the rest"""
    student_std: PositiveFloat = 0.005
    """standard deviation of the starting weights"""
    tolerance: PositiveFloat = 0.1
    """alignment error up to which a student counts as aligned"""

    def units(self) -> list[Unit]:
        found = []
        for seeds in blocks(self.seeds, 8):
            steps = self.epochs * self.steps
            flops = steps * (STEP + len(seeds) * step_flops(self.batch, 2, self.n, self.C))
            found.append(Unit(f"seeds{seeds[0]}-{seeds[-1]}", {"seeds": seeds}, len(seeds) * steps, flops))
        return found

    def task(self, seeds: tuple[int, ...]) -> Task:
        star = teacher((2, self.m, self.C), seeds=seeds, bias=self.teacher_bias, root=self.root)
        sizes = {"n_train": self.n_train, "n_held_out": self.n_held_out}
        return Task(star, Gaussian(2, self.sigma), seeds=seeds, root=self.root, **sizes)

    def student(self, seeds: tuple[int, ...]) -> MLP:
        net = small_normal((2, self.n, self.C), seeds, std=self.student_std, root=self.root)
        if self.start == "regular":
            net.W[0].data /= net.W[0].data.norm(dim=1, keepdim=True)
        return net

    def looks(self) -> tuple[int, ...]:
        """The blocks of steps after which lines are recorded: ever longer waits, and the paper's moments."""
        last, epoch = self.epochs * self.steps // self.block, self.steps // self.block
        waits = np.geomspace(1, last, LOOKS).round().astype(int)
        return tuple(sorted({0, *waits.tolist(), *(e * epoch for e in MOMENTS if e < self.epochs)}))

    @property
    def block(self) -> int:
        """Steps between two possible looks; it divides an epoch."""
        return math.gcd(self.steps, BLOCK)

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        seeds = unit.values["seeds"]
        task, student = self.task(seeds), self.student(seeds)
        star, held_out = hidden(task.teacher), task.held_out()
        data = sgd(
            student, task, epochs=self.epochs * self.steps // self.block, steps=self.block, batch=self.batch,
            lr=self.lr, tick=tick, probes=[Probe(self.looks(), lambda net: self.read(net, star, held_out))],
        )  # fmt: skip
        data["w_star"] = (("lane", "node", "axis"), star.w.numpy())
        data["b_star"] = (("lane", "node"), star.b.numpy())
        data = data.assign_coords(epoch=data.epoch * self.block).rename(epoch="step", lane="seed")
        names = {"seed": list(seeds), "student": range(1, self.n + 1), "node": range(1, self.m + 1), "axis": [1, 2]}
        return data.assign_coords(names)

    @torch.no_grad()
    def read(self, net: MLP, star: Nodes, points: Points) -> Reading:
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

    def claims(self, result: xr.Dataset) -> list[Claim]:
        """A seed whose training diverged has no value."""
        lost = ~np.isfinite(result.loss.isel(step=-1).values)
        return claimed(statements(result, self.tolerance), lost)


STUDY = Plane
