"""SS figure 8 with S0 figures 6 and 7: in what order teacher nodes are recovered, and students that shift focus."""

from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.figure import Figure
from pydantic import PositiveInt

from relulab.lab.claim import rank_correlation
from relulab.lab.show.figure import BLUE, panels
from relulab.subjects.specialization.studies.statements import Statement
from relulab.subjects.specialization.studies.two_layer_students import (
    SMOKE,
    Correlation,
    Polarities,
    TwoLayer,
    Widths,
)
from relulab.subjects.specialization.tools.observation import Observation
from relulab.train.probe import Reading


class RecoveryOrder(TwoLayer):
    """Strong teacher nodes are recovered early, weak ones late, by students that shift their focus.

    Every node's best student over the epochs, blue the strongest node and red the weakest; then, for one polarity,
    what each student does toward the strongest nodes.
    """

    name: ClassVar = "recovery-order"
    ids: ClassVar = ("SS.F8", "S0.F6", "S0.F7")
    title: ClassVar = "Order of recovery and shifts of focus"
    source: ClassVar = "SS figure 8; S0 figures 6 and 7"
    presets: ClassVar = {"smoke": {**SMOKE, "over": (5,)}, "quick": {"seeds": 8, "epochs": 30}}

    over: Widths = (5,)
    """student widths, in teacher widths"""
    polarity: Polarities = (0.5, 1, 1.5, 2, 2.5)
    """p: strengths fall as 1/j^p"""
    threshold: Correlation = 0.95
    """correlation above which a node is recovered"""
    early: PositiveInt = 1
    """epoch from which shifts of focus are counted"""
    watched: PositiveInt = 5
    """strongest nodes whose students are all kept"""

    def looks(self) -> tuple[int, ...]:
        return tuple(range(self.epochs + 1))

    def read(self, seen: Observation) -> Reading:
        return {
            "best": (("lane", "node"), seen.rho.amax(-1)),
            "loss": (("lane",), seen.loss),
            "favorite": (("lane", "student"), (seen.rho.argmax(-2) + 1).to(seen.rho.dtype)),
            "followers": (("lane", "node"), (seen.rho > self.threshold).sum(-1).to(seen.rho.dtype)),
            "rho": (("lane", "watched", "student"), seen.rho[:, : self.watched]),
        }

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        figures = {}
        for over in self.over:
            here = result.sel(over=over)
            tail = "" if len(self.over) == 1 else f"-{over}x"
            figures |= {
                f"best{tail}": self._best(here),
                f"focus{tail}": self._focus(here),
                f"when{tail}": self._when(here),
            }
        return figures

    def _best(self, result: xr.Dataset) -> Figure:
        one = result.isel(seed=0)
        figure, axes = panels(1, len(self.polarity), sharey=True)
        for ax, p in zip(axes[0], self.polarity, strict=True):
            for node, color in zip(one.node, self._rainbow(), strict=True):
                ax.plot(one.epoch, one.best.sel(polarity=p, node=node), color=color, lw=0.9)
            loss = np.log10(float(one.loss.sel(polarity=p, epoch=self.epochs)))
            ax.set(title=f"p = {p:g}, log₁₀ loss = {loss:.2f}", xlabel="epoch", ylim=(0, 1.02))
        axes[0, 0].set_ylabel("correlation of best student")
        figure.suptitle("One seed; blue: strongest teacher node, red: weakest", fontsize=9)
        return figure

    def _focus(self, result: xr.Dataset) -> Figure:
        p = min(self.polarity, key=lambda p: abs(p - 1))
        here = result.sel(polarity=p).isel(seed=slice(0, 3))
        nodes = range(result.sizes["watched"])
        figure, axes = panels(here.sizes["seed"], len(nodes), width=2, height=1.5, sharex=True, sharey=True)
        colors = colormaps["turbo"](np.linspace(0, 1, here.sizes["student"]))
        for row, seed in zip(axes, here.seed, strict=True):
            for ax, node in zip(row, nodes, strict=True):
                lines = here.rho.sel(seed=seed).isel(watched=node).transpose("epoch", "student")
                ax.set_prop_cycle(color=colors)
                ax.plot(here.epoch, lines, lw=0.6)
                ax.set(ylim=(0, 1.02))
            row[0].set_ylabel(f"correlation, seed {int(seed)}")
        for node, ax in zip(nodes, axes[0], strict=True):
            ax.set_title(f"teacher node {node + 1}", fontsize=8)
        for ax in axes[-1]:
            ax.set_xlabel("epoch")
        figure.suptitle(f"Each line is a student, the same color along a row; p = {p:g}", fontsize=9)
        return figure

    def _when(self, result: xr.Dataset) -> Figure:
        when = self.recovered_at(result)
        figure, axes = panels(1, len(self.polarity), sharey=True)
        for ax, p in zip(axes[0], self.polarity, strict=True):
            here = when.sel(polarity=p)
            mean, error = here.mean("seed"), here.std("seed", ddof=1) / np.sqrt(self.seeds)
            ax.errorbar(here.node, mean, 2 * error, fmt="o", ms=3, color=BLUE, lw=1)
            ax.set(title=f"p = {p:g}", xlabel="teacher node", ylim=(0, self.epochs + 2))
        axes[0, 0].set_ylabel("epoch of recovery")
        figure.suptitle(f"Mean over {self.seeds} seeds; not recovered counts as {self.epochs + 1}", fontsize=9)
        return figure

    def _rainbow(self) -> np.ndarray:
        return colormaps["jet"](np.linspace(0, 1, self.m))

    def recovered_at(self, result: xr.Dataset) -> xr.DataArray:
        """First epoch after which a node has a student above the threshold; one more than the last if it never has."""
        above = result.best > self.threshold
        return above.idxmax("epoch").where(above.any("epoch"), self.epochs + 1)

    def statements(self, result: xr.Dataset) -> list[Statement]:
        order = ("seed", "over", "polarity", "node")
        when = self.recovered_at(result).transpose(*order)
        weakness = self.weakness(result).transpose(*order)
        follows = when.isel(node=0).copy(data=rank_correlation(weakness.values, when.values))
        quarter = max(1, self.m // 4)
        strong, weak = weakness <= quarter, weakness > self.m - quarter
        wait = when.where(weak).mean(order[1:]) - when.where(strong).mean(order[1:])
        last, early = self.epochs, min(self.early, self.epochs)
        then, now = (_weakness_of(weakness, result.favorite.sel(epoch=epoch)) for epoch in (early, last))
        shift = xr.apply_ufunc(np.sign, now - then).mean(("over", "polarity", "student"))
        followers = result.followers.sel(epoch=last)
        crowd = followers.where(strong).mean(order[1:]) - followers.where(weak).mean(order[1:])
        return [
            Statement(
                "SS.F8.order",
                "The order of recovery follows strength: rank correlation, over the nodes of a teacher, of weakness "
                "1/‖v*_j‖ with the epoch of recovery",
                follows.mean(("over", "polarity"), skipna=True).values,
                within=(-1, 1),
            ),
            Statement(
                "S0.F7.wait",
                f"Weak nodes take long: epoch of recovery of the {quarter} weakest nodes less of the {quarter} "
                f"strongest, those never recovered counted as {last + 1}",
                wait.values,
            ),
            Statement(
                "S0.F6.shift",
                f"Students shift from strong to weak nodes: share whose best teacher node is weaker at epoch {last} "
                f"than at epoch {early}, less share whose is stronger",
                shift.values,
                within=(-1, 1),
            ),
            Statement(
                "S0.F6.crowd",
                f"Strong nodes are covered by several students: followers (ρ > {self.threshold:g}) of the {quarter} "
                f"strongest nodes less of the {quarter} weakest, at epoch {last}",
                crowd.values,
            ),
        ]


def _weakness_of(weakness: xr.DataArray, favorite: xr.DataArray) -> xr.DataArray:
    """The weakness of each student's best teacher node; narrower networks are padded with NaN."""
    return weakness.sel(node=favorite.fillna(1).astype(int)).where(favorite.notnull())


STUDY = RecoveryOrder
