"""S0 section 5.3: students that follow no teacher node are initialized again during training."""

from typing import ClassVar

import numpy as np
import torch
import xarray as xr
from jaxtyping import Bool
from matplotlib.figure import Figure
from pydantic import PositiveInt, model_validator
from torch import Tensor

from relulab.core.seeds import Role, stream
from relulab.data.task import Task
from relulab.lab.control import Control
from relulab.lab.show.figure import GRAY, headline, legend, panels
from relulab.lab.study import Tick, Unit
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.studies.arms import Arms
from relulab.subjects.specialization.studies.shuffled import shuffled
from relulab.subjects.specialization.studies.statements import Statement
from relulab.subjects.specialization.studies.two_layer_students import SMOKE, Polarities, Widths
from relulab.subjects.specialization.tools.observation import Observation, Observer
from relulab.train.fit import fit
from relulab.train.probe import Probe, Reading


class Reinitialization(Arms):
    """Do students recover more teacher nodes if those that follow none are initialized again during training?

    S0 suggests it for students that point away from the remaining weak nodes and would turn only slowly. Once during
    training, the weights of all students that follow no teacher node are drawn again as at the start, and training goes
    on. The same seeds are trained on without a change, and with equally many random students initialized again.
    """

    name: ClassVar = "reinitialization"
    ids: ClassVar = ("S0.T7.reinit",)
    title: ClassVar = "Students that are initialized again"
    source: ClassVar = "S0 section 5.3, slow convergence to weak nodes"
    remarks: ClassVar = "S0 has no experiment for this suggestion: the epoch and all sizes are our choice."
    presets: ClassVar = {
        "smoke": {**SMOKE, "over": (1,), "again": 1},
        "quick": {
            "d": 40, "C": 20, "m": 10, "seeds": 8, "epochs": 18, "again": 6, "n_train": 5000, "n_held_out": 2000,
        },
    }  # fmt: skip
    captions: ClassVar = {
        "reinitialization": "Share of teacher nodes recovered (left) and log₁₀ evaluation loss (right) over the "
        "epochs, for students that train on, students of which those that follow no teacher node are initialized again "
        "at the dotted line, and students of which equally many random ones are. Lines with symbols are means over "
        "seeds, shaded "
        "areas two standard errors. Tests a suggestion of S0, which has no figure.",
    }
    arms: ClassVar = {"on": "train on", "chosen": "initialize those that follow no node", "random": "initialize random"}

    over: Widths = (1,)
    """student widths, as multiples of the teacher width"""
    polarity: Polarities = (1,)
    """polarity p: the strength of teacher node j is proportional to 1/j^p"""
    again: PositiveInt = 30
    """epoch after which students are initialized again"""

    @model_validator(mode="after")
    def _during(self):
        if self.again >= self.epochs:
            raise ValueError(f"again = {self.again} is not before the last epoch, {self.epochs}: choose a smaller one")
        return self

    def in_arm(self, arm: str) -> "Reinitialization":
        return self

    def looks(self) -> tuple[int, ...]:
        return tuple(sorted({0, self.again, *np.linspace(1, self.epochs, 12).round().astype(int).tolist()}))

    def read(self, snapshot: Observation) -> Reading:
        rho = snapshot.rho
        return {
            "best": (("lane", "node"), rho.amax(-1)),
            "loss": (("lane",), snapshot.loss),
            "idle": (("lane",), (rho.amax(-2) <= self.threshold).to(rho.dtype).mean(-1)),
        }

    def train(self, unit: Unit, student: MLP, task: Task, observe: Observer, tick: Tick) -> xr.Dataset:
        first = self._part(0, self.again, student, task, observe, tick)
        if unit.values["arm"] != "on":
            idle = observe(student).rho.amax(-2) <= self.threshold
            for lane, seed in enumerate(task.seeds):
                self.initialize(student, lane, self._chosen(idle[lane], seed, unit.values["arm"]), seed)
        second = self._part(self.again, self.epochs, student, task, observe, tick)
        early, late = (part.diverged_at for part in (first, second))
        parts = xr.concat([first.drop_vars("diverged_at"), second.drop_vars("diverged_at")], "epoch")
        return parts.assign(diverged_at=early.where(early >= 0, late))

    def _part(self, start: int, end: int, student: MLP, task: Task, observe: Observer, tick: Tick) -> xr.Dataset:
        """Train from one epoch to another."""
        looks = [epoch for epoch in self.looks() if start < epoch <= end or epoch == start == 0]
        return fit(
            student, task, epochs=end - start, steps=self.steps, batch=self.batch, resume=start > 0, tick=tick,
            **self.training(), probes=[Probe(looks, lambda net: self.read(observe(net)))],
        )  # fmt: skip

    def _chosen(self, idle: Bool[Tensor, " n"], seed: int, arm: str) -> Bool[Tensor, " n"]:
        """Return which students to initialize: the idle ones, or equally many at random."""
        if arm == "chosen":
            return idle
        return idle[torch.from_numpy(stream(self.root, Role.CHANCE, seed).permutation(len(idle)))]

    @torch.no_grad()
    def initialize(self, student: MLP, lane: int, chosen: Bool[Tensor, " n"], seed: int) -> None:
        """Draw the weights of some students of a lane again, in place, with the law of the start.

        Args:
            student: The students.
            lane: Which lane.
            chosen: Which of its hidden nodes, (n,).
            seed: The seed of the lane.
        """
        rng = stream(self.root, Role.STUDENT, seed, self.again)
        W, V = (torch.from_numpy(rng.normal(scale=self.student_std, size=w.shape[1:])) for w in student.W)
        student.W[0].data[lane][:, chosen] = W[:, chosen].to(student.dtype)
        student.W[1].data[lane][chosen] = V[chosen].to(student.dtype)
        student.b[0].data[lane, 0, chosen] = 0

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        figure, axes = panels(1, 2, width=3.4, height=2.8)
        left, right = axes[0]
        self.curves(left, self.share(result))
        self.curves(right, np.log10(result.loss).mean(("over", "polarity")).transpose("seed", "arm", "epoch"))
        for ax in axes[0]:
            ax.axvline(self.again, color=GRAY, ls=":", lw=1)
        left.set(ylabel="share of nodes recovered", ylim=(-0.02, 1.02))
        right.set(ylabel="log₁₀ evaluation loss")
        headline(figure, f"{result.sizes['seed']} seeds, initialized again after {self.again} epochs")
        legend(figure, left)
        return {"reinitialization": figure}

    def controls(self, result: xr.Dataset) -> list[Control]:
        by_chance = xr.where(result.arm == "chosen", result.best.sel(arm="random", drop=True), result.best)
        return [
            Control("random students that are initialized again", ("S0.T7.reinit.more",),
                    result.assign(best=by_chance.transpose(*result.best.dims))),
            Control("ways of training that are interchanged at random", ("S0.T7.reinit.chosen",),
                    shuffled(result, "arm", "best", root=self.root)),
        ]  # fmt: skip

    def statements(self, result: xr.Dataset) -> list[Statement]:
        shares = self.share(result)
        idle, mean = float(result.idle.sel(arm="chosen", epoch=self.again).mean()), shares.mean("seed")
        course = ", ".join(
            f"{float(mean.sel(arm=arm, epoch=self.epochs)):.1%} ({label})" for arm, label in self.arms.items()
        )
        difference = f"share of teacher nodes recovered after {self.epochs} epochs, difference"
        return [
            Statement(
                "S0.T7.reinit.more", "Initializing students again that follow no node recovers more teacher nodes",
                self.apart(shares, "chosen", "on", epoch=self.epochs), within=(-1, 1),
                note=f"After {self.again} epochs, {idle:.0%} of the students follow no node. Recovered at the end: "
                f"{course}.",
                statistic=f"{difference} initialized again − trained on, in the same seed",
            ),
            Statement(
                "S0.T7.reinit.chosen", "It recovers more teacher nodes than initializing random students again",
                self.apart(shares, "chosen", "random", epoch=self.epochs), within=(-1, 1),
                statistic=f"{difference} students that follow no node − equally many random ones, in the same seed",
            ),
        ]  # fmt: skip


STUDY = Reinitialization
