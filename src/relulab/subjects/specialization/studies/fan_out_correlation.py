"""SS figure 5 (S0 figure 3): fan-out of every student node against its best correlation with a teacher node."""

import math
from typing import ClassVar

import numpy as np
import torch
import xarray as xr
from matplotlib.figure import Figure
from pydantic import PositiveInt
from torch import Tensor

from relulab.core.seeds import Role, stream
from relulab.data.task import Task
from relulab.lab.claim import rank_correlation
from relulab.lab.show.figure import legend, panels
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.correlation import rho_mean
from relulab.subjects.specialization.studies.two_layer_students import SMOKE, Correlation, Statement, TwoLayer
from relulab.subjects.specialization.tools.observation import Observation
from relulab.subjects.specialization.tools.pruning import prune
from relulab.train.probe import Reading

PRUNED_ON = 5000  # held-out points on which students are pruned
NEAR = 0.05  # alignment up to which nodes are merged first


class FanOutCorrelation(TwoLayer):
    """Un-specialised students have small fan-out: no point in the upper left once students are over-realised.

    Each point is a student node: how well it follows its best teacher node on held-out points, and the norm ‖v_k‖ of
    the weights that lead out of it. A colour is a seed.
    """

    name: ClassVar = "fan-out-correlation"
    ids: ClassVar = ("SS.F5",)
    title: ClassVar = "Fan-out against specialisation"
    source: ClassVar = "SS figure 5; S0 figure 3"
    presets: ClassVar = {"smoke": SMOKE, "quick": {"seeds": 8, "epochs": 20}}
    version: ClassVar = 2  # the widest students are pruned as well

    m: PositiveInt = 10
    """hidden nodes of the teacher"""
    threshold: Correlation = 0.95
    """correlation above which a student is specialised"""

    def looks(self) -> tuple[int, ...]:
        return (0, self.epochs)

    def read(self, seen: Observation) -> Reading:
        return {
            "specialised": (("lane", "student"), seen.rho.amax(-2)),
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
            cut = [_lost(net, prune(net, fit, epsilon=NEAR, keep=n, refit=True).net, test) for n in self.kept]
            found.append([cut, [_lost(net, _some(net, fit, chance[:n]), test) for n in self.kept]])
        lost = torch.tensor(found, dtype=torch.float64)
        return {"lost": (("lane", "cut"), lost[:, 0]), "lost_by_chance": (("lane", "cut"), lost[:, 1])}

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        return {"fan-out": self._fan_out(result), "pruning": self._pruning(result)}

    def _pruning(self, result: xr.Dataset) -> Figure:
        here = result.sel(over=max(self.over))
        figure, axes = panels(1, len(self.polarity), sharey=True)
        for ax, p in zip(axes[0], self.polarity, strict=True):
            for name, label, colour in (
                ("lost", "by what they add", "#30638e"),
                ("lost_by_chance", "by chance", "#d1495b"),
            ):
                lost = here[name].sel(polarity=p)
                for seed in lost.seed:
                    ax.plot(self.kept, lost.sel(seed=seed), color=colour, alpha=0.3, lw=0.7)
                ax.plot(self.kept, lost.median("seed"), ".-", color=colour, label=label)
            ax.set(title=f"p = {p:g}", xlabel="nodes kept", xscale="log", yscale="log", xticks=self.kept)
            ax.set_xticklabels(self.kept)
            ax.tick_params("x", which="minor", bottom=False, labelbottom=False)
        axes[0, 0].set_ylabel("share of the variance lost")
        figure.suptitle(f"{max(self.over)}× students cut down, top weights refit; median over seeds", fontsize=9)
        legend(figure, axes[0, 0])
        return figure

    def _fan_out(self, result: xr.Dataset) -> Figure:
        last = result.sel(epoch=self.epochs)
        figure, axes = panels(len(self.polarity), len(self.over), width=2.2, height=1.6, sharex=True, sharey=True)
        for row, p in zip(axes, self.polarity, strict=True):
            for ax, over in zip(row, self.over, strict=True):
                here = last.sel(polarity=p, over=over)
                for seed in here.seed:
                    one = here.sel(seed=seed)
                    ax.scatter(one.specialised, one.fan_out, s=4, alpha=0.6, lw=0, rasterized=True)
                ax.set_title(f"{over}×, p = {p:g}, loss = {float(here.loss.mean()):.1e}", fontsize=8)
            row[0].set_ylabel("fan-out ‖v_k‖")
        for ax in axes[-1]:
            ax.set_xlabel("best correlation with a teacher")
        return figure

    def statements(self, result: xr.Dataset) -> list[Statement]:
        last = result.sel(epoch=self.epochs)
        wide = last.sel(over=last.over > 1)
        # To three digits: among students that follow perfectly, rounding should not make an order.
        rank = xr.apply_ufunc(
            _rank_of_present, wide.specialised.round(3), wide.fan_out, input_core_dims=[["student"], ["student"]]
        )
        follows, strays = wide.specialised > self.threshold, wide.specialised <= self.threshold
        mean, top = (
            np.log10(getattr(wide.fan_out.where(strays), kind)("student"))
            - np.log10(getattr(wide.fan_out.where(follows), kind)("student"))
            for kind in ("mean", "max")
        )
        rho = last.rho_mean
        harder = rank_correlation(rho.polarity.values, rho.mean("over").transpose("seed", "polarity").values)
        low, high = min(self.over), max(self.over)
        drop = rho.sel(polarity=min(self.polarity)) - rho.sel(polarity=max(self.polarity))
        drop = drop.where(low < high and len(self.polarity) > 1)
        un = f"students below ρ = {self.threshold:g}"
        # A network whose students all follow, or none of them, has nothing to compare: the others of the seed speak.
        rank, mean, top = (x.mean(("over", "polarity"), skipna=True).values for x in (rank, mean, top))
        return [
            Statement(
                "SS.F5.follow",
                "In over-realised networks fan-out grows with specialisation: rank correlation of best correlation and "
                "‖v_k‖ over the students of a network",
                rank,
                within=(-1, 1),
            ),
            Statement(
                "SS.F5.small",
                f"Un-specialised students have small fan-out: log₁₀ mean ‖v_k‖ of {un} less of those above, "
                "over-realised networks",
                mean,
                "<",
            ),
            Statement(
                "SS.F5.corner",
                f"No un-specialised student has a large one: log₁₀ largest ‖v_k‖ of {un} less of those above, "
                "over-realised networks",
                top,
                "<",
            ),
            Statement(
                "SS.F5.polarised-harder",
                "Higher p makes reconstruction harder: rank correlation of p with ρ_mean",
                harder,
                "<",
                within=(-1, 1),
            ),
            self._prunable(result),
            Statement(
                "SS.F5.width-helps",
                "Polarity hurts narrow students most: fall of ρ_mean from the smallest to the largest p at "
                f"{low}× less at {high}×",
                (drop.sel(over=low) - drop.sel(over=high)).values,
            ),
        ]

    def _prunable(self, result: xr.Dataset) -> Statement:
        wide, at = max(self.over), min(range(len(self.kept)), key=lambda i: abs(self.kept[i] - 2 * self.m))
        here = result.sel(over=wide).isel(cut=at)
        gap = (np.log10(here.lost) - np.log10(here.lost_by_chance)).mean("polarity", skipna=False)
        lost = ", ".join(f"{float(here.lost.sel(polarity=p).median()):.1e} at p = {p:g}" for p in self.polarity)
        return Statement(
            "SS.F5.prunable",
            f"Students that add little matter less: log₁₀ share of the held-out variance lost when {wide}× students "
            f"are cut to {self.kept[at]} nodes by what they add, top weights refit, less the same by chance",
            gap.where(wide > 1).values,
            "<",
            note=f"No teacher is used. Lost is {lost} (medians).",
        )


@torch.no_grad()
def _some(net: MLP, x: Tensor, nodes: Tensor) -> MLP:
    """The network of some of the nodes, with top weights refit to the old outputs by least squares."""
    net = MLP.of(net.module()).double()
    f, y = (t[0] for t in net.layers(x))
    features = torch.nn.functional.pad(f[:, nodes], (0, 1), value=1.0)
    top = torch.linalg.lstsq(features, y, driver="gelsd").solution
    small = MLP((net.widths[0], len(nodes), net.widths[-1]), dtype=torch.float64)
    small.W[0].data[0], small.b[0].data[0] = net.W[0].data[0][:, nodes], net.b[0].data[0][:, nodes]
    small.W[1].data[0], small.b[1].data[0, 0] = top[:-1], top[-1]
    return small


@torch.no_grad()
def _lost(net: MLP, small: MLP, x: Tensor) -> float:
    """The share of the first one's variance on points that the second does not explain."""
    y = MLP.of(net.module()).double()(x)[0]
    return float((small(x)[0] - y).square().sum() / (y - y.mean(0)).square().sum())


def _rank_of_present(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Rank correlation over the students that a network has: narrower ones are padded with NaN."""
    flat = [rank_correlation(x[~np.isnan(x)], y[~np.isnan(x)]) for x, y in zip(*(_rows(a), _rows(b)), strict=True)]
    return np.reshape(flat, a.shape[:-1])


def _rows(a: np.ndarray) -> np.ndarray:
    return a.reshape(-1, a.shape[-1])


STUDY = FanOutCorrelation
