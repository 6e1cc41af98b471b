"""SS figure 7 with S0 figures 5 and 11: which teacher nodes are recovered, and what it does for the loss."""

from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from pydantic import PositiveFloat, PositiveInt

from relulab.lab.claim import rank_correlation
from relulab.lab.figure import WIDTHS, legend, panels
from relulab.specialization.observation import Observation
from relulab.specialization.studies.two_layer import SMOKE, Statement, TwoLayer
from relulab.train.probe import Reading


class Recovery(TwoLayer):
    """Which teacher nodes are recovered, and when: strong ones first, weak ones only by wide students.

    A node counts as recovered when some student's activations correlate with its own above the threshold on held-out
    points. Dotted lines show an early epoch, solid ones the end.
    """

    name: ClassVar = "recovery"
    ids: ClassVar = ("SS.F7", "S0.F11")
    title: ClassVar = "Recovery of strong and weak teacher nodes"
    source: ClassVar = "SS figure 7; S0 figures 5 and 11"
    presets: ClassVar = {"smoke": SMOKE, "quick": {"seeds": 8, "epochs": 20}}

    two_kinds: ClassVar = (
        "With hardly any polarity a 1× student that covers every node converges exponentially, far below wider ones, "
        "and one that misses a node stalls: the spread is between these two kinds of seeds."
    )

    threshold: PositiveFloat = 0.95
    early: PositiveInt = 5

    def looks(self) -> tuple[int, ...]:
        """Ever further apart: a look costs about a quarter of an epoch of 1,000 steps."""
        spread = np.geomspace(1, self.epochs, 2 + self.epochs // 10).round().astype(int).tolist()
        return tuple(sorted({0, min(self.early, self.epochs), *spread}))

    def read(self, seen: Observation) -> Reading:
        return {"best": (("lane", "node"), seen.rho.amax(-1)), "loss": (("lane",), seen.loss)}

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        return {"recovery": self._rates(result), "loss": self._losses(result)}

    def _rates(self, result: xr.Dataset) -> Figure:
        figure, axes = panels(1, len(self.polarity), sharey=True)
        rate = (result.best > self.threshold).mean("seed")
        for ax, p in zip(axes[0], self.polarity, strict=True):
            for over in self.over:
                for epoch, line in ((min(self.early, self.epochs), ":"), (self.epochs, "-")):
                    y = rate.sel(polarity=p, over=over, epoch=epoch)
                    label = f"{over}×" if line == "-" else None
                    ax.plot(y.node, y, line, color=WIDTHS.get(over), label=label, clip_on=False)
            ax.set(title=f"p = {p:g}", xlabel="teacher node", ylim=(0, 1))
        axes[0, 0].set_ylabel(f"recovered (ρ > {self.threshold:g})")
        figure.suptitle(f"Share of {self.seeds} seeds after {self.early} (dotted) and {self.epochs} epochs", fontsize=9)
        legend(figure, axes[0, 0])
        return figure

    def _losses(self, result: xr.Dataset) -> Figure:
        figure, axes = panels(1, len(self.polarity), sharey=True)
        log = np.log10(result.loss)
        mean, error = log.mean("seed"), log.std("seed", ddof=1) / np.sqrt(self.seeds)
        for ax, p in zip(axes[0], self.polarity, strict=True):
            for over in self.over:
                y, e = (a.sel(polarity=p, over=over) for a in (mean, error))
                ax.plot(y.epoch, y, color=WIDTHS.get(over), label=f"{over}×")
                ax.fill_between(y.epoch, y - 2 * e, y + 2 * e, color=WIDTHS.get(over), alpha=0.2, lw=0)
            ax.set(title=f"p = {p:g}", xlabel="epoch")
        axes[0, 0].set_ylabel("log₁₀ evaluation loss")
        legend(figure, axes[0, 0])
        return figure

    def statements(self, result: xr.Dataset) -> list[Statement]:
        early, end = min(self.early, self.epochs), f"after {self.epochs} epochs"
        low, high = min(self.over), max(self.over)
        polar = result.sel(polarity=result.polarity > 0)
        order = ("seed", "over", "polarity", "node")
        then = polar.sel(epoch=early)
        first = rank_correlation(*(then[name].transpose(*order).values for name in ("strength", "best")))
        got = (result.best > self.threshold).sel(epoch=self.epochs)
        harder = rank_correlation(result.polarity.values, got.mean(("node", "over")).transpose("seed", ...).values)
        weak = got.sel(node=got.node > self.m / 2).mean(("node", "polarity"))
        share = got.mean(("node", "polarity")).reindex(over=[1, 5])
        gap = np.log10(result.loss).sel(epoch=self.epochs)
        gap = gap.sel(over=low) - gap.sel(over=high)
        least, most = polar.polarity.values.min(), polar.polarity.values.max()
        return [
            Statement(
                "SS.F7.strong-first",
                "Strong nodes are recovered first: rank correlation, over the nodes of a teacher with p > 0, of "
                f"strength ‖v*_j‖ with best correlation after {early} epochs",
                first.reshape(self.seeds, -1).mean(1),
            ),
            Statement(
                "SS.F7.polarised-harder",
                f"Polarised teachers are harder: rank correlation of p with the share of nodes recovered {end}",
                harder,
                "<",
            ),
            Statement(
                "SS.F7.width-weak",
                f"More width recovers more of the weak half of the nodes: share at {high}× less at {low}×, {end}",
                (weak.sel(over=high) - weak.sel(over=low)).values,
            ),
            Statement(
                "SS.F7.short-of-5x",
                f"1× students stay short of 5×: share of nodes recovered by 5× less by 1×, {end}",
                (share.sel(over=5) - share.sel(over=1)).values,
            ),
            Statement(
                "SS.F7.stuck",
                f"1× students, wide enough to fit the teacher, leave nodes out: share recovered {end}",
                share.sel(over=1).values,
                "<",
                1,
            ),
            Statement(
                "S0.F11.width-loss",
                f"Width lowers the evaluation loss at the largest p: log₁₀ loss of {low}× less of {high}×, {end}",
                gap.sel(polarity=most).values,
            ),
            Statement(
                "S0.F11.width-loss-everywhere",
                f"Width lowers the evaluation loss at the smallest p > 0 too: log₁₀ loss of {low}× less of {high}× at "
                f"p = {least:g}, {end}",
                gap.sel(polarity=least).values,
                note=self.two_kinds,
            ),
            Statement(
                "S0.F11.polarity-gap",
                f"Width does more for the loss of polarised teachers: log₁₀ loss of {low}× less of {high}× at "
                f"p = {most:g}, less the same at p = {least:g}, {end}",
                (gap.sel(polarity=most) - gap.sel(polarity=least)).values,
                note=self.two_kinds,
            ),
        ]


STUDY = Recovery
