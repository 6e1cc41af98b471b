"""T5 figure 5.3: transfer risk against the angular alignment of the inputs with the teacher."""

from typing import Annotated, ClassVar

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge, Len
from matplotlib.figure import Figure
from pydantic import AfterValidator, PositiveFloat, PositiveInt

from relulab.core.seeds import Role, stream
from relulab.lab.claim import Claim, claim, rank_correlation
from relulab.lab.control import Control
from relulab.lab.show.figure import ASH, RED, TEAL, panels
from relulab.lab.study import Study, Tick, Unit, distinct
from relulab.subjects.distillation.instruments.angles import signed_angle
from relulab.subjects.distillation.instruments.closed_form import distilled
from relulab.subjects.distillation.instruments.risk import angular_risk, transfer_risk
from relulab.subjects.distillation.terms import ANGLES, DEGREE
from relulab.subjects.distillation.tools.angle_laws import Angular, PolynomialAngles
from relulab.subjects.distillation.tools.bound import transfer_bound
from relulab.subjects.distillation.tools.exchanged_values import shuffled

FLOOR = 1e-12  # smaller risks are drawn at this value


class AngularAlignment(Study):
    """Does a student learn faster if the inputs are better aligned with the teacher?

    The angle between an input and the teacher has the distribution p(θ) = (1 − 2θ/π)^κ. For κ near 0, most inputs lie
    near the teacher's decision boundary; for larger κ they are better aligned with the teacher. For each κ, students
    are trained on a few points in many dimensions. Their transfer risk is computed exactly by one integral, and is
    also counted on held-out inputs.
    """

    name: ClassVar = "angular-alignment"
    ids: ClassVar = ("T5.F3",)
    title: ClassVar = "Transfer risk against angular alignment"
    source: ClassVar = "T5 section 5.4.1, figure 5.3"
    remarks: ClassVar = (
        "The text does not give the degrees κ; here they range from 0.25 to 3. The students are not trained step by "
        "step: the limit of training is known in closed form, and relulab check T5.T1 shows that training reaches it."
    )
    symbols: ClassVar = {**ANGLES, **DEGREE}
    presets: ClassVar = {
        "smoke": {"seeds": 5, "d": 40, "n": 5, "n_held_out": 200, "kappa": (0.5, 1, 2)},
        "quick": {"seeds": 40},
    }
    captions: ClassVar = {
        "alignment": "Left: transfer risk of students against the degree κ of the angle distribution. The line with "
        "dots is the median over transfer sets, the band holds 90% of them, crosses are the risk counted on held-out "
        "inputs, and the dashed line is the bound of theorem 5.3. The risk falls steeply as the inputs become better "
        "aligned with the teacher. Right: angle between student and teacher against κ, with the same line and band. "
        "Answers figure 5.3 of T5.",
    }

    d: Annotated[int, Ge(3)] = 1000
    """input dimension"""
    n: PositiveInt = 20
    """points per transfer set"""
    kappa: Annotated[tuple[PositiveFloat, ...], Len(2), AfterValidator(distinct)] = (0.25, 0.5, 0.75, 1, 1.5, 2, 3)
    """degrees κ of the angle distribution, one task each"""
    seeds: PositiveInt = 200
    """transfer sets per task"""
    n_held_out: PositiveInt = 10_000
    """held-out inputs per task on which errors are counted"""

    def units(self) -> list[Unit]:
        flops = 4.0 * self.seeds * self.d * (self.n**2 + self.n_held_out)
        return [Unit(f"kappa{kappa:g}", {"kappa": kappa}, self.seeds, flops) for kappa in self.kappa]

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        kappa = unit.values["kappa"]
        task = Angular(self.d, PolynomialAngles(kappa))
        # Each task has its own random streams, so leaving one out does not change the others.
        index = (self.kappa.index(kappa), round(kappa * 1e6))
        students = []
        for seed in range(self.seeds):
            X = task.draw(stream(self.root, Role.TRAIN, seed, *index), self.n)
            students.append(distilled(X, task.e1).w)
            tick(1)
        w, w_star = torch.stack(students), torch.from_numpy(task.e1)
        alpha = signed_angle(w, w_star)
        held_out = task.draw(stream(self.root, Role.HELD_OUT, *index), self.n_held_out)
        dataset = xr.Dataset(
            {
                "risk": ("seed", angular_risk(alpha, task.law, self.d).numpy()),
                "counted": ("seed", transfer_risk(w, w_star, held_out).value.numpy()),
                "angle": ("seed", alpha.numpy()),
                "bound": ((), transfer_bound(task.law, self.n, d=self.d).value),
            },
            {"seed": range(self.seeds)},
        )
        return dataset.expand_dims(kappa=[float(kappa)])

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        figure, axes = panels(1, 2, width=3.2, height=2.6)
        r = result.sortby("kappa")
        for ax, name in zip(axes[0], ("risk", "angle"), strict=True):
            y = np.degrees(r.angle) if name == "angle" else r.risk.clip(FLOOR)
            low, middle, high = (y.quantile(q, "seed") for q in (0.05, 0.5, 0.95))
            ax.fill_between(r.kappa, low, high, color=TEAL, alpha=0.2, lw=0, label="90% of transfer sets")
            ax.plot(r.kappa, middle, "o-", color=TEAL, ms=3, label="median")
            ax.set(xlabel="degree κ of the angle distribution", ylim=(0, None))
        counted = r.counted.mean("seed")
        axes[0, 0].plot(
            r.kappa, counted.where(counted > 0), "x", color=RED, ms=4, label="counted on held-out inputs, mean"
        )
        axes[0, 0].plot(r.kappa, r.bound, "--", color=ASH, lw=1, label="bound of theorem 5.3")
        title = f"{self.n} points in {self.d} dimensions"
        axes[0, 0].set(ylabel="transfer risk", title=title, yscale="log", ylim=(FLOOR, 1))
        axes[0, 1].set(ylabel="angle in degrees", title="angle between student and teacher")
        axes[0, 0].legend()
        return {"alignment": figure}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        r = result.sortby("kappa").transpose("seed", "kappa")
        rho = rank_correlation(r.kappa.values, r.risk.values)
        means = ", ".join(f"{float(v):.3g}" for v in r.risk.mean("seed"))
        ratio = float((r.bound / r.risk.mean("seed")).min())
        degrees = ", ".join(f"{k:g}" for k in r.kappa.values)
        note = f"For κ = {degrees} the mean risk is {means}. The bound is at least {ratio:.3g} times the mean risk."
        return [
            claim("T5.F3.alignment", "The transfer risk is lower if the inputs are better aligned with the teacher",
                  rho, "<", 0, note, (-1, 1),
                  "rank correlation between the degree κ of the angle distribution and the transfer risk, over tasks"),
        ]  # fmt: skip

    def controls(self, result: xr.Dataset) -> list[Control]:
        exchanged = result.assign(risk=shuffled(result.risk, "kappa"))
        return [Control("tasks whose degrees κ are exchanged at random", ("T5.F3.alignment",), exchanged)]


STUDY = AngularAlignment
