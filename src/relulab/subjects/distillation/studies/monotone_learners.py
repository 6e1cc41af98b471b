"""T5 figure 5.5: transfer risk of different learners against their monotonicity index."""

from typing import Annotated, ClassVar

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge, Len
from matplotlib.figure import Figure
from pydantic import AfterValidator, NonNegativeFloat, PositiveFloat, PositiveInt

from relulab.core.seeds import Role, stream
from relulab.lab.claim import Claim, claim, rank_correlation
from relulab.lab.control import Control
from relulab.lab.show.figure import look, panels
from relulab.lab.study import Study, Tick, Unit, distinct
from relulab.subjects.distillation.instruments.angles import signed_angle
from relulab.subjects.distillation.instruments.monotonicity import monotonicity
from relulab.subjects.distillation.instruments.risk import angular_risk
from relulab.subjects.distillation.terms import ANGLES, DEGREE, RANDOM_PART
from relulab.subjects.distillation.tools.angle_laws import Angular, PolynomialAngles
from relulab.subjects.distillation.tools.exchanged_values import shuffled
from relulab.subjects.distillation.tools.learners import complement, hard_target
from relulab.subjects.distillation.tools.nested import nested_students

KINDS = ("fresh", "same")

MONOTONE = 0.99  # index above which a learner counts as monotone: 1,000 of 1,000 sets have a lower limit of 0.9963


class MonotoneLearners(Study):
    """Do learners with a higher monotonicity index have a lower transfer risk?

    The monotonicity index of a learner is the probability that one more training point reduces its angle to the
    teacher. All learners see the same transfer sets: gradient descent on soft labels, the max-margin student on hard
    labels, and minimizers w_δ of the distillation loss with a reduced gradient-descent bias. One seed is a block of
    transfer sets.
    """

    name: ClassVar = "monotone-learners"
    ids: ClassVar = ("T5.F5",)
    title: ClassVar = "Transfer risk against the monotonicity index"
    source: ClassVar = "T5 section 5.4.3, figure 5.5, eq. 5.34"
    remarks: ClassVar = (
        "The text does not say whether the random part q of w_δ is redrawn when a point is added or kept and projected "
        "onto the new orthogonal complement. Both are measured: fresh and same."
    )
    symbols: ClassVar = {**RANDOM_PART, **DEGREE, **ANGLES}
    version: ClassVar = 3  # 2: an angle that only rounding makes smaller is no improvement; 3: rounding is 256 eps
    presets: ClassVar = {
        "smoke": {"seeds": 5, "sets": 10, "d": 20},
        "quick": {},
    }
    captions: ClassVar = {
        "monotonicity": "Expected transfer risk of each learner against its monotonicity index: gradient descent on "
        "soft labels (circle), the max-margin student of hard labels (square), and students with a random part of size "
        "δ (triangles). Bars are two standard errors. Left: the random part is redrawn when a point is added; right: "
        "it is kept and projected. Learners with a higher index have a lower risk. Answers figure 5.5 of T5.",
    }

    d: Annotated[int, Ge(3)] = 100
    """input dimension"""
    n: PositiveInt = 5
    """points per transfer set, before one point is added"""
    kappa: PositiveFloat = 1.0
    """degree κ of the angle distribution"""
    delta: Annotated[tuple[NonNegativeFloat, ...], Len(1), AfterValidator(distinct)] = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)
    """lengths δ of the random part of w_δ, relative to ‖ŵ‖"""
    seeds: PositiveInt = 10
    """number of blocks of transfer sets; intervals are taken over blocks"""
    sets: Annotated[int, Ge(2)] = 100
    """transfer sets per block"""

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
        dataset = xr.Dataset({"risk": (dims, risk), "monotonicity": (dims, index)})
        return dataset.assign_coords(q=list(KINDS), learner=self.learners).expand_dims(seed=[seed])

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        figure, axes = panels(1, 2, width=3.2, height=2.8, sharey=True)
        looks = [look(i) | {"ls": "none"} for i in (0, 1, *[2] * len(self.delta))]
        smallest = self.learners[2 + int(np.argmin(self.delta))]
        for ax, kind in zip(axes[0], KINDS, strict=True):
            r = result.sel(q=kind)
            for name, style in zip(self.learners, looks, strict=True):
                x, y = (r[quantity].sel(learner=name) for quantity in ("monotonicity", "risk"))
                spread = [float(v.std("seed", ddof=1) / np.sqrt(len(x)) * 2) if len(x) > 1 else 0.0 for v in (x, y)]
                ax.errorbar(float(x.mean()), float(y.mean()), spread[1], spread[0], ms=4, **style)
                # Learners with a small δ are close to each other and to gradient descent.
                place = {self.learners[0]: (4, -15), smallest: (-9, -7)}.get(name, (-9, -1))
                ax.annotate(
                    name, (float(x.mean()), float(y.mean())), place, ha="right", fontsize=7, textcoords="offset points"
                )
            title = "random part redrawn" if kind == "fresh" else "same random part, projected"
            ax.set(title=title, xlabel="monotonicity index", xlim=(0, 1.05))
        axes[0, 0].set(ylabel="expected transfer risk", ylim=(0, None))
        return {"monotonicity": figure}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        r = result.transpose("q", "seed", "learner")
        claims = []
        for kind in KINDS:
            part = r.sel(q=kind)
            rho = rank_correlation(part.monotonicity.values, part.risk.values)
            rows = "; ".join(
                f"{name}: {float(part.monotonicity.sel(learner=name).mean()):.3f}, "
                f"{float(part.risk.sel(learner=name).mean()):.4f}" for name in self.learners
            )  # fmt: skip
            how, change = ("redrawn", "redrawn") if kind == "fresh" else ("kept", "kept and projected")
            claims.append(
                claim(f"T5.F5.{kind}",
                      f"Learners with a higher monotonicity index have a lower risk (random part {how})", rho, "<", 0,
                      f"Index and risk by learner: {rows}.", (-1, 1), "rank correlation between monotonicity "
                      f"index and mean risk over the learners; the random part is {change} when a point is added")
            )  # fmt: skip
        soft, hard = (r.sel(q="fresh", learner=name) for name in self.learners[:2])
        lowest = r.risk.sel(q="fresh").isel(learner=slice(1, None)).min("learner")
        claims += [
            claim("T5.F5.soft", "Every additional point brings gradient descent on soft labels closer to the teacher",
                  soft.monotonicity.values, ">", MONOTONE, "", (0, 1), "monotonicity index of gradient descent",
                  self.sets),
            claim("T5.F5.hard", "With hard labels, an additional point does not always help", hard.monotonicity.values,
                  "<", MONOTONE, "", (0, 1), "monotonicity index of the max-margin student", self.sets),
            claim("T5.F5.lowest", "Gradient descent on soft labels has the lowest risk of all learners",
                  (lowest - soft.risk).values, ">", 0,
                  statistic="lowest mean risk of the other learners minus the mean risk of gradient descent"),
        ]  # fmt: skip
        return claims

    def controls(self, result: xr.Dataset) -> list[Control]:
        soft, hard, *others = self.learners
        exchanged = result.sel(learner=[hard, soft, *others]).assign_coords(learner=self.learners)
        unrelated = result.assign(risk=shuffled(result.risk, "learner"))
        return [
            Control("learners whose risks are exchanged at random", ("T5.F5.fresh", "T5.F5.same"), unrelated),
            Control(
                "hard labels in place of soft ones, and soft labels in place of hard ones",
                ("T5.F5.soft", "T5.F5.hard", "T5.F5.lowest"),
                exchanged,
            ),
        ]


STUDY = MonotoneLearners
