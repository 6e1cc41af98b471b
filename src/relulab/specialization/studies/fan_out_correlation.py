"""SS figure 5 (S0 figure 3): fan-out of every student node against its best correlation with a teacher node."""

from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from pydantic import PositiveInt

from relulab.lab.claim import rank_correlation
from relulab.lab.figure import panels
from relulab.specialization.correlation import rho_mean
from relulab.specialization.observation import Observation
from relulab.specialization.studies.two_layer import SMOKE, Correlation, Statement, TwoLayer
from relulab.train.probe import Reading


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

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
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
        return {"fan-out": figure}

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
            Statement(
                "SS.F5.width-helps",
                "Polarity hurts narrow students most: fall of ρ_mean from the smallest to the largest p at "
                f"{low}× less at {high}×",
                (drop.sel(over=low) - drop.sel(over=high)).values,
            ),
        ]


def _rank_of_present(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Rank correlation over the students that a network has: narrower ones are padded with NaN."""
    flat = [rank_correlation(x[~np.isnan(x)], y[~np.isnan(x)]) for x, y in zip(*(_rows(a), _rows(b)), strict=True)]
    return np.reshape(flat, a.shape[:-1])


def _rows(a: np.ndarray) -> np.ndarray:
    return a.reshape(-1, a.shape[-1])


STUDY = FanOutCorrelation
