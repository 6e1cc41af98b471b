"""T5 theorem 5.3 and its corollaries against the measured risk, over n and on random tasks; not a figure of T5."""

from typing import Annotated, ClassVar

import numpy as np
import xarray as xr
from annotated_types import Ge, Gt, Le, Len
from matplotlib.figure import Figure
from pydantic import AfterValidator, PositiveFloat, PositiveInt

from relulab.core.seeds import Role, stream
from relulab.lab.claim import Claim, half_width
from relulab.lab.control import Control
from relulab.lab.study import Study, Tick, Unit, distinct
from relulab.subjects.distillation.studies.risk_against_bound.claims import bound_claims, rate_claims
from relulab.subjects.distillation.studies.risk_against_bound.drawing import curves, random_tasks
from relulab.subjects.distillation.terms import ANGLES, DEGREE, SIZES
from relulab.subjects.distillation.tools.angle_laws import RIGHT, Angular, PolynomialAngles
from relulab.subjects.distillation.tools.bound import margin_bound, polynomial_bound, transfer_bound
from relulab.subjects.distillation.tools.learners import Learner, less_biased
from relulab.subjects.distillation.tools.nested import nested_students
from relulab.subjects.distillation.tools.risk_curve import angular_risks

OTHER = less_biased(10.0)
"""minimizers of the loss that are not found by gradient descent, with a random part ten times as long as the rest"""
FEWER = 4  # their risks are large, so a fourth of the transfer sets is enough


