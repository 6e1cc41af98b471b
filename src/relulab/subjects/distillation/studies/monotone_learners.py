"""T5 figure 5.5: learners that gain from every further point have the lower risk."""

from typing import Annotated, ClassVar

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge, Len
from matplotlib.figure import Figure
from pydantic import AfterValidator, NonNegativeFloat, PositiveFloat, PositiveInt

from relulab.core.seeds import Role, stream
from relulab.lab.claim import Claim, claim, rank_correlation
from relulab.lab.show.figure import BLUE, GREEN, ORANGE, panels
from relulab.lab.study import Study, Tick, Unit, distinct
from relulab.subjects.distillation.instruments.angles import signed_angle
from relulab.subjects.distillation.instruments.monotonicity import monotonicity
from relulab.subjects.distillation.instruments.risk import angular_risk
from relulab.subjects.distillation.tools.angle_laws import Angular, PolynomialAngles
from relulab.subjects.distillation.tools.learners import complement, hard_target
from relulab.subjects.distillation.tools.nested import nested_students

KINDS = ("fresh", "same")


class MonotoneLearners(Study):
    """Does a learner's risk go with its monotonicity index, the chance that one more point helps?

    Gradient descent on soft labels, the max-margin student of hard labels, and minimizers w_δ of the distillation loss
    with less of gradient descent's bias, all on the same transfer sets. A seed is a block of sets.
    """

    name: ClassVar = "monotone-learners"
    ids: ClassVar = ("T5.F5",)
    title: ClassVar = "Transfer risk against monotonicity"
    source: ClassVar = "T5 section 5.4.3, figure 5.5, eq. 5.34"
    remarks: ClassVar = (
        "Whether the random part q of w_δ is drawn anew when a point is added, or kept as far as the point allows, the "
        "text does not say: both are measured, fresh and same."
    )
    presets: ClassVar = {
        "smoke": {"seeds": 5, "sets": 10, "d": 20},
        "quick": {},
    }

    d: Annotated[int, Ge(3)] = 100
    """input dimension"""
    n: PositiveInt = 5
    """points of a transfer set, before the one that is added"""
    kappa: PositiveFloat = 1.0
    """degree of the angle law"""
    delta: Annotated[tuple[NonNegativeFloat, ...], Len(1), AfterValidator(distinct)] = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)
    """sizes of the random part of w_δ, as shares of ‖ŵ‖"""
    seeds: PositiveInt = 10
    """blocks of transfer sets, over which intervals are taken"""
    sets: Annotated[int, Ge(2)] = 100
    """transfer sets of a block"""

    @property
    def learners(self) -> list[str]:
        return ["gradient descent", "hard target", *(f"δ = {delta:g}" for delta in self.delta)]

    def units(self) -> list[Unit]:
        flops = self.sets * (self.d * (self.n + 1) ** 2 * 40.0 + 1e6)
        return [Unit(f"block{seed}", {"seed": seed}, self.sets, flops) for seed in range(self.seeds)]

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        seed, n = unit.values["seed"], self.n
        task = Angular(self.d, PolynomialAngles(self.kappa))
        X = task.draw(stream(self.root, Role.TRAIN, seed), self.sets * (n + 1)).reshape(self.sets, n + 1, self.d)
        nested = nested_students(X, task.e1)
        w_star = nested.w_star
        soft = nested.students()[:, [n - 1, n]]
        hard = torch.stack([hard_target(X[:, :k], w_star) for k in (n, n + 1)], 1)
        g = torch.from_numpy(stream(self.root, Role.STUDENT, seed).standard_normal((self.sets, 2, self.d)))
        step = {"fresh": complement(nested, [n, n + 1], g), "same": complement(nested, [n, n + 1], g[:, :1])}
        size = soft.norm(dim=-1, keepdim=True)
        tables = []
        for kind in KINDS:
            students = torch.stack([soft, hard, *(soft + delta * size * step[kind] for delta in self.delta)])
            before, after = students[:, :, 0], students[:, :, 1]
            risk = angular_risk(signed_angle(before, w_star), task.law, self.d).mean(-1)
            tables.append((risk, monotonicity(before, after, w_star)))
        tick(self.sets)
        risk, index = (np.stack(part) for part in zip(*tables, strict=True))
        dims = ("q", "learner")
        found = xr.Dataset({"risk": (dims, risk), "monotonicity": (dims, index)})
        return found.assign_coords(q=list(KINDS), learner=self.learners).expand_dims(seed=[seed])

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        figure, axes = panels(1, 2, width=3.2, height=2.8, sharey=True)
        colors = [BLUE, ORANGE, *[GREEN] * len(self.delta)]
        for ax, kind in zip(axes[0], KINDS, strict=True):
            r = result.sel(q=kind)
            for name, color in zip(self.learners, colors, strict=True):
                one = r.sel(learner=name)
                x, y = one.monotonicity, one.risk
                spread = [float(v.std("seed", ddof=1) / np.sqrt(len(x)) * 2) if len(x) > 1 else 0.0 for v in (x, y)]
                ax.errorbar(float(x.mean()), float(y.mean()), spread[1], spread[0], fmt="o", color=color, ms=4)
                below = name == self.learners[0]  # beside it are those with a small δ
                ax.annotate(
                    name, (float(x.mean()), float(y.mean())), (0, -11) if below else (-9, -2), ha="right", fontsize=7,
                    textcoords="offset points",
                )  # fmt: skip
            words = "q drawn anew" if kind == "fresh" else "the same q, projected"
            ax.set(title=words, xlabel="monotonicity index", xlim=(0, 1.05))
        axes[0, 0].set(ylabel="expected transfer risk", ylim=(0, None))
        return {"monotonicity": figure}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        r = result.transpose("q", "seed", "learner")
        found = []
        for kind in KINDS:
            one = r.sel(q=kind)
            rho = rank_correlation(one.monotonicity.values, one.risk.values)
            rows = "; ".join(
                f"{name} {float(one.monotonicity.sel(learner=name).mean()):.3f}, "
                f"{float(one.risk.sel(learner=name).mean()):.4f}" for name in self.learners
            )  # fmt: skip
            words = "drawn anew with every point" if kind == "fresh" else "kept as far as the points allow"
            found.append(
                claim(f"T5.F5.{kind}", "Learners with a higher monotonicity index have a lower risk, the random part "
                      f"of w_δ {words}: rank correlation of index and risk over learners", rho, "<", 0,
                      f"Index and risk: {rows}.", (-1, 1))
            )  # fmt: skip
        soft, hard = (r.sel(q="fresh", learner=name) for name in self.learners[:2])
        found += [
            claim("T5.F5.soft", "Every further point brings gradient descent on soft labels nearer to the teacher: its "
                  "index", soft.monotonicity.values, ">", 0.999, "", (0, 1)),
            claim("T5.F5.hard", "Not so on hard labels: index", hard.monotonicity.values, "<", 0.999, "", (0, 1)),
            claim("T5.F5.lowest", "Gradient descent on soft labels has the lowest risk of all learners: the lowest "
                  "risk of the others less its own", (r.risk.sel(q="fresh").isel(learner=slice(1, None)).min("learner")
                  - soft.risk).values, ">", 0),
        ]  # fmt: skip
        return found


STUDY = MonotoneLearners
