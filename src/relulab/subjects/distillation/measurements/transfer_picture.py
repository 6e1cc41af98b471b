"""A report on transfer risk as a picture: the law of the angles, and risk against the number of points."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from relulab.lab.show.figure import BLUE, GOLD, RED, house_style, panels
from relulab.subjects.distillation.measurements.transfer_report import TransferReport, fitted
from relulab.subjects.distillation.tools.angle_laws import RIGHT, PolynomialAngles
from relulab.subjects.distillation.tools.bound import transfer_bound

DRAWN = 1000  # angles at which p is drawn
GRID = 60  # numbers of points at which the bounds are drawn


def picture(found: TransferReport, risk: float | None = None) -> Figure:
    """On the left p(θ) of the sample, its band and the polynomial that suits it; on the right the risks, one wanted."""
    with house_style():
        figure, axes = panels(1, 2, width=3.6, height=3.0)
        _draw_angles(axes[0, 0], found)
        _draw_risks(axes[0, 1], found)
        if risk is not None:
            axes[0, 1].axhline(risk, color=GOLD, lw=1, ls="--", label="wanted")
        for ax in axes[0]:
            ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, columnspacing=1.2)
    return figure


def _draw_angles(ax: Axes, found: TransferReport) -> None:
    law = found.law
    theta = np.linspace(0, RIGHT, DRAWN)
    band = f"band, confidence {law.confidence:g}"
    ax.fill_between(np.degrees(theta), law.share(theta), law.p(theta), color=BLUE, alpha=0.25, lw=0, label=band)
    ax.plot(np.degrees(theta), law.share(theta), color=BLUE, label="sample")
    if fitted(law):
        fit = PolynomialAngles(law.kappa).p(theta)
        ax.plot(np.degrees(theta), fit, "--", color=GOLD, label=f"(1 − 2θ/π)^{law.kappa:.3g}, fitted")
    ax.set(
        xlabel="angle θ to the teacher, degrees", ylabel="p(θ), share at θ or more", xlim=(0, 90), ylim=(0, 1.03),
        xticks=range(0, 91, 15), title=f"angles of {len(law.angles):,} points",
    )  # fmt: skip


def _draw_risks(ax: Axes, found: TransferReport) -> None:
    n, risk, low, high = found.curve[:4]
    ends = found.general and found.d <= n.max()
    most = found.d - 1 if ends else int(n.max())
    grid = np.unique(np.geomspace(1, max(most, 1), GRID).round().astype(int))
    bounds = [transfer_bound(found.law, grid, tight=tight).value for tight in (False, True)]
    # a logarithmic axis has no 0: what is 0 goes through the floor
    positive = np.concatenate([x[x > 0] for x in (risk, high, *bounds)])
    floor = 10.0 ** np.floor(np.log10(max(positive.min(initial=1.0) / 2, 1e-12)))
    below = floor / 10
    for bound, style, words in zip(bounds, ("-", ":"), ("bound", "tight bound"), strict=True):
        x, y = (np.append(grid, [found.d] * 2), np.append(bound, [bound[-1], below])) if ends else (grid, bound)
        ax.plot(x, y.clip(below), style, color=RED, label=words)
    ax.vlines(n, low.clip(below), high, color=BLUE, lw=1, zorder=3)
    met = risk > 0
    if met.any():
        ax.plot(n[met], risk[met], "o-", color=BLUE, ms=4, label=f"measured, {found.law.confidence:g} interval")
    if not met.all():
        ax.plot(n[~met], high[~met], "v", color=BLUE, mfc="white", ms=5, label="no error met: upper limit")
    ax.set(xscale="log", yscale="log", xlim=(0.85, 1.18 * n.max()), ylim=(floor, 1.3), ylabel="transfer risk")
    ax.set(xlabel="points n of a transfer set", title=f"risk of students, d = {found.d}")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    ax.xaxis.set_minor_locator(NullLocator())
