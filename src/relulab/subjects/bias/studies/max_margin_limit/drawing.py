"""Figures of gradient flow to the max-margin directions."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from relulab.lab.show.animation import Animation
from relulab.lab.show.figure import BLUE, GOLD, GRAY, RED, SILVER, TEAL, panels

KINDS = {"paper": ("the paper's data", RED, "-"), "spanning": ("spanning support examples", TEAL, (0, (4, 1)))}
PLACES = {"off": SILVER, "positive": RED, "negative": BLUE, "undecided": GOLD}
AREAS = ("off", "positive sector", "negative sector", "undecided")
FRAMES = 90


def directions(result: xr.Dataset) -> Figure:
    """Plot distances over −log ℓ, and the number of neurons in each sector in the early phase.

    Args:
        result: The result of the study.
    """
    kinds = [str(kind) for kind in result.kind.values]
    figure, axes = panels(1, 2 + len(kinds), width=2.7, height=2.6)
    for kind in kinds:
        for name, ax in (("first", axes[0, 0]), ("beyond", axes[0, 1])):
            for i, seed in enumerate(result.seed):
                network = result.sel(kind=kind, seed=seed)
                late = (network.log_loss < -1).values
                text, color, style = KINDS[kind]
                label = text if i == 0 else None
                look = {"color": color, "ls": style, "lw": 0.8, "alpha": 0.6, "label": label}
                ax.plot(-network.log_loss[late], network[name][late], **look)
    ends = float(-result.log_loss.min()) * np.array([1 / 300, 1.0])
    for power, style in ((-0.5, "-."), (-1, ":")):
        axes[0, 0].plot(
            ends,
            0.5 * (ends / ends[0]) ** power,
            style,
            color=GRAY,
            lw=1,
            label=f"power {power:g}".replace("-", "−"),
        )
    axes[0, 0].set(xscale="log", yscale="log", xlabel="−log of the loss", title="distance from the limit (eq. 8)")
    axes[0, 0].legend(fontsize=6, loc="lower left")
    axes[0, 1].set(xscale="log", yscale="log", xlabel="−log of the loss", title="third singular value / first")
    for ax, kind in zip(axes[0, 2:], kinds, strict=True):
        _places(ax, result.sel(kind=kind).isel(seed=0))
        ax.set_title(f"{KINDS[kind][0]}, seed {int(result.seed[0])}")
    handles, labels = axes[0, 2].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower right", ncols=4, frameon=False)
    return figure


def _places(ax, network: xr.Dataset) -> None:
    undecided = network["count"].sel(place="undecided")
    early = (network.s <= 3 * network.s[undecided > 0].max()).values
    counts = [network["count"].sel(place=name).values[early] for name in PLACES]
    ax.stackplot(network.s.values[early], np.array(counts), colors=list(PLACES.values()), labels=AREAS)
    ax.set(
        xlabel="time, weighted by the loss",
        ylabel="number of neurons",
        xlim=(0, None),
        ylim=(0, float(np.sum(counts, 0).max())),
    )


def turning(network: xr.Dataset) -> Animation:
    """Animate all neurons of a network in the plane of the two max-margin directions.

    Args:
        network: The result for one network.
    """
    network = network.dropna("look", how="all", subset=["log_loss"])
    figure, axes = panels(1, 1, width=3.6, height=3.4)
    ax, frames = (
        axes[0, 0],
        np.linspace(0, network.sizes["look"] - 1, min(FRAMES, network.sizes["look"])).round().astype(int),
    )
    plane, sign = network.plane.transpose("look", "neuron", "axis").values, network.sign.values
    dots = [
        ax.plot([], [], marker, color=PLACES[name], ms=4, alpha=0.7, label=f"{name} output weight")[0]
        for name, marker in (("positive", "o"), ("negative", "^"))
    ]
    ax.set(
        xlim=(-1.1, 1.1),
        ylim=(-1.1, 1.1),
        aspect="equal",
        xlabel="component along w₊",
        ylabel="component orthogonal to w₊, toward w₋",
    )
    ax.legend(loc="upper right", fontsize=7)

    def draw(i: int) -> None:
        snapshot = frames[i]
        for line, wanted in zip(dots, (1, -1), strict=True):
            line.set_data(*plane[snapshot][sign == wanted].T)
        loss = f"{float(network.log_loss[snapshot]):,.1f}".replace("-", "−")
        ax.set_title(f"log of the loss: {loss}\nlengths relative to the longest neuron")

    return Animation(
        figure, draw, len(frames),
        "The neurons of a network, at first of equal length and in all directions, turn toward two rays, the "
        "max-margin directions of the two classes, by the sign of their output weights. Then they grow along them.",
    )  # fmt: skip
