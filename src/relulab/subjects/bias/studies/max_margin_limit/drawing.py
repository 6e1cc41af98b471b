"""Pictures of gradient flow to the max-margin directions."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from relulab.lab.show.animation import Animation
from relulab.lab.show.figure import BLUE, GOLD, GRAY, ORANGE, RED, SILVER, TEAL, panels

KINDS = {"paper": ("the paper's data", RED), "spanning": ("supports that span", TEAL)}
PLACES = {"off": SILVER, "positive": ORANGE, "negative": BLUE, "undecided": GOLD}
FRAMES = 90


def directions(result: xr.Dataset) -> Figure:
    """Distances over −log ℓ, and where neurons are in the early phase."""
    kinds = [str(kind) for kind in result.kind.values]
    figure, axes = panels(1, 2 + len(kinds), width=2.7, height=2.6)
    for kind in kinds:
        for name, ax in (("first", axes[0, 0]), ("beyond", axes[0, 1])):
            for i, seed in enumerate(result.seed):
                one = result.sel(kind=kind, seed=seed)
                late = (one.log_loss < -1).values
                words, color = KINDS[kind]
                label = words if i == 0 else None
                ax.plot(-one.log_loss[late], one[name][late], color=color, lw=0.7, alpha=0.5, label=label)
    ends = float(-result.log_loss.min()) * np.array([1 / 300, 1.0])
    for power, style in ((-0.5, "--"), (-1, ":")):
        axes[0, 0].plot(
            ends,
            0.5 * (ends / ends[0]) ** power,
            style,
            color=GRAY,
            lw=1,
            label=f"power {power:g}".replace("-", "−"),
        )
    axes[0, 0].set(xscale="log", yscale="log", xlabel="−log ℓ", title="distance from the limit, eq. 8")
    axes[0, 0].legend(fontsize=6, loc="lower left")
    axes[0, 1].set(xscale="log", yscale="log", xlabel="−log ℓ", title="third singular value over the first")
    for ax, kind in zip(axes[0, 2:], kinds, strict=True):
        _places(ax, result.sel(kind=kind).isel(seed=0))
        ax.set_title(f"neurons, {kind} data, seed {int(result.seed[0])}")
    handles, labels = axes[0, 2].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower right", ncols=4, frameon=False)
    return figure


def _places(ax, one: xr.Dataset) -> None:
    undecided = one["count"].sel(place="undecided")
    early = (one.s <= 3 * one.s[undecided > 0].max()).values
    shares = [one["count"].sel(place=name).values[early] for name in PLACES]
    ax.stackplot(one.s.values[early], np.array(shares), colors=list(PLACES.values()), labels=list(PLACES))
    ax.set(xlabel="s = ∫ ℓ dt", ylabel="neurons", xlim=(0, None), ylim=(0, float(np.sum(shares, 0).max())))


def turning(one: xr.Dataset) -> Animation:
    """All neurons of a network on their way, in the plane of the two max-margin directions."""
    one = one.dropna("look", how="all", subset=["log_loss"])
    figure, axes = panels(1, 1, width=3.6, height=3.4)
    ax, frames = axes[0, 0], np.linspace(0, one.sizes["look"] - 1, min(FRAMES, one.sizes["look"])).round().astype(int)
    plane, sign = one.plane.transpose("look", "neuron", "axis").values, one.sign.values
    dots = [
        ax.plot([], [], "o", color=PLACES[name], ms=4, alpha=0.7, label=f"a {mark} 0")[0]
        for name, mark in (("positive", ">"), ("negative", "<"))
    ]
    ax.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), aspect="equal", xlabel="along w₊", ylabel="across w₊, toward w₋")
    ax.legend(loc="upper right", fontsize=7)

    def draw(i: int) -> None:
        look = frames[i]
        for line, wanted in zip(dots, (1, -1), strict=True):
            line.set_data(*plane[look][sign == wanted].T)
        ax.set_title(f"log ℓ = {float(one.log_loss[look]):,.1f}; lengths as shares of the longest")

    return Animation(
        figure, draw, len(frames),
        "The neurons of a network, first in all directions and of one length, turn toward two rays, the max-margin "
        "directions of the two classes, by the sign of their outer weight, and grow along them.",
    )  # fmt: skip
