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
from relulab.lab.claim import Claim, claim
from relulab.lab.show.figure import legend, panels
from relulab.lab.study import Study, Tick, Unit
from relulab.nets.initial import small_normal
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.tools.levenberg_marquardt import Fit, levenberg_marquardt
from relulab.subjects.specialization.tools.nodes import lowest
from relulab.subjects.specialization.tools.pruning import prune
from relulab.subjects.specialization.tools.teacher import teacher
from relulab.train.sgd import sgd

MERGED = tuple(10.0**k for k in range(-8, 0))  # tolerances at which nodes are merged
EXACT = 1e-7  # alignment errors below are far from any that N points could leave: the node is found exactly
NEAR = 0.05  # alignment up to which nodes are merged before some are dropped, and count as specialised
FITTED = 1e-6  # root of the summed squares of what is left: a student without active nodes has no gradient either
NOTHING = 1e-18  # shares of the variance below count as this: rounding
SPARE = 1.2  # of the teacher's width, that a wide student is cut down to


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
                "spare": _spare(student, distance.amin(0) > NEAR, x),
                "lost": ("kept", lost),
            },
            coords={"node": range(1, self.m + 1), "merged": list(MERGED), "kept": list(self.kept)},
        )
        return data.assign_coords(over=over, points=N, seed=seed).expand_dims(("over", "points", "seed"))

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        return {
            "alignment": self._alignment(result),
            "merging": self._merging(result),
            "pruning": self._pruning(result),
        }

    def _alignment(self, result: xr.Dataset) -> Figure:
        figure, axes = panels(1, 2, width=3.2, height=2.8)
        ax, epsilon = axes[0, 0], result.epsilon.sel(over=self.over).dropna("points", how="all")
        for name, values, colour in (
            ("worst node", epsilon.max("node"), "#d1495b"),
            ("median node", epsilon.median("node"), "#00798c"),
        ):
            for seed in values.seed:
                ax.plot(values.points, values.sel(seed=seed), ".", color=colour, alpha=0.4, ms=4)
            ax.plot(values.points, values.median("seed"), color=colour, label=f"{name}, median of seeds")
        N = np.array([min(self.points), max(self.points)], dtype=float)
        worst = float(epsilon.max("node").sel(points=N[0]).median())
        ax.plot(N, worst * N[0] / N, "--", color="#555555", label="1/N, as in theorem 3")
        ax.set(xscale="log", yscale="log", xlabel="training points N", ylabel="alignment error ε", ylim=(EXACT, None))
        share = (epsilon < EXACT).mean("node")
        axes[0, 1].plot(share.points, share, ".", color="#555555", alpha=0.4)
        axes[0, 1].plot(share.points, share.mean("seed"), color="#555555")
        axes[0, 1].set(xscale="log", ylim=(-0.02, 1.02), xlabel="training points N")
        axes[0, 1].set_ylabel(f"share of nodes with ε < {EXACT:g}")
        legend(figure, ax)
        return figure

    def _merging(self, result: xr.Dataset) -> Figure:
        figure, axes = panels(1, 2, width=3.2, height=2.6)
        change, left = (result[name].sel(over=self.over).dropna("points", how="all") for name in ("change", "left"))
        for N in change.points.values:
            axes[0, 0].plot(change.merged, change.sel(points=N).median("seed"), label=f"N = {N:,}")
            axes[0, 1].plot(left.merged, left.sel(points=N).mean("seed"))
        axes[0, 0].plot(change.merged, change.merged, "--", color="#555555", label="ε")
        axes[0, 0].set(xscale="log", yscale="log", xlabel="merged up to ε", ylabel="largest change, held out")
        axes[0, 1].set(xscale="log", xlabel="merged up to ε", ylabel="nodes left")
        legend(figure, axes[0, 0])
        return figure

    def _pruning(self, result: xr.Dataset) -> Figure:
        figure, axes = panels(1, 1, width=3.6, height=2.6)
        ax, lost = axes[0, 0], result.lost.sel(over=self.wide, points=self.points[1])
        for seed in lost.seed:
            ax.plot(lost.kept, lost.sel(seed=seed), color="#30638e", alpha=0.4, lw=0.8)
        ax.plot(lost.kept, lost.median("seed"), color="#30638e", lw=2, label=f"{self.wide}× students, median of seeds")
        ax.axvline(self.m, color="#555555", ls="--", lw=1, label="the teacher's width")
        ax.set(yscale="log", xlabel="nodes kept", ylabel="share of the held-out variance lost")
        legend(figure, ax, columns=1)
        return figure

    def claims(self, result: xr.Dataset) -> list[Claim]:
        narrow = result.sel(over=self.over).sel(points=list(self.points))
        # Of students that did not get to zero gradient, or by being inactive, nothing is claimed.
        narrow, cut = (
            r.where((r.gradient < self.tolerance) & (r.residual < FITTED)) for r in (narrow, result.sel(over=self.wide))
        )
        worst = self._slopes(narrow.epsilon.max("node", skipna=False))
        few, many = (narrow.spare.sel(points=N) for N in (min(self.points), max(self.points)))
        spare = (np.log10(many.clip(min=NOTHING)) - np.log10(few.clip(min=NOTHING))).values
        strongest = (narrow.epsilon.fillna(-1).argmax("node") == 0).mean().item()
        lost = cut.lost.sel(points=self.points[1], kept=math.ceil(SPARE * self.m)).values
        return [
            claim(
                "SS.X1.slope",
                "The alignment error of the worst teacher node falls with the number of points: slope of log ε on "
                "log N",
                worst,
                "<",
                0,
                note="A study of ours. Theorem 3 asks for N ~ 1/ε points, which is a slope of −1. The worst node is "
                f"the first, the strongest, in {strongest:.0%} of the students.",
            ),
            claim(
                "SS.X1.spare",
                "Un-specialised students add less the more points there are: log₁₀ share of the held-out variance that "
                f"students farther than {NEAR:g} from every teacher node add together, at {max(self.points):,} points "
                f"less at {min(self.points):,}",
                spare,
                "<",
                0,
                note=f"A study of ours, worded after the first runs. Theorem 2 has 0 for infinite data. Shares below "
                f"{NOTHING:g} count as that: at {max(self.points):,} points {int((many < NOTHING).sum())} of "
                f"{many.size} students.",
            ),
            claim(
                "SS.X1.cut",
                f"{self.wide}× students cut down to {math.ceil(SPARE * self.m)} nodes explain 99 % of the held-out "
                "variance: share that is lost",
                lost,
                "<",
                0.01,
                note="A study of ours; the lines, 99 % and a fifth more than the teacher's width, were drawn before "
                "the first run.",
                within=(0, math.inf),
            ),
        ]

    @staticmethod
    def _slopes(values: xr.DataArray) -> np.ndarray:
        """Least-squares slope of log values on log N, a seed each; NaN where one is missing."""
        found = []
        for seed in values.seed:
            y = values.sel(seed=seed)
            found.append(np.nan if y.isnull().any() else np.polyfit(np.log(y.points), np.log(y), 1)[0])
        return np.array(found)


@torch.no_grad()
def _spare(net: MLP, gone: Bool[Tensor, " n"], x: Tensor) -> float:
    """The share of the output's variance that some of the nodes add."""
    f, y = (t[0] for t in net.layers(x))
    added = f[:, gone] @ net.W[1][0][gone]
    return float((added - added.mean(0)).square().sum() / (y - y.mean(0)).square().sum())


STUDY = ZeroGradient
