"""SS section 7 and appendix F: the results for Gaussian inputs also hold for uniform inputs."""

import math
from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from pydantic import PositiveInt, model_validator

from relulab.lab.claim import rank_correlation
from relulab.lab.control import Control
from relulab.lab.show.figure import headline, legend, look, panels
from relulab.subjects.specialization.studies.arms import Arms
from relulab.subjects.specialization.studies.shuffled import before_training, shuffled
from relulab.subjects.specialization.studies.statements import Statement
from relulab.subjects.specialization.studies.two_layer_students import SMOKE, Polarities, Widths
from relulab.subjects.specialization.tools.observation import Observation
from relulab.train.probe import Reading

SIMILAR = 0.1  # largest mean difference that counts as similar


class UniformInputs(Arms):
    """Do students specialize with uniform inputs as they do with Gaussian inputs?

    SS says that the results are similar. In each seed, students with the same teacher and the same initial weights
    learn from inputs N(0, σ² I) and from inputs uniform on a cube with the same standard deviation σ.
    """

    name: ClassVar = "uniform-inputs"
    ids: ClassVar = ("SS.F7.uniform",)
    title: ClassVar = "Uniform instead of Gaussian inputs"
    source: ClassVar = "SS section 7 and appendix F"
    remarks: ClassVar = (
        "SS prints no figure for uniform inputs. It has inputs between −1 and 1, whose standard deviation is 0.577 "
        "(sigma=0.577), "
        "and with it training is about seven times as slow as with σ = 1.5. So both kinds of inputs have σ = 1.5 here, "
        "as in the other two-layer studies."
    )
    presets: ClassVar = {
        "smoke": {**SMOKE, "over": (5,)},
        "quick": {"d": 40, "C": 20, "m": 10, "seeds": 8, "epochs": 8, "n_train": 5000, "n_held_out": 2000},
    }
    captions: ClassVar = {
        "uniform": "Left: mean over seeds of the correlation of each teacher node with its best student, by teacher "
        "node, after an early epoch (dotted) and after training (with symbols), for Gaussian and uniform inputs. "
        "Right: fan-out of every student versus its best correlation after training. The two kinds of inputs give "
        "nearly the same picture. Tests a statement of SS, which has no figure.",
    }
    arms: ClassVar = {"gaussian": "Gaussian inputs", "uniform": "uniform inputs"}

    over: Widths = (5,)
    """student widths, as multiples of the teacher width"""
    polarity: Polarities = (1,)
    """polarity p: the strength of teacher node j is proportional to 1/j^p"""
    early: PositiveInt = 2
    """early epoch, at which strong nodes should be ahead"""

    @model_validator(mode="after")
    def _both(self):
        if self.inputs != "gaussian" and "inputs" in self.model_fields_set:
            raise ValueError("uniform-inputs compares both kinds of inputs: leave out the field inputs")
        return self

    def in_arm(self, arm: str) -> "UniformInputs":
        # half the width of the interval whose uniform distribution has standard deviation σ
        half = {"inputs": "uniform", "sigma": math.sqrt(3) * self.sigma}
        return self.model_copy(update=half if arm == "uniform" else {})

    def looks(self) -> tuple[int, ...]:
        return tuple(sorted({0, min(self.early, self.epochs), self.epochs}))

    def read(self, snapshot: Observation) -> Reading:
        return {
            "best": (("lane", "node"), snapshot.rho.amax(-1)),
            "specialized": (("lane", "student"), snapshot.rho.amax(-2)),
            "fan_out": (("lane", "student"), snapshot.fan_out),
            "loss": (("lane",), snapshot.loss),
        }

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        figure, axes = panels(1, 2, width=3.4, height=2.8)
        left, right = axes[0]
        best, last = result.best.mean(("seed", "over", "polarity")), result.sel(epoch=self.epochs)
        for i, (arm, label) in enumerate(self.arms.items()):
            left.plot(best.node, best.sel(arm=arm, epoch=self.epochs), ms=4, label=label, **look(i))
            left.plot(best.node, best.sel(arm=arm, epoch=min(self.early, self.epochs)), ls=":", color=look(i)["color"])
            x, y = (
                last[name].sel(arm=arm).transpose("seed", ...).values.ravel() for name in ("specialized", "fan_out")
            )
            right.plot(x, y, ls="none", ms=2, alpha=0.5, **{k: look(i)[k] for k in ("color", "marker")})
        left.set(xlabel="teacher node", ylabel="best correlation", ylim=(0, 1.02))
        right.set(xlabel="best correlation of student", ylabel="fan-out")
        headline(figure, f"{result.sizes['seed']} seeds, after {self.early} (dotted) and {self.epochs} epochs")
        legend(figure, left)
        return {"uniform": figure}

    def controls(self, result: xr.Dataset) -> list[Control]:
        start = before_training(result)
        untrained = xr.where(result.arm == "uniform", start.best, result.best).transpose(*result.best.dims)
        return [
            Control("students that were not trained on uniform inputs", ("SS.F7.uniform.similar",),
                    result.assign(best=untrained)),
            Control("strengths assigned to the nodes at random", ("SS.F7.uniform.strong-first",),
                    shuffled(result, "node", "strength", root=self.root)),
            Control("fan-outs assigned to the students at random", ("SS.F7.uniform.follow",),
                    shuffled(result, "student", "fan_out", root=self.root)),
        ]  # fmt: skip

    def statements(self, result: xr.Dataset) -> list[Statement]:
        rho = result.best.mean(("over", "polarity", "node"), skipna=False).transpose("seed", ...)
        early = min(self.early, self.epochs)
        means = {arm: float(rho.sel(arm=arm, epoch=self.epochs).mean()) for arm in self.arms}
        return [
            Statement(
                "SS.F7.uniform.similar", "With uniform inputs, students follow their teachers as well as with Gaussian",
                np.abs(self.apart(rho, "uniform", "gaussian", epoch=self.epochs)), "<", SIMILAR, within=(0, 1),
                note=f"It is {means['uniform']:.3f} with uniform and {means['gaussian']:.3f} with Gaussian inputs. SS "
                f"gives no number; {SIMILAR:g} was chosen before the first run.",
                statistic=f"distance between the mean best correlations of both kinds of inputs after {self.epochs} "
                "epochs, in the same seed",
            ),
            *self._of_uniform(result.sel(arm="uniform"), early),
        ]  # fmt: skip

    def _of_uniform(self, result: xr.Dataset, early: int) -> list[Statement]:
        """Statements of the figures for Gaussian inputs, about uniform inputs."""
        networks = ("seed", "over", "polarity")
        at_early, last = (result.sel(epoch=epoch).transpose(*networks, ...) for epoch in (early, self.epochs))
        pairs = {
            "strong-first": ("With uniform inputs, strong teacher nodes are recovered first",
                             at_early.strength, at_early.best,
                             f"strength and best correlation after {early} epochs, over the nodes of a teacher"),
            "follow": ("With uniform inputs, fan-out grows with specialization",
                       last.specialized.round(3), last.fan_out,
                       "best correlation and fan-out, over the students of a network"),
        }  # fmt: skip
        return [
            Statement(
                f"SS.F7.uniform.{name}", says, _ranks(a.values, b.values).mean((1, 2)), within=(-1, 1),
                statistic=f"rank correlation between {words}",
            )
            for name, (says, a, b, words) in pairs.items()
        ]  # fmt: skip


def _ranks(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Rank correlations along the last axis, without the NaN that pads narrow networks."""
    found = np.full(a.shape[:-1], np.nan)
    for place in np.ndindex(found.shape):
        here = ~np.isnan(a[place])
        found[place] = rank_correlation(a[place][here], b[place][here])
    return found


STUDY = UniformInputs
