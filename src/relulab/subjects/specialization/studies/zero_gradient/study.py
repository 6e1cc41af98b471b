"""Beyond SS: alignment of students at zero gradient with their teacher versus the number of points."""

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
from relulab.lab.control import Control
from relulab.lab.study import Study, Tick, Unit
from relulab.nets.initial import small_normal
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.studies.zero_gradient.claims import NEAR, cut, fitted, slope, spare
from relulab.subjects.specialization.studies.zero_gradient.drawing import alignments, merging, pruning
from relulab.subjects.specialization.tools.levenberg_marquardt import Fit, levenberg_marquardt
from relulab.subjects.specialization.tools.nodes import lowest
from relulab.subjects.specialization.tools.teacher import teacher
from relulab.subjects.specialization.tools.two_layer_pruning import prune_two_layers
from relulab.train.sgd import sgd

MERGED = tuple(10.0**k for k in range(-8, 0))  # tolerances of merging


class ZeroGradient(Study):
    """How far is each teacher node from its nearest student when the gradient is zero at all N training points?

    Students are trained by SGD and then by Levenberg–Marquardt in float64 until the gradient is below 10⁻¹⁰. With
    finitely many points this does not force exact alignment, because nodes are interchangeable when no point lies
    between their boundaries. Theorem 3 of SS requires N ~ 1/ε points, so the alignment error ε of the worst node should
    fall about as 1/N. The same students are then pruned: nodes aligned up to a tolerance are merged, and the change of
    the held-out outputs is measured.
    """

    name: ClassVar = "zero-gradient"
    ids: ClassVar = ("SS.X1",)
    title: ClassVar = "Alignment at zero gradient versus the number of points"
    source: ClassVar = "beyond SS; theorem 3 of SS has N ~ 1/ε"
    symbols: ClassVar = {"N": "number of training points", "ε": "alignment error of the worst teacher node"}
    presets: ClassVar = {
        "smoke": {"points": (200, 400), "seeds": 2, "epochs": 2, "wide": 2, "over": 2},
        "quick": {"seeds": 8},
    }
    captions: ClassVar = {
        "alignment": "Left: alignment error of the worst (squares, solid line) and the median teacher node (triangles, "
        "dash-dotted line) at zero gradient versus the number N of training points, with the slope 1/N of theorem 3 of "
        "SS (dashed). Right: share of the teacher nodes that are matched exactly. Small symbols are seeds, lines their "
        "medians (left) and means (right). Our addition; there is no printed figure.",
        "merging": "Left: largest change of the held-out outputs when student nodes are merged, versus the alignment "
        "error up to which they are merged (the tolerance); median over seeds. Right: mean number of nodes left. One "
        "line, with its own color, style and marker, per number of training points; on the thin gray line the change "
        "equals the tolerance. Our addition, to theorem 2 of SS.",
        "pruning": "Share of the held-out variance that wide students lose when they are pruned, versus the number of "
        "nodes kept. Thin lines are seeds, the thick line is the median, and the dashed line is the width of the "
        "teacher. Our addition, to theorem 2 of SS.",
    }
    version: ClassVar = 2  # 2: alignment with another teacher, and students pruned before training, for controls

    d: PositiveInt = 10
    """input dimension"""
    C: PositiveInt = 5
    """number of outputs"""
    m: PositiveInt = 5
    """number of hidden nodes of the teacher"""
    over: PositiveInt = 5
    """student width, as a multiple of the teacher width"""
    wide: PositiveInt = 10
    """width of the students to be pruned, as a multiple of the teacher width"""
    polarity: NonNegativeFloat = 1
    """polarity p: the strength of teacher node j is proportional to 1/j^p"""
    points: Annotated[tuple[PositiveInt, ...], Len(min_length=2)] = (500, 2000, 8000, 20_000)
    """numbers of training points"""
    seeds: PositiveInt = 16
    """number of seeds"""
    epochs: PositiveInt = 20
    """epochs of 1,000 SGD steps before the Levenberg–Marquardt fit"""
    sigma: PositiveFloat = 1.5
    """standard deviation of the inputs"""
    tolerance: PositiveFloat = 1e-10
    """largest gradient over points and nodes that counts as zero gradient"""

    def units(self) -> list[Unit]:
        kinds = [(self.over, N) for N in self.points] + [(self.wide, self.points[1])]
        return [
            Unit(f"over{over}-points{N}-seed{seed}", {"over": over, "N": N, "seed": seed}, self.epochs * 1000, cost)
            for over, N in dict.fromkeys(kinds)
            for seed in range(self.seeds)
            # About 60 fit steps, each a product of N rows with all weights of the lowest layer, and as much again.
            for cost in (140 * 2.0 * N * (over * self.m * (self.d + 1)) ** 2,)
        ]

    @property
    def kept(self) -> range:
        """Numbers of nodes to which wide students are pruned."""
        return range(1, min(3, self.wide) * self.m + 1)

    def teacher(self, seed: int) -> MLP:
        """The teacher of a seed."""
        return teacher((self.d, self.m, self.C), seeds=[seed], polarity=self.polarity, root=self.root)

    def start(self, over: int, seed: int) -> MLP:
        """The student of a seed before training."""
        return small_normal((self.d, over * self.m, self.C), [seed], root=self.root)

    def student(self, unit: Unit, tick: Tick) -> tuple[MLP, MLP, Task, Fit]:
        """Return the teacher, the student at zero gradient, the task, and the result of the fit."""
        over, N, seed = (unit.values[key] for key in ("over", "N", "seed"))
        star = self.teacher(seed)
        task = Task(star, Gaussian(self.d, self.sigma), seeds=[seed], n_train=N, n_held_out=5000, root=self.root)
        student = self.start(over, seed)
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
        other = alignment(lowest(self.teacher(unit.values["seed"] + 1)), lowest(student), either_side=True)
        merged = [prune_two_layers(student, x, epsilon=e, keep=10**9, refit=False) for e in MERGED]
        over, N, seed = (unit.values[key] for key in ("over", "N", "seed"))
        lost, lost_before = ([np.nan] * len(self.kept) for _ in range(2))
        if over == self.wide:
            lost, lost_before = (
                [prune_two_layers(net, x, epsilon=NEAR, keep=n, refit=False).lost for n in self.kept]
                for net in (student, self.start(over, seed).double())
            )
        with torch.no_grad():
            gap = float((student(x) - star(x)).square().mean())
        data = xr.Dataset(
            {
                "gradient": fit.gradient,
                "residual": math.sqrt(fit.loss),
                "fits": float(fit.steps),
                "epsilon": ("node", epsilon.numpy()),
                "epsilon_other": ("node", other.amin(1).numpy()),
                "strength": ("node", star.W[1].data[0].norm(dim=-1).numpy()),
                "loss": gap,
                "change": ("merged", [p.largest for p in merged]),
                "left": ("merged", [float(p.net.widths[1]) for p in merged]),
                "spare": share_of(student, distance.amin(0) > NEAR, x),
                "spare_other": share_of(student, other.amin(0) > NEAR, x),
                "lost": ("kept", lost),
                "lost_before": ("kept", lost_before),
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

    def controls(self, result: xr.Dataset) -> list[Control]:
        other = result.assign(epsilon=result.epsilon_other, spare=result.spare_other)
        return [
            Control("the teacher of another seed", ("SS.X1.slope", "SS.X1.spare"), other),
            Control("students before training", ("SS.X1.cut",), result.assign(lost=result.lost_before)),
        ]

    def claims(self, result: xr.Dataset) -> list[Claim]:
        narrow, wide = (fitted(result.sel(over=over), self.tolerance) for over in (self.over, self.wide))
        narrow = narrow.sel(points=list(self.points))
        over_points = [slope(narrow.epsilon), spare(narrow.spare)] if len({*self.points}) > 1 else []
        return [*over_points, cut(wide.lost.sel(points=self.points[1]), self.m)]


@torch.no_grad()
def share_of(net: MLP, some: Bool[Tensor, " n"], x: Tensor) -> float:
    """Return the share of the output's variance that some of the nodes contribute.

    Args:
        net: A single two-layer network.
        some: Which hidden nodes to include, (n,).
        x: Points, (N, d).
    """
    f, y = (t[0] for t in net.layers(x))
    added = f[:, some] @ net.W[1][0][some]
    return float((added - added.mean(0)).square().sum() / (y - y.mean(0)).square().sum())


STUDY = ZeroGradient
