"""T5 figures 5.1 and 5.2: angle distributions of three tasks, and points in the plane with and without a margin."""

import math
from typing import Annotated, ClassVar

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge
from matplotlib.figure import Figure
from pydantic import PositiveInt

from relulab.core.seeds import Role, stream
from relulab.lab.claim import Claim, claim
from relulab.lab.control import Control
from relulab.lab.study import Study, Tick, Unit
from relulab.subjects.distillation.instruments.angles import angle, signed_angle
from relulab.subjects.distillation.instruments.risk import angular_risk
from relulab.subjects.distillation.studies.angle_distributions.drawing import distributions, planes
from relulab.subjects.distillation.terms import ANGLES, DEGREE
from relulab.subjects.distillation.tools.angle_laws import RIGHT, Angular, PolynomialAngles
from relulab.subjects.distillation.tools.risk_curve import angular_risks

WEDGE = 1.1  # largest angle of the distributions with a margin, in radians
TASKS = {"A": PolynomialAngles(2.0), "B": PolynomialAngles(1.2, WEDGE), "C": PolynomialAngles(0.3)}
PLANES = {"margin": PolynomialAngles(1.0, WEDGE), "κ = 1": PolynomialAngles(1.0), "κ = 2": PolynomialAngles(2.0)}
THETA = np.linspace(0, RIGHT, 46)
CHANCE = 0.01  # probability with which sampled angles are farther from their distribution than the allowance


