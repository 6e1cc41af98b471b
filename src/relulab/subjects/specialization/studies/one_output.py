"""S0 section 5: teachers with one output are harder to recover than teachers with many."""

from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from pydantic import PositiveFloat, PositiveInt

from relulab.data.task import Task
from relulab.lab.claim import rank_correlation
from relulab.lab.control import Control
from relulab.lab.show.figure import headline, legend, look, panels
from relulab.subjects.specialization.studies.arms import Arms
from relulab.subjects.specialization.studies.shuffled import shuffled
from relulab.subjects.specialization.studies.statements import Statement
from relulab.subjects.specialization.studies.two_layer_students import SMOKE, Polarities, Widths, recovered_nodes
from relulab.subjects.specialization.tools.observation import Observation
from relulab.train.probe import Reading


class OneOutput(Arms):
    """Are teachers with a single output harder to recover, and are small output weights the reason?

    S0 says so in section 5: with one output, one small weight blocks the recovery of a teacher node, whereas the norm
    of many output weights is rarely small. The study trains the same students on teachers with C outputs, with one
    output and random weights, and with one output and weights ±1. All teachers of a seed have the same nodes, and their
    output weights are scaled to the same root mean square strength, so that only the number of outputs and the spread
    of the strengths differ.
    """

    name: ClassVar = "one-output"
    ids: ClassVar = ("S0.T5.one-output",)
    title: ClassVar = "Teachers with one output"
    source: ClassVar = "S0 section 5, remark on theorem 5"
    remarks: ClassVar = "S0 has no experiment for this statement: sizes and strengths are our choice."
    symbols: ClassVar = {"C": "number of outputs", "σ": "standard deviation of the inputs"}
    presets: ClassVar = {
        "smoke": {**SMOKE, "polarity": (0.0,)},
        "quick": {"d": 40, "C": 20, "m": 10, "seeds": 8, "epochs": 8, "n_train": 5000, "n_held_out": 2000},
    }
    captions: ClassVar = {
        "one-output": "Left: share of teacher nodes recovered over the epochs, for teachers with many outputs and with "
        "one, whose weights are random or all of the same size; lines with symbols are means over seeds, shaded "
        "areas two standard "
        "errors. Right: correlation of each teacher node with its best student after training, versus the strength of "
        "the node relative to the mean, one symbol per node, for many outputs and for one output with random "
        "weights. Tests a statement of "
        "S0, which has no figure.",
    }
    arms: ClassVar = {"many": "many outputs", "one": "one output", "equal": "one output, equal weights"}

    over: Widths = (1, 5)
    """student widths, as multiples of the teacher width"""
    polarity: Polarities = (0,)
    """polarity p: the strength of teacher node j is proportional to 1/j^p"""
    epochs: PositiveInt = 40
    """number of training epochs"""
    strength: PositiveFloat = 4.5
    """root mean square strength of the nodes of every teacher; that of the authors' teachers is 4.6"""

    def in_arm(self, arm: str) -> "OneOutput":
        changes = {"many": {}, "one": {"C": 1}, "equal": {"C": 1, "fan_out": "exact"}}
        return self.model_copy(update=changes[arm])

    def task(self, seeds: tuple[int, ...]) -> Task:
        task = super().task(seeds)
        for V in task.teacher.W[1].data:
            V *= self.strength / V.norm(dim=-1).square().mean().sqrt()
        return task

    def looks(self) -> tuple[int, ...]:
        return tuple(sorted({0, *np.linspace(1, self.epochs, 8).round().astype(int).tolist()}))

    def read(self, snapshot: Observation) -> Reading:
        return {"best": (("lane", "node"), snapshot.rho.amax(-1)), "loss": (("lane",), snapshot.loss)}

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        figure, axes = panels(1, 2, width=3.4, height=2.8)
        left, right = axes[0]
        self.curves(left, self.share(result))
        left.set(ylabel="share of nodes recovered", ylim=(-0.02, 1.02))
        last = result.sel(epoch=self.epochs)
        for i, arm in enumerate(("many", "one")):
            x, y = (last[name].sel(arm=arm).transpose("seed", ...).values.ravel() for name in ("strength", "best"))
            right.plot(x / self.strength, y, ls="none", ms=3, alpha=0.6, **{k: look(i)[k] for k in ("color", "marker")})
        right.set(xlabel="strength of teacher node, relative", ylabel="best correlation")
        headline(figure, f"{result.sizes['seed']} seeds")
        legend(figure, left)
        return {"one-output": figure}

    def controls(self, result: xr.Dataset) -> list[Control]:
        arms = shuffled(result, "arm", "best", root=self.root)
        return [
            Control("teachers whose numbers of outputs are interchanged at random",
                    ("S0.T5.one-output.fewer", "S0.T5.one-output.equal"), arms),
            Control("strengths assigned to the nodes at random", ("S0.T5.one-output.weak",),
                    shuffled(result, "node", "strength", root=self.root)),
        ]  # fmt: skip

    def statements(self, result: xr.Dataset) -> list[Statement]:
        shares = self.share(result)
        by_width = recovered_nodes(result, self.threshold).sel(epoch=self.epochs).mean(("seed", "polarity", "node"))
        found = "; ".join(
            f"{over}× students recover {float(by_width.sel(over=over, arm='many')):.0%} of the nodes with {self.C} "
            f"outputs and {float(by_width.sel(over=over, arm='one')):.0%} with one"
            for over in self.over
        )
        one = result.sel(arm="one", epoch=self.epochs).transpose("seed", "over", "polarity", ...)
        ranks = one.loss.copy(data=rank_correlation(one.strength.values, one.best.values))
        difference = f"share of teacher nodes recovered after {self.epochs} epochs, difference"
        ours = "S0 gives this reason. The test of it is our addition."
        return [
            Statement(
                "S0.T5.one-output.fewer", "Teachers with one output are harder to recover than teachers with many",
                self.apart(shares, "many", "one", epoch=self.epochs), within=(-1, 1),
                note=f"{found}. The widths were chosen after a first run with 5× students only.",
                statistic=f"{difference} {self.C} outputs − one output",
            ),
            Statement(
                "S0.T5.one-output.weak", "With one output, teacher nodes with a small output weight are missed",
                ranks.mean(("over", "polarity"), skipna=False).values, within=(-1, 1),
                statistic=f"rank correlation between strength and best correlation after {self.epochs} epochs, over "
                "the nodes of a teacher with one output",
            ),
            Statement(
                "S0.T5.one-output.equal", "With one output, weights of equal size make nodes easier to recover",
                self.apart(shares, "equal", "one", epoch=self.epochs), within=(-1, 1), note=ours,
                statistic=f"{difference} weights of equal size − random weights, one output",
            ),
        ]  # fmt: skip


STUDY = OneOutput
