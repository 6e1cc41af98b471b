"""SS figure 5 (S0 figure 3): fan-out of every student node against its best correlation with a teacher node."""

import math
from typing import ClassVar

import torch
import xarray as xr
from matplotlib.figure import Figure
from pydantic import PositiveInt

from relulab.core.seeds import Role, stream
from relulab.data.task import Task
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.correlation import rho_mean
from relulab.subjects.specialization.studies.fan_out_correlation.claims import (
    polarized_harder,
    prunable,
    small_fan_out,
    width_helps,
)
from relulab.subjects.specialization.studies.fan_out_correlation.drawing import fan_outs, pruning
from relulab.subjects.specialization.studies.fan_out_correlation.measures import lost_share, some_of
from relulab.subjects.specialization.studies.statements import Statement
from relulab.subjects.specialization.studies.two_layer_students import SMOKE, Correlation, TwoLayer
from relulab.subjects.specialization.tools.observation import Observation
from relulab.subjects.specialization.tools.pruning import prune
from relulab.train.probe import Reading

PRUNED_ON = 5000  # held-out points on which students are pruned
NEAR = 0.05  # alignment up to which nodes are merged first


class FanOutCorrelation(TwoLayer):
    """Un-specialized students have small fan-out: no point in the upper left once students are over-realized.

    Each point is a student node: how well it follows its best teacher node on held-out points, and the norm ‖v_k‖ of
    the weights that lead out of it. A color is a seed.
    """

    name: ClassVar = "fan-out-correlation"
    ids: ClassVar = ("SS.F5",)
    title: ClassVar = "Fan-out against specialization"
    source: ClassVar = "SS figure 5; S0 figure 3"
    presets: ClassVar = {"smoke": SMOKE, "quick": {"seeds": 8, "epochs": 20}}
    version: ClassVar = 2  # the widest students are pruned as well

    m: PositiveInt = 10
    """hidden nodes of the teacher"""
    threshold: Correlation = 0.95
    """correlation above which a student is specialized"""

    def looks(self) -> tuple[int, ...]:
        return (0, self.epochs)

    def read(self, seen: Observation) -> Reading:
        return {
            "specialized": (("lane", "student"), seen.rho.amax(-2)),
            "fan_out": (("lane", "student"), seen.fan_out),
            "rho_mean": (("lane",), rho_mean(seen.rho)),
            "loss": (("lane",), seen.loss),
        }

    @property
    def kept(self) -> list[int]:
        """Numbers of nodes that the widest students are cut down to: teacher's width, a fifth more, two and five."""
        return [math.ceil(share * self.m) for share in (1, 1.2, 2, 5) if share <= max(self.over)]

    def after(self, student: MLP, task: Task, over: int) -> Reading:
        """Share of the held-out variance lost in the widest students, cut without their teacher and by chance.

        They are cut on one half of the held-out points and looked at on the other.
        """
        if over < max(self.over):
            return {}
        points, found = task.held_out(), []
        for i, seed in enumerate(task.seeds):
            x, net = points.of_lane(i)[0].double(), student.lane(i)
            fit, test = x[: len(x) // 2][:PRUNED_ON], x[len(x) // 2 :][:PRUNED_ON]
            if not all(p.isfinite().all() for p in net.parameters()):  # it diverged
                found.append([[math.nan] * len(self.kept)] * 2)
                continue
            chance = torch.from_numpy(stream(self.root, Role.CHANCE, seed).permutation(net.widths[1]))
            cut = [lost_share(net, prune(net, fit, epsilon=NEAR, keep=n, refit=True).net, test) for n in self.kept]
            found.append([cut, [lost_share(net, some_of(net, fit, chance[:n]), test) for n in self.kept]])
        lost = torch.tensor(found, dtype=torch.float64)
        return {"lost": (("lane", "cut"), lost[:, 0]), "lost_by_chance": (("lane", "cut"), lost[:, 1])}

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        return {
            "fan-out": fan_outs(result.sel(epoch=self.epochs), self.polarity, self.over),
            "pruning": pruning(result.sel(over=max(self.over)), self.polarity, self.kept),
        }

    def statements(self, result: xr.Dataset) -> list[Statement]:
        last = result.sel(epoch=self.epochs)
        return [
            *small_fan_out(last, self.threshold),
            polarized_harder(last.rho_mean),
            prunable(result.sel(over=max(self.over)), self.polarity, self.kept, self.m),
            width_helps(last.rho_mean),
        ]


STUDY = FanOutCorrelation
