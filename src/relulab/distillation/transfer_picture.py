"""A report on transfer risk as a picture: the law of the angles, and risk against the number of points."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from relulab.data.angles import RIGHT, PolynomialAngles
from relulab.distillation.transfer_report import TransferReport
from relulab.lab.figure import house_style, panels

BLUE, RED, GOLD, GREY = "#30638e", "#d1495b", "#edae49", "#333333"
DRAWN = 1000  # angles at which p is drawn


def picture(found: TransferReport) -> Figure:
    """On the left p(θ) of the sample, its band and the polynomial that suits it; on the right the risks."""
    with house_style():
        figure, axes = panels(1, 2, width=3.4, height=2.7)
        _draw_angles(axes[0, 0], found)
        _draw_risks(axes[0, 1], found)
    return figure


def _draw_angles(ax: Axes, found: TransferReport) -> None:
    law = found.law
    theta = np.linspace(0, RIGHT, DRAWN)
    ax.fill_between(np.degrees(theta), law.share(theta), law.p(theta), color=BLUE, alpha=0.25, lw=0, label="band")
    ax.plot(np.degrees(theta), law.share(theta), color=BLUE, label="sample")
    if 0 < law.kappa < np.inf:
        fit = PolynomialAngles(law.kappa).p(theta)
        ax.plot(np.degrees(theta), fit, "--", color=GOLD, label=f"(1 − 2θ/π)^κ, κ = {law.kappa:.3g}")
    ax.set(
        xlabel="angle θ to the teacher, degrees", ylabel="p(θ), share at θ or more", xlim=(0, 90), ylim=(0, 1.03),
        xticks=range(0, 91, 15), title=f"angles of {len(law.angles):,} points",
    )  # fmt: skip
    ax.legend(loc="best")


def _draw_risks(ax: Axes, found: TransferReport) -> None:
    n, risk, low, high = found.curve[:4]
    # a logarithmic axis has no 0: below the floor nothing is told apart
    positive = np.concatenate([x[x > 0] for x in (risk, high, found.bound.value, found.tight.value)])
    floor = 10.0 ** np.floor(np.log10(max(positive.min(initial=1.0) / 2, 1e-12)))
    for bound, style, words in ((found.bound, "-", "bound"), (found.tight, ":", "bound, tight")):
        ax.plot(n, np.maximum(bound.value, floor / 10), style, color=RED, label=words)
    met = risk > 0
    ax.vlines(n, np.maximum(low, floor / 10), high, color=BLUE, lw=1)
    ax.plot(n[met], risk[met], "o-", color=BLUE, ms=4, label=f"measured, {found.law.confidence:.4g} interval")
    if not met.all():
        ax.plot(n[~met], high[~met], "v", color=BLUE, mfc="white", ms=5, label="no error met: upper limit")
    if found.d <= n.max() * 2:
        ax.axvline(found.d, color=GREY, lw=0.8)
        ax.annotate(f"d = {found.d}", (found.d, 1), (-3, -2), xycoords=("data", "axes fraction"),
                    textcoords="offset points", ha="right", va="top", color=GREY)  # fmt: skip
    ax.set(xscale="log", yscale="log", ylim=(floor, 1.3), xlabel="points n of a transfer set", ylabel="transfer risk")
    ax.set_title("risk of students of n points")
    ax.legend(loc="best")
