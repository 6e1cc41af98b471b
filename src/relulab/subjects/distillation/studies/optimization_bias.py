"""T5 figure 5.4: minimizers of the distillation loss that gradient descent would not find, on MNIST."""

from typing import Annotated, ClassVar

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge, Len
from matplotlib.figure import Figure
from pydantic import AfterValidator, NonNegativeFloat, PositiveFloat, PositiveInt

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.data.mnist import HOW, mnist
from relulab.lab.claim import Claim, claim, rank_correlation
from relulab.lab.show.figure import ASH, TEAL, panels
from relulab.lab.study import Study, Tick, Unit, distinct
from relulab.subjects.distillation.instruments.angles import angle
from relulab.subjects.distillation.instruments.risk import transfer_risk
from relulab.subjects.distillation.tools.estimated_angles import EstimatedAngles
from relulab.subjects.distillation.tools.learners import unbiased
from relulab.subjects.distillation.tools.logistic import logistic_regression

CLASSES = (0, 1)


class OptimisationBias(Study):
    """Does a student need gradient descent's preference for the span of its points?

    All learners w_δ = ŵ + δ‖ŵ‖ q/‖q‖ fit the teacher's soft labels exactly; δ = 0 is gradient descent, with larger δ
    more of the weights is noise that the points say nothing about. The teacher is a logistic regression on other zeros
    and ones, without a bias; risk is counted on the digits held out.
    """

    name: ClassVar = "optimization-bias"
    ids: ClassVar = ("T5.F4",)
    title: ClassVar = "Transfer risk without gradient descent's bias"
    source: ClassVar = "T5 section 5.4.2, figure 5.4"
    needs: ClassVar = f"MNIST: {HOW}"
    remarks: ClassVar = (
        "The text prints δ = 0, 10, …, 90; 1 and 3 are measured as well. How the teacher's regression is penalized it "
        "does not say: here by ‖w‖²/2. Gray values are scaled from 0 to 1."
    )
    presets: ClassVar = {
        "smoke": {"seeds": 5, "n_teacher": 100, "n": 20, "delta": (0, 1, 10)},
        "quick": {"seeds": 10},
    }

    n: PositiveInt = 100
    """points of a transfer set"""
    n_teacher: Annotated[int, Ge(2)] = 6000
    """digits that the teacher is trained on, none of which is in a transfer set"""
    delta: Annotated[tuple[NonNegativeFloat, ...], Len(2), AfterValidator(distinct)] = (
        0, 1, 3, 10, 20, 30, 40, 50, 60, 70, 80, 90,
    )  # fmt: skip
    """sizes of the random part, as shares of ‖ŵ‖"""
    penalty: PositiveFloat = 1.0
    """what ‖w‖²/2 is multiplied by in the teacher's regression"""
    draws: PositiveInt = 20
    """random parts q of a transfer set"""
    seeds: PositiveInt = 40
    """teachers, each with a transfer set"""

    def ready(self) -> None:
        have = len(mnist("train", CLASSES).labels)
        if have < self.n + self.n_teacher:
            raise UserError(
                f"n + n_teacher = {self.n + self.n_teacher}: the training file of MNIST has {have} zeros and ones"
            )

    def units(self) -> list[Unit]:
        flops = 784.0 * (4 * 300 * self.n_teacher + 2 * 2115 * self.draws * len(self.delta))
        return [Unit(f"seed{seed}", {"seed": seed}, 1, flops) for seed in range(self.seeds)]

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        seed = unit.values["seed"]
        train, held_out = (_rows(mnist(part, CLASSES)) for part in ("train", "held out"))
        order = stream(self.root, Role.TRAIN, seed).permutation(len(train[1]))
        for_teacher, for_student = order[: self.n_teacher], order[self.n_teacher :][: self.n]
        w_star = logistic_regression(train[0][for_teacher], train[1][for_teacher], penalty=self.penalty)
        X = train[0][for_student]
        rng = stream(self.root, Role.STUDENT, seed)
        students = torch.stack([unbiased(X, w_star, self.delta, rng) for _ in range(self.draws)])  # draw delta d
        tick(1)
        law = EstimatedAngles.of(held_out[0], w_star, None)
        found = xr.Dataset(
            {
                "risk": (("draw", "delta"), transfer_risk(students, w_star, held_out[0]).value.numpy()),
                "angle": (("draw", "delta"), angle(students, torch.from_numpy(w_star)).numpy()),
                "accuracy": ((), ((held_out[0] @ w_star >= 0) == (held_out[1] == 1)).mean()),
                "angles": ("share", np.quantile(law.angles, np.linspace(0, 1, 21))),
            },
            {"delta": list(map(float, self.delta)), "share": np.linspace(0, 1, 21)},
        )
        return found.expand_dims(seed=[seed])

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        figure, axes = panels(1, 3, width=2.8, height=2.6)
        risk = result.risk.mean("draw").transpose("delta", "seed").sortby("delta")
        for ax, least in ((axes[0, 0], -1.0), (axes[0, 1], 0.0)):
            some = risk.where(risk.delta > least, drop=True)
            ax.plot(some.delta, some, "-", color=TEAL, lw=0.5, alpha=0.3)
            ax.plot(some.delta, some.mean("seed"), "o-", color=TEAL, ms=3)
            ax.set(xlabel="δ")
        axes[0, 0].set(ylabel="transfer risk", title=f"{self.n} points of MNIST's 0 and 1", ylim=(0, None))
        axes[0, 1].axhline(float(risk.sel(delta=0).mean()), color=ASH, lw=0.8, ls=":") if 0 in risk.delta else None
        axes[0, 1].set(title="on logarithmic axes (dotted: δ = 0)", xscale="log", yscale="log")
        ax = axes[0, 2]
        ax.plot(np.degrees(result.angles.transpose("share", "seed")), 1 - result.share, color=ASH, lw=0.5, alpha=0.4)
        ax.set(title="angles of digits to the teacher", xlabel="θ in degrees", ylabel="p(θ)", xlim=(0, 90), ylim=(0, 1))
        return {"bias": figure}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        risk = result.risk.mean("draw").transpose("seed", "delta").sortby("delta")
        rho = rank_correlation(risk.delta.values, risk.values)
        rows = ", ".join(f"{float(risk.sel(delta=k).mean()):.4f} at {k:g}" for k in risk.delta.values)
        note = (
            f"Mean risk: {rows}. The teachers are right on {float(result.accuracy.mean()):.2%} of the digits held out."
        )
        found = [
            claim("T5.F4.trend", "The less of gradient descent's bias, the higher the risk: rank correlation of δ and "
                  "risk", rho, ">", 0, note, (-1, 1)),
            claim("T5.F4.ends", "Gradient descent's student does better than the one that is nearly all noise: risk at "
                  "the largest δ less that at the smallest", (risk.isel(delta=-1) - risk.isel(delta=0)).values, ">", 0),
        ]  # fmt: skip
        printed = risk.sel(delta=[k for k in risk.delta.values if k >= 10])
        if printed.sizes["delta"] > 2:
            found.append(
                claim("T5.F4.beyond", "The trend goes on among the printed δ from 10 to 90: rank correlation",
                      rank_correlation(printed.delta.values, printed.values), ">", 0,
                      "There q is nearly all of w_δ; but digits lie near the span of 100 of them, so they see "
                      "little of q.", (-1, 1))
            )  # fmt: skip
        return found


def _rows(digits) -> tuple[np.ndarray, np.ndarray]:
    return digits.images.reshape(len(digits.labels), -1) / 255.0, digits.labels


STUDY = OptimisationBias