class AngleDistributions(Study):
    """How is p(θ) related to the shape of the data, and do students learn slowly where it falls slowly?

    Task A has inputs that are well aligned with the teacher, task B also has an angular margin, and the inputs of task
    C lie near the decision boundary. For each task, p(θ) is counted on a sample, and students are trained on a few
    points. Points in the plane show one distribution with a margin and two polynomial ones.
    """

    name: ClassVar = "angle-distributions"
    ids: ClassVar = ("T5.F1", "T5.F2")
    title: ClassVar = "Angle distributions of transfer tasks"
    source: ClassVar = "T5 section 5.3.2, figures 5.1 and 5.2"
    remarks: ClassVar = (
        "Both printed figures are sketches without numbers. Here task A has the degree κ = 2, task B the degree 1.2 "
        "below a largest angle of 1.1, and task C the degree 0.3. The printed figure 5.1 shows no risk; the text says "
        "that a task is easier the faster p(θ) falls, and that is measured. The samples are compared with their "
        "distributions as checks of the code."
    )
    symbols: ClassVar = {**ANGLES, **DEGREE, "w*": "the teacher", "C": "name of the third task",
                          "θ": "angle between an input and the teacher"}  # fmt: skip
    presets: ClassVar = {
        "smoke": {"seeds": 5, "d": 20, "points": 300, "sets": 10},
        "quick": {"seeds": 10, "sets": 40},
    }
    captions: ClassVar = {
        "distributions": "Left: share p(θ) of inputs that have at least the angle θ to the teacher, against θ, for "
        "three tasks. Lines are exact; symbols are counted on samples. In task A, p(θ) falls quickly; in task B it "
        "reaches 0 before "
        "90°; in task C it falls slowly. Right: mean transfer risk of students of each task, one symbol per seed; "
        "smaller risks are drawn at 1e-12. Answers figure 5.1 of T5.",
        "planes": "Points in the plane, circles where the teacher answers 1 and triangles where it answers 0. The "
        "arrow is the teacher w*, the gray line its decision boundary. Left: a distribution with an angular margin, an "
        "empty wedge around the boundary. Center and right: polynomial distributions of degree κ = 1, where all angles "
        "are equally likely, and κ = 2, with few points near the boundary. Answers figure 5.2 of T5.",
    }

    d: Annotated[int, Ge(3)] = 100
    """input dimension of the three tasks"""
    n: PositiveInt = 5
    """points per transfer set"""
    points: Annotated[int, Ge(10)] = 2000
    """sampled inputs per task and seed"""
    drawn: Annotated[int, Ge(2)] = 250
    """points in the plane per distribution and seed"""
    seeds: PositiveInt = 20
    """number of seeds"""
    sets: Annotated[int, Ge(2)] = 100
    """transfer sets per task and seed"""

    def units(self) -> list[Unit]:
        flops = len(TASKS) * (self.points * self.d + self.sets * (40.0 * self.d * self.n**2 + 1e6))
        return [Unit(f"seed{seed}", {"seed": seed}, len(TASKS), flops) for seed in range(self.seeds)]

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        seed = unit.values["seed"]
        share, exact, risk, untrained, apart = [], [], [], [], []
        for i, law in enumerate(TASKS.values()):
            task = Angular(self.d, law)
            angles = _angles(task, stream(self.root, Role.HELD_OUT, seed, i), self.points)
            share.append([(angles >= theta).mean() for theta in THETA])
            exact.append(law.p(THETA))
            apart.append(distance(angles, law))
            risk.append(angular_risks(task, [self.n], self.sets, stream(self.root, Role.TRAIN, seed, i)).mean())
            g = torch.from_numpy(stream(self.root, Role.STUDENT, seed, i).standard_normal((self.sets, self.d)))
            untrained.append(float(angular_risk(signed_angle(g, torch.from_numpy(task.e1)), law, self.d).mean()))
            tick(1)
        plane = [Angular(2, law).draw(stream(self.root, Role.HELD_OUT, seed, 10 + i), self.drawn).T
                 for i, law in enumerate(PLANES.values())]  # fmt: skip
        flat = [distance(_angles(Angular(2, law), stream(self.root, Role.HELD_OUT, seed, 20 + i), self.points), law)
                for i, law in enumerate(PLANES.values())]  # fmt: skip
        by_task = {"risk": risk, "untrained": untrained, "apart": apart}
        dataset = xr.Dataset(
            {
                "share": (("task", "theta"), share), "exact": (("task", "theta"), exact),
                **{name: ("task", values) for name, values in by_task.items()},
                "plane": (("law", "axis", "point"), plane), "plane_apart": ("law", flat),
            },
            {"task": list(TASKS), "theta": THETA, "law": list(PLANES)},
        )  # fmt: skip
        return dataset.expand_dims(seed=[seed])

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        return {"distributions": distributions(result), "planes": planes(result)}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        risk = result.risk
        rows = ", ".join(f"{float(risk.sel(task=task).mean()):.3g} in task {task}" for task in TASKS)
        easier = risk.sel(task=["A", "B"]).max("task")
        allowed = math.sqrt(math.log(2 * len(TASKS) / CHANCE) / (2 * self.points))
        what = "largest difference of counted shares from the exact p(θ), divided by the allowance for chance"
        return [
            claim("T5.F1.risk", "Students learn more slowly in task C, where p(θ) falls slowly, than in tasks A and B",
                  (risk.sel(task="C") - easier).values, ">", 0, f"Mean risk: {rows}.", (-1, 1),
                  "mean transfer risk in task C minus the larger one of tasks A and B"),
            claim("T5.F1.sample", "The inputs of the three tasks have the drawn angle distributions",
                  (result.apart.max("task") / allowed).values, "<", 1, statistic=what, check=True),
            claim("T5.F2.sample", "The points in the plane have the drawn angle distributions",
                  (result.plane_apart.max("law") / allowed).values, "<", 1, statistic=what, check=True),
        ]  # fmt: skip

    def controls(self, result: xr.Dataset) -> list[Control]:
        return [Control("students with random weights", ("T5.F1.risk",), result.assign(risk=result.untrained))]


def _angles(task: Angular, rng: np.random.Generator, points: int) -> np.ndarray:
    return np.sort(angle(task.draw(rng, points), task.e1).numpy())


def distance(angles: np.ndarray, law: PolynomialAngles) -> float:
    """The largest difference between the counted shares of angles and p(θ), over all θ (Kolmogorov).

    Args:
        angles: Sampled angles in ascending order.
        law: The distribution.

    >>> round(distance(np.array([0.0, RIGHT]), PolynomialAngles()), 6)
    0.5
    """
    N, p = len(angles), law.p(angles)
    above = 1 - np.arange(N + 1) / N  # the share of angles from the i-th on
    return float(max(np.abs(p - above[:-1]).max(), np.abs(p - above[1:]).max()))


STUDY = AngleDistributions
