"""The figure of a transfer-risk report: distribution of the angles, and risk against the number of points."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from relulab.lab.show.figure import BLUE, GOLD, RED, house_style, panels
from relulab.subjects.distillation.measurements.transfer_report import TransferReport, fitted
from relulab.subjects.distillation.tools.angle_laws import RIGHT, PolynomialAngles
from relulab.subjects.distillation.tools.bound import transfer_bound

DRAWN = 1000  # number of angles at which p is drawn
GRID = 60  # how many values of n the bounds are drawn at, at most


def picture(report: TransferReport, risk: float | None = None) -> Figure:
    """Draw p(θ) of the sample with its band and fitted polynomial (left), and bounds and measured risk (right).

    Args:
        report: The report.
        risk: The wanted risk, drawn as a dashed line; None draws no line.
    """
    with house_style():
        figure, axes = panels(1, 2, width=3.6, height=3.0)
        _draw_angles(axes[0, 0], report)
        _draw_risks(axes[0, 1], report)
        if risk is not None:
            axes[0, 1].axhline(risk, color=GOLD, lw=1, ls="--", label="wanted risk")
        for ax in axes[0]:
            ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, columnspacing=1.2)
    return figure


def _draw_angles(ax: Axes, report: TransferReport) -> None:
    law = report.law
    theta = np.linspace(0, RIGHT, DRAWN)
    band = f"{100 * (law.confidence or 0.0):.4g}% confidence band"
    ax.fill_between(np.degrees(theta), law.share(theta), law.p(theta), color=BLUE, alpha=0.25, lw=0, label=band)
    ax.plot(np.degrees(theta), law.share(theta), color=BLUE, label="sample")
    if fitted(law):
        fit = PolynomialAngles(law.kappa).p(theta)
        ax.plot(np.degrees(theta), fit, "--", color=GOLD, label=f"fitted (1 − 2θ/π)^{law.kappa:.3g}")
    ax.set(
        xlabel="angle θ to the teacher in degrees", ylabel="share of points at this angle or more", xlim=(0, 90),
        ylim=(0, 1.03), xticks=range(0, 91, 15), title=f"angles of {len(law.angles):,} points",
    )  # fmt: skip


def _draw_risks(ax: Axes, report: TransferReport) -> None:
    n, risk, low, high = report.curve[:4]
    ends = report.general and report.d <= n.max()
    most = report.d - 1 if ends else int(n.max())
    grid = np.unique(np.geomspace(1, max(most, 1), GRID).round().astype(int))
    bounds = [transfer_bound(report.law, grid, tight=tight).value for tight in (False, True)]
    # A logarithmic axis has no 0, so zeros are drawn below its lower end.
    positive = np.concatenate([x[x > 0] for x in (risk, high, *bounds)])
    floor = 10.0 ** np.floor(np.log10(max(positive.min(initial=1.0) / 2, 1e-12)))
    below = floor / 10
    for bound, style, label in zip(bounds, ("-", ":"), ("bound", "tight bound"), strict=True):
        x, y = (np.append(grid, [report.d] * 2), np.append(bound, [bound[-1], below])) if ends else (grid, bound)
        ax.plot(x, y.clip(below), style, color=RED, label=label)
    ax.vlines(n, low.clip(below), high, color=BLUE, lw=1, zorder=3)
    positive_risk = risk > 0
    if positive_risk.any():
        level = f"{100 * (report.law.confidence or 0.0):.4g}%"
        ax.plot(n[positive_risk], risk[positive_risk], "o-", color=BLUE, ms=4, label=f"measured, {level} interval")
    if not positive_risk.all():
        none = ~positive_risk
        ax.plot(n[none], high[none], "v", color=BLUE, mfc="white", ms=5, label="no errors: upper limit")
    ax.set(xscale="log", yscale="log", xlim=(0.85, 1.18 * n.max()), ylim=(floor, 1.3), ylabel="transfer risk")
    ax.set(xlabel="points n per transfer set", title=f"risk of students in {report.d} dimensions")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    ax.xaxis.set_minor_locator(NullLocator())
