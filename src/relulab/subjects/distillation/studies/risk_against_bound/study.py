"""T5 theorem 5.3 and its corollaries against measured risk, over n, and on random tasks: a figure T5 has not."""

import math
from typing import Annotated, ClassVar

import numpy as np
import xarray as xr
from annotated_types import Ge, Gt, Le, Len
from matplotlib.figure import Figure
from pydantic import AfterValidator, PositiveFloat, PositiveInt

from relulab.core.seeds import Role, stream
from relulab.core.slope import power
from relulab.lab.claim import Claim, claim, half_width
from relulab.lab.study import Study, Tick, Unit, distinct
from relulab.subjects.distillation.studies.risk_against_bound.drawing import curves, random_tasks
from relulab.subjects.distillation.tools.angle_laws import RIGHT, Angular, PolynomialAngles
from relulab.subjects.distillation.tools.bound import margin_bound, polynomial_bound, transfer_bound
from relulab.subjects.distillation.tools.nested import nested_students
from relulab.subjects.distillation.tools.risk_curve import angular_risks

TELLING = 1e-9  # risks below are not compared by ratio: too small to be met, or rounding


class RiskAgainstBound(Study):
    """How far above the measured risk is the bound, and does it fall with n as fast?

    The expected risk of students of 1, 2, … points, exact for every transfer set, beside the bound of theorem 5.3, its
    tighter form and the corollaries: for three polynomial laws and one with a margin. Then many random tasks, on each
    of which the bound must not lie below the lower confidence limit of the measured risk.
    """

    name: ClassVar = "risk-against-bound"
    ids: ClassVar = ("T5.T3.n",)
    title: ClassVar = "The transfer risk bound against measured risk"
    source: ClassVar = "T5 theorem 5.3 and corollaries 5.1 and 5.2; the figure is ours"
    presets: ClassVar = {
        "smoke": {"seeds": 5, "sets": 5, "d": 20, "tasks": 5, "task_sets": 10},
        "quick": {"seeds": 10, "sets": 40},
    }

    d: Annotated[int, Ge(4)] = 200
    """input dimension"""
    kappa: Annotated[tuple[PositiveFloat, ...], Len(1), AfterValidator(distinct)] = (0.5, 1, 2)
    """degrees of the laws without a margin"""
    margin: Annotated[float, Gt(0), Le(RIGHT)] = 1.2
    """largest angle of the task with a margin, uniform up to there"""
    seeds: PositiveInt = 20
    """blocks of transfer sets and of random tasks, over which intervals are taken"""
    sets: Annotated[int, Ge(2)] = 100
    """transfer sets of a block"""
    tasks: PositiveInt = 100
    """random tasks of a block"""
    task_sets: Annotated[int, Ge(5)] = 200
    """transfer sets of a random task"""

    @property
    def laws(self) -> dict[str, PolynomialAngles]:
        return {f"κ = {k:g}": PolynomialAngles(k) for k in self.kappa} | {"margin": PolynomialAngles(1, self.margin)}

    @property
    def n(self) -> list[int]:
        """A geometric series of numbers of points, from 1 to d − 1, and d."""
        return [*sorted(set(np.geomspace(1, self.d - 1, 14).round().astype(int).tolist())), self.d]

    def units(self) -> list[Unit]:
        curve = 4.0 * self.sets * self.d**3
        found = [
            Unit(f"block{seed}", {"seed": seed, "part": "curves"}, self.sets * len(self.laws), curve * len(self.laws))
            for seed in range(self.seeds)
        ]
        return found + [
            Unit(f"random{seed}", {"seed": seed, "part": "random"}, self.tasks, self.tasks * self.task_sets * 2e6)
            for seed in range(self.seeds)
        ]

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        seed = unit.values["seed"]
        found = self._random(seed, tick) if unit.values["part"] == "random" else self._curves(seed, tick)
        return found.expand_dims(seed=[seed])

    def _curves(self, seed: int, tick: Tick) -> xr.Dataset:
        means, left = [], []
        for i, law in enumerate(self.laws.values()):
            rng, task = stream(self.root, Role.TRAIN, seed, i), Angular(self.d, law)
            means.append(angular_risks(task, self.n, self.sets, rng).mean(0))
            whole = nested_students(task.draw(rng, self.d), task.e1)
            left.append(float((whole.students()[-1] - whole.w_star).norm()))
            tick(self.sets)
        found = {"risk": (("law", "n"), np.stack(means)), "left": (("law",), np.array(left))}
        return xr.Dataset(found, {"law": list(self.laws), "n": self.n})

    def _random(self, seed: int, tick: Tick) -> xr.Dataset:
        """Tasks of random dimension, law, margin and number of points: risk with its limits, and the bound."""
        rows = []
        for i in range(self.tasks):
            rng = stream(self.root, Role.CHANCE, seed, i)
            d = int(rng.integers(3, 101))
            n = int(rng.integers(1, d))
            kappa = float(np.exp(rng.uniform(np.log(0.2), np.log(4))))
            law = PolynomialAngles(kappa, RIGHT if rng.random() < 0.5 else float(rng.uniform(0.6, RIGHT)))
            risks = angular_risks(Angular(d, law), [n], self.task_sets, rng)[:, 0]
            half = half_width(self.task_sets) * risks.std(ddof=1)
            bound, tight = (transfer_bound(law, n, d=d, tight=t).value.item() for t in (False, True))
            rows.append((d, n, kappa, law.widest, risks.mean(), risks.mean() - half, bound, tight))
            tick(1)
        names = ("task_d", "task_n", "task_kappa", "task_widest", "task_risk", "task_low", "task_bound", "task_tight")
        columns = np.array(rows, dtype=float).T
        return xr.Dataset({k: ("task", v) for k, v in zip(names, columns, strict=True)}, {"task": range(self.tasks)})

    def bounds(self) -> xr.Dataset:
        """What theory says at every n: theorem 5.3, its tight form, and the corollary of each law."""
        n, laws = np.array(self.n), self.laws
        theorem, tight, corollary = [], [], []
        for law in laws.values():
            theorem.append(transfer_bound(law, n, d=self.d).value)
            tight.append(transfer_bound(law, n, d=self.d, tight=True).value)
            margin = law.widest < RIGHT
            own = margin_bound(float(law.p(RIGHT - law.widest)), n) if margin else polynomial_bound(law.kappa, n)
            corollary.append(np.minimum(own, 1))
        dims = ("law", "n")
        data = {"theorem": (dims, np.stack(theorem)), "tight": (dims, np.stack(tight))}
        return xr.Dataset({**data, "corollary": (dims, np.stack(corollary))}, {"law": list(laws), "n": self.n})

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        return {"curves": curves(result, self.bounds()), "tasks": random_tasks(result)}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        bounds = self.bounds()
        below = result.n < self.d
        mean = result.risk.mean("seed")
        room = (bounds.theorem / mean).where(below & (mean > TELLING))
        sure = result.task_bound >= result.task_low
        close = float((result.task_bound / result.task_risk).where(result.task_risk > TELLING).min())
        holds = (result.risk <= bounds.theorem).where(below, drop=True).mean(("law", "n"))
        found = [
            claim("T5.T3.n.tasks", "On random tasks the bound is never below the lower confidence limit of the "
                  "measured risk: share of tasks", sure.mean("task").values, ">", 0.999,
                  f"{int(sure.size)} tasks; where it comes closest the bound is {close:.3g} times the risk (of those "
                  f"over {TELLING:g}).", (0, 1)),
            claim("T5.T3.n.curves", "For the polynomial laws and the margin, mean risks are below the bound at every n "
                  "< d: share", holds.values, ">", 0.999,
                  f"The bound is {float(room.min()):.3g} to {float(room.max()):.2g} times the risk, where that is "
                  f"over {TELLING:g}.", (0, 1)),
            claim("T5.T3.n.perfect", "From as many points as dimensions the student is the teacher: the largest "
                  "‖ŵ − w*‖/‖w*‖ of a block", result.left.max("law").values, "<", 1e-6,
                  "So there is no risk. Worded after first trials, in which the rounding of an angle showed as a risk "
                  "of 1e-9.", (0, math.inf)),
        ]  # fmt: skip
        for kappa in self.kappa:
            slopes = self._slopes(result.risk.sel(law=f"κ = {kappa:g}"))
            found.append(
                claim(f"T5.C2.rate-{kappa:g}", f"With κ = {kappa:g} the risk falls at least as fast as (log n/n)^κ: "
                      "slope of log risk against log(n/log n), over n from 5 to d/2", slopes, "<", -kappa,
                      "The corollary bounds the risk; that the risk itself falls at this rate is our question.")
            )  # fmt: skip
        return found

    def _slopes(self, risk: xr.DataArray) -> np.ndarray:
        some = risk.where((risk.n >= 5) & (risk.n <= self.d / 2), drop=True).transpose("n", "seed")
        return power((some.n / np.log(some.n)).values, some.values)


STUDY = RiskAgainstBound
