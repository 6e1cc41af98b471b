"""SS figure 5 (S0 figure 3): fan-out of every student node versus its best correlation with a teacher node."""

import math
from typing import ClassVar

import torch
import xarray as xr
from matplotlib.figure import Figure
from pydantic import PositiveInt
from torch import Tensor

from relulab.core.seeds import Role, stream
from relulab.data.task import Task
from relulab.lab.control import Control
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.correlation import rho_mean
from relulab.subjects.specialization.studies.fan_out_correlation.claims import (
    polarized_harder,
    prunable,
    small_fan_out,
    width_helps,
)
from relulab.subjects.specialization.studies.fan_out_correlation.drawing import fan_outs, pruning
from relulab.subjects.specialization.studies.fan_out_correlation.measures import lost_share, some_of, strongest_of
from relulab.subjects.specialization.studies.shuffled import shuffled
from relulab.subjects.specialization.studies.statements import Statement
from relulab.subjects.specialization.studies.two_layer_students import SMOKE, Correlation, TwoLayer, end_loss
from relulab.subjects.specialization.tools.observation import Observation
from relulab.train.probe import Reading

PRUNED_ON = 5000  # held-out points used to prune students, and as many to test them
NEAR = 0.05  # nodes with an alignment error up to this are merged before pruning


class FanOutCorrelation(TwoLayer):
    """Do student nodes that follow no teacher node have a small fan-out?

    For every student node the study measures the specialization, which is the best correlation with a teacher node on
    held-out points, and the fan-out ‖v_k‖, which is the norm of its output weights. The paper finds that un-specialized
    nodes of over-realized students have a small fan-out. If so, they can be pruned, which is tested on the widest
    students.
    """

    name: ClassVar = "fan-out-correlation"
    ids: ClassVar = ("SS.F5", "S0.F3")
    title: ClassVar = "Fan-out versus specialization"
    source: ClassVar = "SS figure 5; S0 figure 3"
    presets: ClassVar = {"smoke": SMOKE, "quick": {"seeds": 8, "epochs": 20}}
    captions: ClassVar = {
        "fan-out": "Fan-out of every student node versus its best correlation with a teacher node; one dot per node, "
        "colors are seeds. Rows are teacher polarities, columns are student widths. In over-realized networks the "
        "upper left stays empty: nodes with a low correlation have a small fan-out. Answers figure 5 of SS and figure "
        "3 of S0.",
        "pruning": "Share of the held-out variance that the widest students lose when they are pruned to a few nodes "
        "and their top weights are refitted, versus the number of nodes kept; one panel per teacher polarity. Nodes "
        "are kept by their contribution (blue, solid line with circles) or at random (orange-red, dashed line with "
        "squares); thin lines are seeds, thick lines medians. Our addition: it tests that un-specialized nodes can be "
        "removed.",
    }
    # 2: the widest students are pruned as well; 3: the variable "specialized" was renamed; 4: pruned before training
    version: ClassVar = 4

    m: PositiveInt = 10
    """number of hidden nodes of the teacher"""
    threshold: Correlation = 0.95
    """correlation above which a student node counts as specialized"""

    def looks(self) -> tuple[int, ...]:
        return (0, self.epochs)

    def read(self, snapshot: Observation) -> Reading:
        return {
            "specialized": (("lane", "student"), snapshot.rho.amax(-2)),
            "fan_out": (("lane", "student"), snapshot.fan_out),
            "rho_mean": (("lane",), rho_mean(snapshot.rho)),
            "loss": (("lane",), snapshot.loss),
        }

    @property
    def kept(self) -> list[int]:
        """Numbers of nodes to which the widest students are pruned: 1, 1.2, 2 and 5 times the teacher's width."""
        return [math.ceil(share * self.m) for share in (1, 1.2, 2, 5) if share <= max(self.over)]

    def after(self, student: MLP, task: Task, over: int) -> Reading:
        """Measure the share of the held-out variance that the widest students lose by pruning, and at random.

        Students are pruned, without their teacher, on one half of the held-out points and tested on the other half.
        """
        if over < max(self.over) or self.slope:  # pruning is for plain ReLUs
            return {}
        points, start = task.held_out(), self.students(task, over)
        lost, before, of_seed = [], [], {}
        for i, seed in enumerate(task.seeds):
            x = points.of_lane(i)[0].double()
            if seed not in of_seed:  # all polarities of a seed start with the same weights
                of_seed[seed] = self._pruned(start.lane(i), x, seed)
            lost.append(self._pruned(student.lane(i), x, seed))
            before.append(of_seed[seed])
        found = {"": torch.tensor(lost), "_before": torch.tensor(before)}
        kinds = enumerate(("lost", "lost_by_chance"))
        return {f"{name}{when}": (("lane", "cut"), values[:, k]) for k, name in kinds for when, values in found.items()}

    def _pruned(self, net: MLP, x: Tensor, seed: int) -> list[list[float]]:
        """Return the shares of variance lost when a network is pruned by contribution, and at random."""
        fit, test = x[: len(x) // 2][:PRUNED_ON], x[len(x) // 2 :][:PRUNED_ON]
        if not all(p.isfinite().all() for p in net.parameters()):  # training diverged
            return [[math.nan] * len(self.kept)] * 2
        chance = torch.from_numpy(stream(self.root, Role.CHANCE, seed).permutation(net.widths[1]))
        pruned = [lost_share(net, strongest_of(net, fit, n, NEAR), test) for n in self.kept]
        return [pruned, [lost_share(net, some_of(net, fit, chance[:n]), test) for n in self.kept]]

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        figures = {"fan-out": fan_outs(result.sel(epoch=self.epochs), self.polarity, self.over)}
        if not self.slope:
            figures["pruning"] = pruning(result.sel(over=max(self.over)), self.polarity, self.kept)
        return figures

    def statistics(self, result: xr.Dataset) -> dict[str, xr.DataArray]:
        rho = result.rho_mean.sel(epoch=self.epochs, drop=True).mean(("over", "polarity"), skipna=False)
        words = f"ρ_mean, the mean over teacher nodes of the best correlation, after {self.epochs} epochs"
        return {words: rho, **end_loss(result, self.epochs)}

    def controls(self, result: xr.Dataset) -> list[Control]:
        other = {} if self.slope else {"lost": result.lost_by_chance.roll(seed=1)}
        return [
            Control("fan-outs assigned to the students at random", ("SS.F5.follow", "SS.F5.small", "SS.F5.corner"),
                    shuffled(result, "student", "fan_out", root=self.root)),
            Control("polarities assigned to the teachers at random", ("SS.F5.polarized-harder", "SS.F5.width-helps"),
                    shuffled(result, "polarity", "rho_mean", root=self.root)),
            Control("random nodes of another seed in the place of those that contribute most", ("SS.F5.prunable",),
                    result.assign(other)),
        ]  # fmt: skip

    def statements(self, result: xr.Dataset) -> list[Statement]:
        last = result.sel(epoch=self.epochs)
        return [
            *small_fan_out(last, self.threshold),
            *polarized_harder(last.rho_mean),
            *(prunable(result.sel(over=max(self.over)), self.polarity, self.kept, self.m) if not self.slope else []),
            *width_helps(last.rho_mean),
        ]


STUDY = FanOutCorrelation
