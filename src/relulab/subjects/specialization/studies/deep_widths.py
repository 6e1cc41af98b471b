"""LM figure 12: how the correlations of deep students depend on their width."""

from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from pydantic import PositiveInt

from relulab.lab.claim import Claim
from relulab.lab.control import Control
from relulab.lab.show.figure import headline, legend, panels, width_look
from relulab.subjects.specialization.studies.deep_students import DeepStudents, Hidden
from relulab.subjects.specialization.studies.shuffled import shuffled
from relulab.subjects.specialization.studies.statements import Statement, claimed
from relulab.subjects.specialization.studies.two_layer_students import Widths


class DeepWidths(DeepStudents):
    """Do wider deep students follow more of their teacher's nodes, and more steadily?

    Students with 1 to 50 times as many nodes as a teacher with four hidden layers are trained on its outputs. In every
    hidden layer, ρ̄ is the mean over teacher nodes of the best correlation with a student node. LM finds that ρ̄ is
    higher and steadier with width, and that very wide students are slower.
    """

    name: ClassVar = "deep-widths"
    ids: ClassVar = ("LM.F12",)
    title: ClassVar = "Degrees of over-realization in deep students"
    source: ClassVar = "LM figure 12, left"
    prefix: ClassVar = "LM.F12"
    remarks: ClassVar = (
        "The left half of the figure: fully connected students without BatchNorm. LM prints no learning rate, batch "
        "size or number of epochs. Here they are 0.001 for the squared error summed over the outputs, 64, and 10 "
        "epochs of 100,000 new points. Teacher nodes that are never active are left out of ρ̄; their numbers are stored "
        "with the result."
    )
    presets: ClassVar = {
        "smoke": {
            "d": 6, "C": 5, "hidden": (3, 4), "over": (1, 10, 50), "seeds": 2, "epochs": 2, "steps": 20, "n_train": 500,
            "n_held_out": 200, 
        },
        "quick": {
            "over": (1, 2, 10, 50), "seeds": 8, "epochs": 8, "steps": 100, "n_train": 6400, "n_held_out": 1000,
        },
    }  # fmt: skip
    captions: ClassVar = {
        "widths": "Mean best correlation ρ̄ of every hidden layer over epochs; layer 0 is the lowest. Colors and "
        "markers are student widths as multiples of the teacher's. Lines are means over teachers, shaded areas one "
        "standard deviation. Answers the left half of figure 12 of LM.",
    }

    hidden: Hidden = (10, 15, 20, 25)
    """numbers of nodes of the teacher's hidden layers"""
    over: Widths = (1, 2, 5, 10, 20, 50)
    """student widths, as multiples of the teacher's widths"""
    seeds: PositiveInt = 32
    """number of teachers, each with one student of each width"""
    epochs: PositiveInt = 10
    """number of training epochs"""

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        figure, axes = panels(1, len(self.hidden), sharey=True)
        for l, ax in enumerate(axes[0]):
            for over in self.over:
                rho = result.rho.sel(layer=l, over=over)
                mean, deviation = rho.mean("seed"), rho.std("seed")
                ax.plot(mean.epoch, mean, ms=3, label=f"{over}×", **width_look(over))
                color = width_look(over)["color"]
                ax.fill_between(mean.epoch, mean - deviation, mean + deviation, color=color, alpha=0.15, lw=0)
            ax.set(title=f"layer {l}", xlabel="epoch", ylim=(0, 1.02))
        axes[0, 0].set_ylabel("mean best correlation ρ̄")
        headline(figure, f"{result.sizes['seed']} teachers {'-'.join(map(str, self.hidden))}")
        legend(figure, axes[0, 0])
        return {"widths": figure}

    def controls(self, result: xr.Dataset) -> list[Control]:
        return [
            Control("widths assigned to the students at random", (f"{self.prefix}.*",),
                    shuffled(result, "over", "rho", root=self.root)),
        ]  # fmt: skip

    def claims(self, result: xr.Dataset) -> list[Claim]:
        lost = ~np.isfinite(result.loss.sel(epoch=self.epochs)).all("over").values
        return claimed(self.statements(result), lost)

    def statements(self, result: xr.Dataset) -> list[Statement]:
        """Return what LM says about this figure, as one number per seed.

        Args:
            result: The result of the study.
        """
        low, high = min(self.over), max(over for over in self.over if over <= 10)
        statements = self._of_width(result, low, high) if low < high else []
        return [*statements, *(self._slow(result, high, over) for over in self.over if over > high)]

    def _of_width(self, result: xr.Dataset, low: int, high: int) -> list[Statement]:
        end = result.rho.sel(epoch=self.epochs).mean("layer")
        off = abs(end - end.mean("seed"))
        return [
            Statement(
                f"{self.prefix}.higher", "Wider students follow their teachers better",
                (end.sel(over=high) - end.sel(over=low)).values, within=(-1, 1),
                statistic=f"ρ̄ after {self.epochs} epochs, mean over layers, difference {high}× − {low}×",
            ),
            Statement(
                f"{self.prefix}.steadier", "Wider students differ less from teacher to teacher",
                (off.sel(over=low) - off.sel(over=high)).values, within=(-1, 1),
                note="The standard deviations over teachers are "
                + ", ".join(f"{float(end.sel(over=over).std(ddof=1)):.3f} at {over}×" for over in self.over) + ".",
                statistic=f"distance of ρ̄ after {self.epochs} epochs from its mean over teachers, mean over layers, "
                f"difference {low}× − {high}×",
            ),
        ]  # fmt: skip

    def _slow(self, result: xr.Dataset, middle: int, wide: int) -> Statement:
        early = self.looks()[1]
        start, rho = (result.rho.sel(epoch=epoch, drop=True) for epoch in (0, early))
        risen = ((rho - start) / (1 - start)).mean("layer")
        return Statement(
            f"{self.prefix}.slow-{wide}", f"{wide}× students are slower than {middle}× students",
            (risen.sel(over=middle) - risen.sel(over=wide)).values,
            note="Wider students start with a larger ρ̄, so the share of the way from the start to 1 is compared.",
            statistic=f"share of the way from the initial ρ̄ to 1 after epoch {early}, mean over layers, difference "
            f"{middle}× − {wide}×",
        )  # fmt: skip

    def statistics(self, result: xr.Dataset) -> dict[str, xr.DataArray]:
        rho = result.rho.mean(("over", "layer"), skipna=False)
        return {"ρ̄, mean over layers and widths": rho, f"ρ̄ after {self.epochs} epochs": rho.sel(epoch=self.epochs)}


STUDY = DeepWidths
