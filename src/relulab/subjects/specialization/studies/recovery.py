"""SS figure 7 with S0 figures 5 and 11: which teacher nodes are recovered, and what it does for the loss."""

from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from pydantic import PositiveInt

from relulab.lab.claim import rank_correlation
from relulab.lab.show.figure import WIDTHS, legend, panels
from relulab.subjects.specialization.studies.statements import Statement
from relulab.subjects.specialization.studies.two_layer_students import SMOKE, Correlation, TwoLayer
from relulab.subjects.specialization.tools.observation import Observation
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

    threshold: Correlation = 0.95
    """correlation above which a node is recovered"""
    early: PositiveInt = 5
    """epoch of the dotted lines"""

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
        early = f"{min(self.early, self.epochs)} (dotted) and " if self.early < self.epochs else ""
        figure.suptitle(f"Share of {self.seeds} seeds after {early}{self.epochs} epochs", fontsize=9)
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
        end, early = self.epochs, min(self.early, self.epochs)
        middle = max(epoch for epoch in self.looks() if epoch <= end / 2)
        low, high = min(self.over), max(self.over)
        polar = result.where(result.polarity > 0)
        then = polar.sel(epoch=early).transpose("seed", "over", "polarity", ...)
        first = then.loss.copy(data=rank_correlation(then.strength.values, then.best.values))
        got = result.best > self.threshold
        harder = rank_correlation(
            result.polarity.values, got.sel(epoch=end).mean(("node", "over")).transpose("seed", ...).values
        )
        weak = got.sel(epoch=end).where((self.weakness(result) > self.m / 2) & (result.polarity > 0))
        weak = weak.mean(("node", "polarity")).where(low < high)
        share = got.mean(("node", "polarity")).reindex(over=[1, 5])
        half, whole = (float(share.sel(over=1, epoch=epoch).mean()) for epoch in (middle, end))
        return [
            Statement(
                "SS.F7.strong-first",
                "Strong nodes are recovered first: rank correlation, over the nodes of a teacher with p > 0, of "
                f"strength ‖v*_j‖ with best correlation after {early} epochs",
                first.mean(("over", "polarity"), skipna=True).values,
                within=(-1, 1),
            ),
            Statement(
                "SS.F7.polarized-harder",
                "Polarized teachers are harder: rank correlation of p with the share of nodes recovered after "
                f"{end} epochs",
                harder,
                "<",
                within=(-1, 1),
            ),
            Statement(
                "SS.F7.width-weak",
                "More width recovers more of the weak half of the nodes of teachers with p > 0: share at "
                f"{high}× less at {low}×, after {end} epochs",
                (weak.sel(over=high) - weak.sel(over=low)).values,
                within=(-1, 1),
            ),
            Statement(
                "SS.F7.short-of-5x",
                f"1× students stay short of 5×: share of nodes recovered by 5× less by 1×, after {end} epochs",
                (share.sel(over=5) - share.sel(over=1)).sel(epoch=end).values,
                # "Stuck", says the paper; how far that is so, these two numbers tell.
                note=f"1× students have {half:.3f} of the nodes after {middle} epochs, {whole:.3f} after {end}.",
                within=(-1, 1),
            ),
            *self._loss_statements(result, low, high),
        ]

    def _loss_statements(self, result: xr.Dataset, low: int, high: int) -> list[Statement]:
        """Of S0 figure 11. Where losses come down to rounding, shares of seeds speak: they do not feel how far down."""
        ps = [p for p in self.polarity if p > 0] or [np.nan]
        least, most = min(ps), max(ps)
        last = result.sel(epoch=self.epochs).reindex(polarity=sorted({least, most}))
        gap = np.log10(last.loss.sel(over=low)) - np.log10(last.loss.sel(over=high))
        # A width cannot be held against itself, nor the smallest p against itself as the largest.
        gap = gap.where(low < high)
        wins = (gap > 0).where(gap.notnull() & (least < most))
        covers = (last.best.sel(over=low) > self.threshold).all("node").sel(polarity=least)
        loses = wins.sel(polarity=least) == 0
        note = (
            f"{int((covers & loses).sum())} of the {int(covers.sum())} {low}× students that cover every node end below "
            f"{high}×, {int((~covers & loses).sum())} of the {int((~covers).sum())} that miss one."
        )
        return [
            Statement(
                "S0.F11.width-loss",
                f"Width lowers the evaluation loss at p = {most:g}: log₁₀ loss of {low}× less of {high}×, after "
                f"{self.epochs} epochs",
                gap.sel(polarity=most).values,
            ),
            Statement(
                "S0.F11.width-loss-everywhere",
                f"Width lowers the evaluation loss at p = {least:g} too: share of seeds whose {low}× student ends "
                f"above the {high}× one",
                wins.sel(polarity=least).values,
                ">",
                0.5,
                note,
                within=(0, 1),
            ),
            Statement(
                "S0.F11.polarity-gap",
                f"Width does more for the loss of polarized teachers: share of seeds whose {low}× student ends above "
                f"the {high}× one at p = {most:g}, less the same at p = {least:g}",
                (wins.sel(polarity=most) - wins.sel(polarity=least)).values,
                within=(-1, 1),
            ),
        ]


STUDY = Recovery
