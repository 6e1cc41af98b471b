"""T5 figure 5.3: how the alignment of inputs with the teacher decides how well a student does."""

from typing import Annotated, ClassVar

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge, Len
from matplotlib.figure import Figure
from pydantic import AfterValidator, PositiveFloat, PositiveInt

from relulab.core.seeds import Role, stream
from relulab.lab.claim import Claim, claim, rank_correlation
from relulab.lab.show.figure import ASH, RED, TEAL, panels
from relulab.lab.study import Study, Tick, Unit, distinct
from relulab.subjects.distillation.instruments.angles import signed_angle
from relulab.subjects.distillation.instruments.closed_form import distilled
from relulab.subjects.distillation.instruments.risk import angular_risk, transfer_risk
from relulab.subjects.distillation.tools.angle_laws import Angular, PolynomialAngles
from relulab.subjects.distillation.tools.bound import transfer_bound

FLOOR = 1e-12  # risks below are drawn there


class AngularAlignment(Study):
    """Does a student learn faster where inputs lie nearer to the teacher?

    Tasks whose angles have p(θ) = (1 − 2θ/π)^κ, from κ near 0, where inputs crowd at the teacher's boundary, upwards.
    On each, students of a few points in many dimensions; their risk is exact, by one integral, and counted as well.
    """

    name: ClassVar = "angular-alignment"
    ids: ClassVar = ("T5.F3",)
    title: ClassVar = "Transfer risk against the alignment of inputs"
    source: ClassVar = "T5 section 5.4.1, figure 5.3"
    remarks: ClassVar = (
        "The text does not print the degrees κ that were tried. Students are at the limit of training, which is known "
        "in closed form (T5.T1); that training gets there is what relulab check T5.T1 shows."
    )
    presets: ClassVar = {
        "smoke": {"seeds": 5, "d": 40, "n": 5, "n_held_out": 200, "kappa": (0.5, 1, 2)},
        "quick": {"seeds": 40},
    }

    d: Annotated[int, Ge(3)] = 1000
    """input dimension"""
    n: PositiveInt = 20
    """points of a transfer set"""
    kappa: Annotated[tuple[PositiveFloat, ...], Len(2), AfterValidator(distinct)] = (0.25, 0.5, 0.75, 1, 1.5, 2, 3)
    """degrees of the angle law"""
    seeds: PositiveInt = 200
    """transfer sets of a task"""
    n_held_out: PositiveInt = 10_000
    """inputs of a task on which errors are counted"""

    def units(self) -> list[Unit]:
        flops = 4.0 * self.seeds * self.d * (self.n**2 + self.n_held_out)
        return [Unit(f"kappa{kappa:g}", {"kappa": kappa}, self.seeds, flops) for kappa in self.kappa]

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        kappa = unit.values["kappa"]
        task = Angular(self.d, PolynomialAngles(kappa))
        # every task has streams of its own, so that leaving one out does not change the others
        index = (self.kappa.index(kappa), round(kappa * 1e6))
        students = []
        for seed in range(self.seeds):
            X = task.draw(stream(self.root, Role.TRAIN, seed, *index), self.n)
            students.append(distilled(X, task.e1).w)
            tick(1)
        w, w_star = torch.stack(students), torch.from_numpy(task.e1)
        alpha = signed_angle(w, w_star)
        held_out = task.draw(stream(self.root, Role.HELD_OUT, *index), self.n_held_out)
        found = xr.Dataset(
            {
                "risk": ("seed", angular_risk(alpha, task.law, self.d).numpy()),
                "counted": ("seed", transfer_risk(w, w_star, held_out).value.numpy()),
                "angle": ("seed", alpha.numpy()),
                "bound": ((), transfer_bound(task.law, self.n, d=self.d).value),
            },
            {"seed": range(self.seeds)},
        )
        return found.expand_dims(kappa=[float(kappa)])

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        figure, axes = panels(1, 2, width=3.2, height=2.6)
        r = result.sortby("kappa")
        for ax, name in zip(axes[0], ("risk", "angle"), strict=True):
            y = np.degrees(r.angle) if name == "angle" else r.risk.clip(FLOOR)
            low, middle, high = (y.quantile(q, "seed") for q in (0.05, 0.5, 0.95))
            ax.fill_between(r.kappa, low, high, color=TEAL, alpha=0.2, lw=0, label="nine of ten sets")
            ax.plot(r.kappa, middle, "o-", color=TEAL, ms=3, label="median")
            ax.set(xlabel="degree κ of the angle law", ylim=(0, None))
        counted = r.counted.mean("seed")
        axes[0, 0].plot(r.kappa, counted.where(counted > 0), "x", color=RED, ms=4, label="counted, mean")
        axes[0, 0].plot(r.kappa, r.bound, "--", color=ASH, lw=1, label="bound")
        title = f"{self.n} points in {self.d} dimensions"
        axes[0, 0].set(ylabel="transfer risk", title=title, yscale="log", ylim=(FLOOR, 1))
        axes[0, 1].set(ylabel="degrees", title="angle of student and teacher")
        axes[0, 0].legend()
        return {"alignment": figure}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        r = result.sortby("kappa").transpose("seed", "kappa")
        rho = rank_correlation(r.kappa.values, r.risk.values)
        means = ", ".join(f"{float(v):.3g}" for v in r.risk.mean("seed"))
        room = float((r.bound / r.risk.mean("seed")).min())
        degrees = ", ".join(f"{k:g}" for k in r.kappa.values)
        note = f"The mean risk at κ = {degrees} is {means}; the bound is at least {room:.3g} times that."
        return [
            claim("T5.F3.alignment", "The transfer risk is lower on tasks whose inputs are better aligned: rank "
                  "correlation of κ and risk", rho, "<", 0, note, (-1, 1)),
        ]  # fmt: skip


STUDY = AngularAlignment
