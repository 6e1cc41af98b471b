"""Beyond SS: how closely students at zero gradient lie on their teacher's nodes, against the number of points."""

import math
from typing import Annotated, ClassVar

import numpy as np
import torch
import xarray as xr
from annotated_types import Len
from jaxtyping import Bool
from matplotlib.figure import Figure
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt
from torch import Tensor

from relulab.data.inputs import Gaussian
from relulab.data.task import Task
from relulab.lab.claim import Claim
from relulab.lab.study import Study, Tick, Unit
from relulab.nets.initial import small_normal
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.studies.zero_gradient.claims import NEAR, cut, fitted, slope, spare
from relulab.subjects.specialization.studies.zero_gradient.drawing import alignments, merging, pruning
from relulab.subjects.specialization.tools.levenberg_marquardt import Fit, levenberg_marquardt
from relulab.subjects.specialization.tools.nodes import lowest
from relulab.subjects.specialization.tools.pruning import prune
from relulab.subjects.specialization.tools.teacher import teacher
from relulab.train.sgd import sgd

MERGED = tuple(10.0**k for k in range(-8, 0))  # tolerances at which nodes are merged


class ZeroGradient(Study):
    """At zero gradient on every one of N points, how far is each teacher node from its nearest student?

    SGD and then Levenberg–Marquardt in float64 bring students to max |g₁| < 1e-10. On finitely many points that does
    not force exact alignment: students between which no point lies are interchangeable. Theorem 3 of SS asks for
    N ~ 1/ε points, so the alignment error ε of the worst node should fall about as 1/N. The same students are then
    pruned: nodes aligned up to a tolerance are merged, and the change of the outputs on held-out points is measured.
    """

    name: ClassVar = "zero-gradient"
    ids: ClassVar = ("SS.X1",)
    title: ClassVar = "Alignment at zero gradient against the number of points"
    source: ClassVar = "beyond SS; its theorem 3 has N ~ 1/ε"
    presets: ClassVar = {
        "smoke": {"points": (200, 400), "seeds": 2, "epochs": 2, "wide": 2, "over": 2},
        "quick": {"seeds": 8},
    }

    d: PositiveInt = 10
    """input dimension"""
    C: PositiveInt = 5
    """outputs"""
    m: PositiveInt = 5
    """hidden nodes of the teacher"""
    over: PositiveInt = 5
    """student width, in teacher widths"""
    wide: PositiveInt = 10
    """width of the students that are cut down to the teacher's width and a fifth"""
    polarity: NonNegativeFloat = 1
    """p: strengths fall as 1/j^p"""
    points: Annotated[tuple[PositiveInt, ...], Len(min_length=2)] = (500, 2000, 8000, 20_000)
    """numbers of training points"""
    seeds: PositiveInt = 16
    """students of each kind"""
    epochs: PositiveInt = 20
    """epochs of 1,000 steps of SGD before the fit"""
    sigma: PositiveFloat = 1.5
    """standard deviation of the inputs"""
    tolerance: PositiveFloat = 1e-10
    """largest |g₁| at any point and node"""

    def units(self) -> list[Unit]:
        kinds = [(self.over, N) for N in self.points] + [(self.wide, self.points[1])]
        return [
            Unit(f"over{over}-points{N}-seed{seed}", {"over": over, "N": N, "seed": seed}, self.epochs * 1000, cost)
            for over, N in dict.fromkeys(kinds)
            for seed in range(self.seeds)
            # about 60 steps, each a product of N rows with all weights of the lowest layer and as much for the rest
            for cost in (140 * 2.0 * N * (over * self.m * (self.d + 1)) ** 2,)
        ]

    @property
    def kept(self) -> range:
        """Numbers of nodes that a wide student is cut down to."""
        return range(1, min(3, self.wide) * self.m + 1)

    def student(self, unit: Unit, tick: Tick) -> tuple[MLP, MLP, Task, Fit]:
        """Teacher, student at zero gradient, the task, and how the fit ended."""
        over, N, seed = (unit.values[key] for key in ("over", "N", "seed"))
        star = teacher((self.d, self.m, self.C), seeds=[seed], polarity=self.polarity, root=self.root)
        task = Task(star, Gaussian(self.d, self.sigma), seeds=[seed], n_train=N, n_held_out=5000, root=self.root)
        student = small_normal((self.d, over * self.m, self.C), [seed], root=self.root)
        sgd(student, task, epochs=self.epochs, tick=tick)
        star, student = star.double(), student.double()
        x = task.train().of_lane(0)[0].double()
        fit = levenberg_marquardt(student, x, star(x)[0].detach(), tolerance=self.tolerance)
        return star, student, task, fit

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        star, student, task, fit = self.student(unit, tick)
        x = task.held_out().of_lane(0)[0].double()
        distance = alignment(lowest(star), lowest(student), either_side=True)
        epsilon = distance.amin(1)
        merged = [prune(student, x, epsilon=e, keep=10**9) for e in MERGED]
        over, N, seed = (unit.values[key] for key in ("over", "N", "seed"))
        lost = [prune(student, x, epsilon=NEAR, keep=n).lost if over == self.wide else np.nan for n in self.kept]
        with torch.no_grad():
            gap = float((student(x) - star(x)).square().mean())
        data = xr.Dataset(
            {
                "gradient": fit.gradient,
                "residual": math.sqrt(fit.loss),
                "fits": float(fit.steps),
                "epsilon": ("node", epsilon.numpy()),
                "strength": ("node", star.W[1].data[0].norm(dim=-1).numpy()),
                "loss": gap,
                "change": ("merged", [p.largest for p in merged]),
                "left": ("merged", [float(p.net.widths[1]) for p in merged]),
                "spare": share_of(student, distance.amin(0) > NEAR, x),
                "lost": ("kept", lost),
            },
            coords={"node": range(1, self.m + 1), "merged": list(MERGED), "kept": list(self.kept)},
        )
        return data.assign_coords(over=over, points=N, seed=seed).expand_dims(("over", "points", "seed"))

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        narrow, wide = result.sel(over=self.over), result.sel(over=self.wide, points=self.points[1])
        return {
            "alignment": alignments(narrow),
            "merging": merging(narrow),
            "pruning": pruning(wide.lost, self.m),
        }

    def claims(self, result: xr.Dataset) -> list[Claim]:
        narrow, wide = (fitted(result.sel(over=over), self.tolerance) for over in (self.over, self.wide))
        narrow = narrow.sel(points=list(self.points))
        return [slope(narrow.epsilon), spare(narrow.spare), cut(wide.lost.sel(points=self.points[1]), self.m)]


@torch.no_grad()
def share_of(net: MLP, some: Bool[Tensor, " n"], x: Tensor) -> float:
    """The share of the output's variance that some of the nodes add.

    Args:
        net: one network of two layers.
        some: those nodes.
        x: points.
    """
    f, y = (t[0] for t in net.layers(x))
    added = f[:, some] @ net.W[1][0][some]
    return float((added - added.mean(0)).square().sum() / (y - y.mean(0)).square().sum())


STUDY = ZeroGradient
