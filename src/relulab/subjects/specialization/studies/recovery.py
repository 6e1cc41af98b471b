"""SS figure 7, S0 figures 5 and 11: which teacher nodes are recovered, and how the evaluation loss falls."""

from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from pydantic import PositiveInt

from relulab.lab.claim import rank_correlation
from relulab.lab.control import Control
from relulab.lab.show.figure import headline, legend, panels, width_look
from relulab.subjects.specialization.studies.shuffled import shuffled
from relulab.subjects.specialization.studies.statements import Statement
from relulab.subjects.specialization.studies.two_layer_students import (
    SMOKE,
    Correlation,
    TwoLayer,
    end_loss,
    recovered_nodes,
)
from relulab.subjects.specialization.tools.observation import Observation
from relulab.train.probe import Reading


class Recovery(TwoLayer):
    """Which teacher nodes do students of different widths recover, and when?

    A teacher node counts as recovered when the activations of some student node correlate with its activations above
    the threshold, on held-out points. The paper finds that strong nodes are recovered first, and that weak nodes are
    recovered only by wide students. The study also follows the evaluation loss.
    """

    name: ClassVar = "recovery"
    ids: ClassVar = ("SS.F7", "S0.F5", "S0.F11")
    title: ClassVar = "Recovery of strong and weak teacher nodes"
    source: ClassVar = "SS figure 7; S0 figures 5 and 11"
    presets: ClassVar = {"smoke": SMOKE, "quick": {"seeds": 8, "epochs": 20}}
    captions: ClassVar = {
        "recovery": "Share of seeds in which each teacher node is recovered, by teacher node; node 1 is the strongest. "
        "One panel per teacher polarity. Colors and markers are student widths; dotted lines show an early epoch, "
        "solid lines the end of training. Strong nodes come first, and wider students recover more of the weak ones. "
        "Answers figure 7 of SS and figure 5 of S0.",
        "loss": "Evaluation loss over epochs, one panel per teacher polarity; each color and marker is a student "
        "width. Lines are means over the seeds of log₁₀ loss, shaded areas are two standard errors. Answers figure 11 "
        "of S0.",
    }

    threshold: Correlation = 0.95
    """correlation above which a teacher node counts as recovered"""
    early: PositiveInt = 5
    """early epoch, shown as dotted lines"""

    def looks(self) -> tuple[int, ...]:
        # Spaced geometrically: a snapshot costs about as much as a quarter of an epoch of 1,000 steps.
        epochs = np.geomspace(1, self.epochs, 2 + self.epochs // 10).round().astype(int).tolist()
        return tuple(sorted({0, min(self.early, self.epochs), *epochs}))

    def read(self, snapshot: Observation) -> Reading:
        return {"best": (("lane", "node"), snapshot.rho.amax(-1)), "loss": (("lane",), snapshot.loss)}

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        return {"recovery": self._rates(result), "loss": self._losses(result)}

    def _rates(self, result: xr.Dataset) -> Figure:
        figure, axes = panels(1, len(self.polarity), sharey=True)
        rate = recovered_nodes(result, self.threshold).mean("seed")
        for ax, p in zip(axes[0], self.polarity, strict=True):
            for over in self.over:
                for epoch, line in ((min(self.early, self.epochs), ":"), (self.epochs, "-")):
                    y = rate.sel(polarity=p, over=over, epoch=epoch)
                    label = f"{over}×" if line == "-" else None
                    ax.plot(y.node, y, ls=line, ms=3, label=label, clip_on=False, **width_look(over))
            ax.set(title=f"polarity {p:g}", xlabel="teacher node", ylim=(0, 1))
        axes[0, 0].set_ylabel("share of seeds that recover")
        when = f"{self.epochs} epochs"
        if self.early < self.epochs:
            when = f"{self.early} (dotted) and {self.epochs} (solid) epochs"
        title = f"Share of {self.seeds} seeds that recover a teacher node (correlation above {self.threshold:g})"
        headline(figure, f"{title} after {when}")
        legend(figure, axes[0, 0])
        return figure

    def _losses(self, result: xr.Dataset) -> Figure:
        figure, axes = panels(1, len(self.polarity), sharey=True)
        log = np.log10(result.loss)
        mean, error = log.mean("seed"), log.std("seed", ddof=1) / np.sqrt(self.seeds)
        for ax, p in zip(axes[0], self.polarity, strict=True):
            for over in self.over:
                y, e = (a.sel(polarity=p, over=over) for a in (mean, error))
                ax.plot(y.epoch, y, ms=3, label=f"{over}×", **width_look(over))
                ax.fill_between(y.epoch, y - 2 * e, y + 2 * e, color=width_look(over)["color"], alpha=0.2, lw=0)
            ax.set(title=f"polarity {p:g}", xlabel="epoch")
        axes[0, 0].set_ylabel("log₁₀ evaluation loss")
        legend(figure, axes[0, 0])
        return figure

    def statistics(self, result: xr.Dataset) -> dict[str, xr.DataArray]:
        share = recovered_nodes(result, self.threshold).mean(("over", "polarity", "node"), skipna=False)
        early = min(self.early, self.epochs)
        return {
            "share of teacher nodes recovered": share,
            f"share of teacher nodes recovered after {early} epochs": share.sel(epoch=early),
            f"share of teacher nodes recovered after {self.epochs} epochs": share.sel(epoch=self.epochs),
            **end_loss(result, self.epochs),
        }

    def controls(self, result: xr.Dataset) -> list[Control]:
        return [
            Control("strengths assigned to the nodes at random", ("SS.F7.strong-first",),
                    shuffled(result, "node", "strength", root=self.root)),
            Control("polarities assigned to the teachers at random", ("SS.F7.polarized-harder",),
                    shuffled(result, "polarity", "best", root=self.root)),
            Control("widths assigned to the students at random", ("S0.F11.*", "SS.F7.width-weak", "SS.F7.short-of-5x"),
                    shuffled(result, "over", "best", "loss", root=self.root)),
        ]  # fmt: skip

    def statements(self, result: xr.Dataset) -> list[Statement]:
        low, high = min(self.over), max(self.over)
        statements = []
        if any(p > 0 for p in self.polarity):
            statements.append(self._strong_first(result))
        if len(self.polarity) > 1:
            statements.append(self._polarized_harder(result))
        if low < high and any(p > 0 for p in self.polarity):
            statements.append(self._width_weak(result, low, high))
        if {1, 5} <= {*self.over}:
            statements.append(self._short_of_5x(result))
        return [*statements, *self._loss_statements(result, low, high)]

    def _strong_first(self, result: xr.Dataset) -> Statement:
        early = min(self.early, self.epochs)
        at_early = result.where(result.polarity > 0).sel(epoch=early).transpose("seed", "over", "polarity", ...)
        ranks = at_early.loss.copy(data=rank_correlation(at_early.strength.values, at_early.best.values))
        return Statement(
            "SS.F7.strong-first",
            "Strong teacher nodes are recovered first",
            ranks.mean(("over", "polarity"), skipna=True).values,
            within=(-1, 1),
            statistic=f"rank correlation between strength and best correlation after {early} epochs, over the nodes of "
            "a teacher with polarity p > 0",
        )

    def _polarized_harder(self, result: xr.Dataset) -> Statement:
        recovered = recovered_nodes(result, self.threshold).sel(epoch=self.epochs).mean(("node", "over"), skipna=False)
        return Statement(
            "SS.F7.polarized-harder",
            "Polarized teachers are harder to recover",
            rank_correlation(result.polarity.values, recovered.transpose("seed", ...).values),
            "<",
            within=(-1, 1),
            statistic=f"rank correlation between polarity and the share of nodes recovered after {self.epochs} epochs",
        )

    def _width_weak(self, result: xr.Dataset, low: int, high: int) -> Statement:
        recovered = recovered_nodes(result, self.threshold).sel(epoch=self.epochs)
        weak = recovered.where((self.weakness(result) > self.m / 2) & (result.polarity > 0)).mean(("node", "polarity"))
        return Statement(
            "SS.F7.width-weak",
            "Wider students recover more of the weak nodes",
            (weak.sel(over=high) - weak.sel(over=low)).values,
            within=(-1, 1),
            statistic=f"share of the weaker half of the nodes recovered after {self.epochs} epochs, difference "
            f"{high}× − {low}×, teachers with polarity p > 0",
        )

    def _short_of_5x(self, result: xr.Dataset) -> Statement:
        end, middle = self.epochs, max(epoch for epoch in self.looks() if epoch <= self.epochs / 2)
        share = recovered_nodes(result, self.threshold).mean(("node", "polarity"), skipna=False)
        at_middle, at_end = (float(share.sel(over=1, epoch=epoch).mean()) for epoch in (middle, end))
        return Statement(
            "SS.F7.short-of-5x",
            "1× students recover fewer nodes than 5× students",
            (share.sel(over=5) - share.sel(over=1)).sel(epoch=end).values,
            # The paper says "stuck"; these two numbers show how far that is true.
            note=f"1× students recover {at_middle:.1%} of the nodes by epoch {middle} and {at_end:.1%} by epoch {end}.",
            within=(-1, 1),
            statistic=f"share of nodes recovered after {end} epochs, difference 5× − 1×",
        )

    def _loss_statements(self, result: xr.Dataset, low: int, high: int) -> list[Statement]:
        """Statements about S0 figure 11.

        Where some students miss a node and the losses of others fall to rounding, the mean loss depends on the former
        and the mean of its logarithm on how far the latter fall. So shares of seeds are compared as well.
        """
        polarities = [p for p in self.polarity if p > 0]
        if low == high or not polarities:
            return []
        least, most = min(polarities), max(polarities)
        last = result.sel(epoch=self.epochs, polarity=sorted({least, most}))
        gap = np.log10(last.loss.sel(over=low)) - np.log10(last.loss.sel(over=high))
        lower = Statement(
            "S0.F11.width-loss",
            f"Wider students reach a lower evaluation loss at polarity p = {most:g}",
            gap.sel(polarity=most).values,
            statistic=f"log₁₀ evaluation loss after {self.epochs} epochs, difference {low}× − {high}×",
        )
        if least == most:
            return [lower]
        wins = (gap > 0).where(gap.notnull())
        covers = (last.best.sel(over=low) > self.threshold).all("node").sel(polarity=least)
        loses = wins.sel(polarity=least) == 0
        note = (
            f"{int((covers & loses).sum())} of the {int(covers.sum())} {low}× students that recover every node end "
            f"with a lower loss than the {high}× student of their seed, and so do {int((~covers & loses).sum())} of "
            f"the {int((~covers).sum())} that miss a node."
        )
        share = f"share of seeds whose {low}× student ends with a higher loss than the {high}× student"
        everywhere = Statement(
            "S0.F11.width-loss-everywhere",
            f"Wider students reach a lower evaluation loss at polarity p = {least:g} too",
            wins.sel(polarity=least).values,
            ">",
            0.5,
            note,
            within=(0, 1),
            statistic=f"{share}, at polarity p = {least:g}",
            trials=1,
        )
        loss = last.loss.sel(polarity=least)
        differences = {
            "log₁₀ evaluation loss": gap.sel(polarity=least),
            "evaluation loss": loss.sel(over=low) - loss.sel(over=high),
        }
        others = tuple(
            Statement(
                everywhere.id,
                everywhere.says,
                values.values,
                statistic=f"{name} after {self.epochs} epochs, difference {low}× − {high}×, at polarity p = {least:g}",
            )
            for name, values in differences.items()
        )
        return [
            lower,
            everywhere._replace(others=others),
            Statement(
                "S0.F11.polarity-gap",
                "Width lowers the loss more often for strongly polarized teachers",
                (wins.sel(polarity=most) - wins.sel(polarity=least)).values,
                within=(-1, 1),
                statistic=f"{share}, difference of polarities p = {most:g} minus p = {least:g}",
            ),
        ]


STUDY = Recovery