class RiskAgainstBound(Study):
    """How far is the transfer risk bound above the measured risk, and does the risk fall as fast as the bound?

    The expected risk of students of 1, 2, … points is compared with the bound of theorem 5.3, its tighter form and the
    corollaries, for several polynomial angle distributions and one with a margin. The risk is computed exactly for
    every transfer set. Then the bound is tested on many random tasks: it must not lie below the lower confidence
    limit of the measured risk.
    """

    name: ClassVar = "risk-against-bound"
    ids: ClassVar = ("T5.T3.n",)
    title: ClassVar = "Transfer risk bound against measured risk"
    source: ClassVar = "T5 theorem 5.3 and corollaries 5.1 and 5.2; the figure is not in T5"
    symbols: ClassVar = {
        **SIZES, **DEGREE, **ANGLES,
        "ŵ": "the student, the teacher's weights w* projected onto the span of the points", "w*": "the teacher",
    }  # fmt: skip
    version: ClassVar = 2  # 2: risks of other minimizers, for the controls
    presets: ClassVar = {
        "smoke": {"seeds": 5, "sets": 5, "d": 20, "tasks": 5, "task_sets": 10},
        "quick": {"seeds": 10, "sets": 40},
    }
    captions: ClassVar = {
        "curves": "Expected transfer risk against the number of points n, one panel per angle distribution: three "
        "degrees κ, and one distribution with an angular margin. The line with dots is the measured risk, thin lines "
        "are blocks of transfer sets; dark lines are the bound of theorem 5.3 (solid), its tight form (dashed) and the "
        "corollary (dotted). The measured risk lies far below the bound and falls faster. T5 has no such figure.",
        "tasks": "Bound of theorem 5.3 against the measured risk, one symbol per random task: triangles for tasks with "
        "an angular margin, circles for tasks without. None should lie below the gray diagonal line, up to the error "
        "of the measured risk. T5 has no such figure.",
    }

    d: Annotated[int, Ge(4)] = 200
    """input dimension"""
    kappa: Annotated[tuple[PositiveFloat, ...], Len(1), AfterValidator(distinct)] = (0.5, 1, 2)
    """degrees κ of the angle distributions without a margin"""
    margin: Annotated[float, Gt(0), Le(RIGHT)] = 1.2
    """largest angle, in radians, of the task with a margin; angles are uniform up to it"""
    seeds: PositiveInt = 20
    """number of blocks of transfer sets and of random tasks; intervals are taken over blocks"""
    sets: Annotated[int, Ge(2)] = 100
    """transfer sets per block"""
    tasks: PositiveInt = 100
    """random tasks per block"""
    task_sets: Annotated[int, Ge(5)] = 200
    """transfer sets per random task"""

    @property
    def laws(self) -> dict[str, PolynomialAngles]:
        """The angle distributions by name."""
        return {f"κ = {k:g}": PolynomialAngles(k) for k in self.kappa} | {"margin": PolynomialAngles(1, self.margin)}

    @property
    def n(self) -> list[int]:
        """The numbers of points: a geometric series from 1 to d − 1, and d."""
        return [*sorted(set(np.geomspace(1, self.d - 1, 14).round().astype(int).tolist())), self.d]

    def units(self) -> list[Unit]:
        curve = 4.0 * self.sets * self.d**3
        curves = [
            Unit(f"block{seed}", {"seed": seed, "part": "curves"}, self.sets * len(self.laws), curve * len(self.laws))
            for seed in range(self.seeds)
        ]
        return curves + [
            Unit(f"random{seed}", {"seed": seed, "part": "random"}, self.tasks, self.tasks * self.task_sets * 2e6)
            for seed in range(self.seeds)
        ]

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        seed = unit.values["seed"]
        dataset = self._random(seed, tick) if unit.values["part"] == "random" else self._curves(seed, tick)
        return dataset.expand_dims(seed=[seed])

    def _curves(self, seed: int, tick: Tick) -> xr.Dataset:
        means, left, others = [], [], []
        for i, law in enumerate(self.laws.values()):
            rng, task = stream(self.root, Role.TRAIN, seed, i), Angular(self.d, law)
            means.append(angular_risks(task, self.n, self.sets, rng).mean(0))
            nested = nested_students(task.draw(rng, self.d), task.e1)
            left.append(float((nested.students()[-1] - nested.w_star).norm()))
            others.append(angular_risks(task, self.n, max(2, self.sets // FEWER), rng, OTHER).mean(0))
            tick(self.sets)
        dims = ("law", "n")
        data = {"risk": (dims, np.stack(means)), "other_risk": (dims, np.stack(others)), "left": (("law",), left)}
        return xr.Dataset(data, {"law": list(self.laws), "n": self.n})

    def _random(self, seed: int, tick: Tick) -> xr.Dataset:
        """Risk with its lower limit, and the bound, on tasks with random dimension, distribution, margin and n."""
        rows = []
        for i in range(self.tasks):
            rng = stream(self.root, Role.CHANCE, seed, i)
            d = int(rng.integers(3, 101))
            n = int(rng.integers(1, d))
            kappa = float(np.exp(rng.uniform(np.log(0.2), np.log(4))))
            law = PolynomialAngles(kappa, RIGHT if rng.random() < 0.5 else float(rng.uniform(0.6, RIGHT)))
            risk, low = self._limits(Angular(d, law), n, self.task_sets, rng)
            other = self._limits(Angular(d, law), n, max(5, self.task_sets // FEWER), rng, OTHER)
            bound, tight = (transfer_bound(law, n, d=d, tight=t).value.item() for t in (False, True))
            rows.append((d, n, kappa, law.widest, risk, low, bound, tight, *other))
            tick(1)
        names = ("task_d", "task_n", "task_kappa", "task_widest", "task_risk", "task_low", "task_bound", "task_tight",
                 "task_other_risk", "task_other_low")  # fmt: skip
        columns = np.array(rows, dtype=float).T
        return xr.Dataset({k: ("task", v) for k, v in zip(names, columns, strict=True)}, {"task": range(self.tasks)})

    @staticmethod
    def _limits(
        task: Angular, n: int, sets: int, rng: np.random.Generator, learner: Learner | None = None
    ) -> tuple[float, float]:
        """The mean risk of students of n points and its lower limit."""
        risks = angular_risks(task, [n], sets, rng, learner)[:, 0]
        return float(risks.mean()), float(risks.mean() - half_width(sets) * risks.std(ddof=1))

    def bounds(self) -> xr.Dataset:
        """The bounds at every n: theorem 5.3, its tight form, and the corollary for each distribution."""
        n, laws = np.array(self.n), self.laws
        theorem, tight, corollary = [], [], []
        for law in laws.values():
            theorem.append(transfer_bound(law, n, d=self.d).value)
            tight.append(transfer_bound(law, n, d=self.d, tight=True).value)
            margin = law.widest < RIGHT
            bound = margin_bound(float(law.p(RIGHT - law.widest)), n) if margin else polynomial_bound(law.kappa, n)
            corollary.append(np.minimum(bound, 1))
        dims = ("law", "n")
        data = {"theorem": (dims, np.stack(theorem)), "tight": (dims, np.stack(tight))}
        return xr.Dataset({**data, "corollary": (dims, np.stack(corollary))}, {"law": list(laws), "n": self.n})

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        return {"curves": curves(result, self.bounds()), "tasks": random_tasks(result)}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        return [*bound_claims(result, self.bounds(), self.d), *rate_claims(result.risk, self.kappa, self.d)]

    def controls(self, result: xr.Dataset) -> list[Control]:
        other = result.assign(risk=result.other_risk, task_risk=result.task_other_risk, task_low=result.task_other_low)
        name = "students that fit the soft labels, but have a long random part orthogonal to their points"
        return [Control(name, ("T5.T3.n.tasks", "T5.T3.n.curves", "T5.C2.rate-*"), other)]


STUDY = RiskAgainstBound
