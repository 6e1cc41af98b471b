"""SS figure 8, S0 figures 6 and 7: the order in which teacher nodes are recovered, and students that shift focus."""

from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from pydantic import PositiveInt

from relulab.lab.claim import rank_correlation
from relulab.lab.control import Control
from relulab.lab.show.figure import BLUE, headline, panels, shades
from relulab.subjects.specialization.studies.shuffled import shuffled
from relulab.subjects.specialization.studies.statements import Statement
from relulab.subjects.specialization.studies.two_layer_students import (
    SMOKE,
    Correlation,
    Polarities,
    TwoLayer,
    Widths,
    end_loss,
    recovered_nodes,
)
from relulab.subjects.specialization.tools.observation import Observation
from relulab.train.probe import Reading


class RecoveryOrder(TwoLayer):
    """In which order are teacher nodes recovered, and which students recover the weak ones?

    The study follows the correlation of every teacher node with its best student, epoch by epoch. The papers find that
    strong nodes are recovered early and weak nodes late, by students that first follow a strong node and then shift
    their focus. For the strongest nodes the correlations with all students are kept.
    """

    name: ClassVar = "recovery-order"
    ids: ClassVar = ("SS.F8", "S0.F6", "S0.F7")
    title: ClassVar = "Order of recovery and shifts of focus"
    source: ClassVar = "SS figure 8; S0 figures 6 and 7"
    presets: ClassVar = {"smoke": {**SMOKE, "over": (5,)}, "quick": {"seeds": 8, "epochs": 30}}
    version: ClassVar = 2  # 2: the variable "favorite" was renamed
    captions: ClassVar = {
        "best": "Correlation of each teacher node with its best student over the epochs, in one seed; one panel per "
        "teacher polarity and one line per teacher node, from the strongest (dark) to the weakest (light). Strong "
        "nodes reach 1 early and weak nodes late. Answers figure 8 of SS and figure 7 of S0.",
        "focus": "Correlation of every student with each of the strongest teacher nodes over the epochs; one line per "
        "student. Rows are seeds, columns are teacher nodes, and a student keeps its color along a row. Many students "
        "follow node 1 first, and some of them leave it later for a weaker node. Answers figure 6 of S0, which prints "
        "teachers with five nodes and 40 epochs (`--set m=5 --set epochs=40 --set polarity=1 --set seeds=3`) but not "
        "the students' width.",
        "when": "Epoch at which each teacher node is recovered, by teacher node, one panel per teacher polarity. "
        "Dots are means over the seeds, bars two standard errors; a node that is never recovered counts as one epoch "
        "after the last. Weaker nodes (higher numbers) are recovered later. Puts numbers to figure 8 of SS and figure "
        "7 of S0.",
    }

    over: Widths = (5,)
    """student widths, as multiples of the teacher width"""
    polarity: Polarities = (0.5, 1, 1.5, 2, 2.5)
    """polarity p: the strength of teacher node j is proportional to 1/j^p"""
    threshold: Correlation = 0.95
    """correlation above which a teacher node counts as recovered"""
    early: PositiveInt = 1
    """epoch from which shifts of focus are counted"""
    watched: PositiveInt = 5
    """number of strongest nodes for which the correlations with all students are kept"""

    def looks(self) -> tuple[int, ...]:
        return tuple(range(self.epochs + 1))

    def read(self, snapshot: Observation) -> Reading:
        rho = snapshot.rho
        return {
            "best": (("lane", "node"), rho.amax(-1)),
            "loss": (("lane",), snapshot.loss),
            "favorite": (("lane", "student"), (rho.argmax(-2) + 1).to(rho.dtype)),
            "followers": (("lane", "node"), (rho > self.threshold).sum(-1).to(rho.dtype)),
            "rho": (("lane", "watched", "student"), rho[:, : self.watched]),
        }

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        figures = {}
        for over in self.over:
            of_width = result.sel(over=over)
            suffix = "" if len(self.over) == 1 else f"-{over}x"
            figures |= {
                f"best{suffix}": self._best(of_width),
                f"focus{suffix}": self._focus(of_width),
                f"when{suffix}": self._when(of_width),
            }
        return figures

    def _best(self, result: xr.Dataset) -> Figure:
        first_seed = result.isel(seed=0)
        figure, axes = panels(1, len(self.polarity), sharey=True)
        for ax, p in zip(axes[0], self.polarity, strict=True):
            for node, color in zip(first_seed.node, shades(self.m), strict=True):
                ax.plot(first_seed.epoch, first_seed.best.sel(polarity=p, node=node), color=color, lw=0.9)
            loss = np.log10(float(first_seed.loss.sel(polarity=p, epoch=self.epochs)))
            title = f"polarity {p:g}, log₁₀ loss {loss:.2f}".replace("-", "−")
            ax.set(title=title, xlabel="epoch", ylim=(0, 1.02))
        axes[0, 0].set_ylabel("correlation of the best student")
        headline(figure, "One line per teacher node, from the strongest (dark) to the weakest (light)")
        return figure

    def _focus(self, result: xr.Dataset) -> Figure:
        p = min(self.polarity, key=lambda p: abs(p - 1))
        shown = result.sel(polarity=p).isel(seed=slice(0, 3))
        nodes = range(result.sizes["watched"])
        figure, axes = panels(shown.sizes["seed"], len(nodes), width=2, height=1.5, sharex=True, sharey=True)
        colors = shades(shown.sizes["student"])
        lowest = min(0.0, 1.05 * float(shown.rho.min()))
        for row, seed in zip(axes, shown.seed, strict=True):
            for ax, node in zip(row, nodes, strict=True):
                lines = shown.rho.sel(seed=seed).isel(watched=node).transpose("epoch", "student")
                ax.set_prop_cycle(color=colors)
                ax.plot(shown.epoch, lines, lw=0.6)
                ax.set(ylim=(lowest, 1.02))
            row[0].set_ylabel(f"correlation, seed {int(seed)}")
        for node, ax in zip(nodes, axes[0], strict=True):
            ax.set_title(f"teacher node {node + 1}", fontsize=8)
        for ax in axes[-1]:
            ax.set_xlabel("epoch")
        headline(figure, f"One line per student, same color along a row; polarity {p:g}")
        return figure

    def _when(self, result: xr.Dataset) -> Figure:
        when = self.recovered_at(result)
        figure, axes = panels(1, len(self.polarity), sharey=True)
        for ax, p in zip(axes[0], self.polarity, strict=True):
            epochs = when.sel(polarity=p)
            mean, error = epochs.mean("seed"), epochs.std("seed", ddof=1) / np.sqrt(self.seeds)
            ax.errorbar(epochs.node, mean, 2 * error, fmt="o", ms=3, color=BLUE, lw=1)
            ax.set(title=f"polarity {p:g}", xlabel="teacher node", ylim=(0, self.epochs + 2))
        axes[0, 0].set_ylabel("epoch of recovery")
        headline(figure, f"Mean over {self.seeds} seeds")
        return figure

    def recovered_at(self, result: xr.Dataset) -> xr.DataArray:
        """Return the first epoch at which each node is recovered, or one more than the last if it never is.

        It is NaN for a node that was not recovered before training diverged.
        """
        above = result.best > self.threshold
        when = above.idxmax("epoch").where(above.any("epoch"), self.epochs + 1)
        return when.where(above.any("epoch") | result.best.notnull().all("epoch"))

    def statistics(self, result: xr.Dataset) -> dict[str, xr.DataArray]:
        recovered, networks = recovered_nodes(result, self.threshold), ("over", "polarity", "node")
        return {
            "share of teacher nodes recovered": recovered.mean(networks, skipna=False),
            "epoch of recovery, mean over teacher nodes; a node that is never recovered counts as epoch "
            f"{self.epochs + 1}": self.recovered_at(result).mean(networks, skipna=False),
            **end_loss(result, self.epochs),
        }

    def controls(self, result: xr.Dataset) -> list[Control]:
        by_chance = shuffled(result, "node", "strength", root=self.root)
        return [Control("strengths assigned to the nodes at random", ("SS.F8.*", "S0.F6.*", "S0.F7.*"), by_chance)]

    def statements(self, result: xr.Dataset) -> list[Statement]:
        if self.m == 1:
            return []  # there is no order among the nodes of a teacher
        order = ("seed", "over", "polarity", "node")
        weakness = self.weakness(result).transpose(*order)
        statements = self._order_statements(self.recovered_at(result).transpose(*order), weakness)
        if self.early < self.epochs:
            statements.append(self._shift(result, weakness))
        quarter, strong, weak = self._quarters(weakness)
        followers = result.followers.sel(epoch=self.epochs)
        crowd = followers.where(strong).mean(order[1:]) - followers.where(weak).mean(order[1:])
        return [
            *statements,
            Statement(
                "S0.F6.crowd",
                "Strong nodes are followed by several students",
                crowd.values,
                statistic=f"mean number of followers (correlation above {self.threshold:g}) at epoch {self.epochs}, "
                f"difference {quarter} strongest − {quarter} weakest nodes",
            ),
        ]

    def _quarters(self, weakness: xr.DataArray) -> tuple[int, xr.DataArray, xr.DataArray]:
        """Return the size of a quarter of the nodes, and which nodes are in the strongest and the weakest quarter."""
        quarter = max(1, self.m // 4)
        return quarter, weakness <= quarter, weakness > self.m - quarter

    def _order_statements(self, when: xr.DataArray, weakness: xr.DataArray) -> list[Statement]:
        ranks = when.isel(node=0).copy(data=rank_correlation(weakness.values, when.values))
        quarter, strong, weak = self._quarters(weakness)
        within_seed = when.dims[1:]
        return [
            Statement(
                "SS.F8.order",
                "Teacher nodes are recovered in the order of their strength",
                ranks.mean(("over", "polarity"), skipna=True).values,
                within=(-1, 1),
                statistic="rank correlation between weakness and epoch of recovery over a teacher's nodes",
            ),
            Statement(
                "S0.F7.wait",
                "Weak nodes are recovered late",
                (when.where(weak).mean(within_seed) - when.where(strong).mean(within_seed)).values,
                statistic=f"epoch of recovery, difference {quarter} weakest − {quarter} strongest nodes; a node that "
                f"is never recovered counts as epoch {self.epochs + 1}",
            ),
        ]

    def _shift(self, result: xr.Dataset, weakness: xr.DataArray) -> Statement:
        early, late = (_weakness_of(weakness, result.favorite.sel(epoch=epoch)) for epoch in (self.early, self.epochs))
        return Statement(
            "S0.F6.shift",
            "Students shift their focus from strong to weak nodes",
            xr.apply_ufunc(np.sign, late - early).mean(("over", "polarity", "student")).values,
            within=(-1, 1),
            statistic=f"share of students whose best teacher node is weaker at epoch {self.epochs} than at epoch "
            f"{self.early}, minus the share for which it is stronger",
        )


def _weakness_of(weakness: xr.DataArray, favorite: xr.DataArray) -> xr.DataArray:
    """Return the weakness of each student's best teacher node; NaN stays NaN, which pads narrow networks."""
    return weakness.sel(node=favorite.fillna(1).astype(int)).where(favorite.notnull())


STUDY = RecoveryOrder
