"""IB figures 3 and 4: similarities of digits layer by layer, and the weights W₇."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from relulab.lab.show.figure import BLUE, GOLD, GRAY, RED, SILVER, TEAL, headline, legend, panels

COLORS = {"different": BLUE, "both 0": GOLD, "both 1": TEAL}
STYLES = {"different": ("-", "o"), "both 0": ("--", "s"), "both 1": (":", "^")}  # line and marker
LABELS = {"different": "different classes", "both 0": "both zeros", "both 1": "both ones"}
PLUS, MINUS = GOLD, BLUE
NAMES = ("images", *(f"layer {l}" for l in range(1, 8)))
SHOWN = 10  # number of singular values, as in the paper


def _filled(ax: Axes, bins: np.ndarray, shares: np.ndarray, kind: str) -> None:
    ax.fill_between(bins, shares, step="mid", color=COLORS[kind], alpha=0.35, lw=0)
    ax.step(bins, shares, where="mid", color=COLORS[kind], ls=STYLES[kind][0], lw=1.2, label=LABELS[kind])


def similarity(result: xr.Dataset) -> Figure:
    """Plot histograms of inner products after the ReLU for one seed, and for layer 7 also before the ReLU.

    Args:
        result: The result of the study.
    """
    network = result.isel(seed=0).sel(when="end")
    figure, axes = panels(3, 3, width=2.3, height=1.5)
    shown = [*(("after", layer) for layer in range(len(NAMES))), ("before", len(NAMES) - 1)]
    for ax, (side, layer) in zip(axes.flat, shown, strict=True):
        features = network.sel(side=side, layer=layer)
        scale = float(features.scale)
        ends = []
        for kind in COLORS:
            _filled(ax, features.inner_bin.values * scale, features.inner.sel(pair=kind).values, kind)
            ends += features.inner_quantile.sel(pair=kind, level=[0.01, 0.99]).values.tolist()
        low, high = min(*ends, 0 if layer == len(NAMES) - 1 else np.inf) * scale, max(ends) * scale
        ax.set(xlim=(low - 0.08 * (high - low), high + 0.08 * (high - low)), yticks=[])
        ax.set_title(NAMES[layer] + (", before the ReLU" if side == "before" else ""))
        ax.ticklabel_format(axis="x", style="sci", scilimits=(-3, 4))
        ax.locator_params(axis="x", nbins=4)
        ax.grid(axis="y", visible=False)
    axes[1, 0].set_ylabel("share of pairs")
    title = f"Inner products of two held-out digits after training, seed {int(network.seed)}"
    headline(figure, f"{title}; features after the ReLU, except in the last panel")
    legend(figure, axes[0, 0])
    return figure


def cosines(result: xr.Dataset) -> Figure:
    """Plot cosines by layer: the median, the middle 50% and the middle 98% of pairs, and the medians of single seeds.

    Args:
        result: The result of the study.
    """
    figure, axes = panels(1, 3, width=2.6, height=2.5, sharey=True)
    shown = (("start", "after", "before training"), ("end", "after", "after training"),
             ("end", "before", "after training, before the ReLU"))  # fmt: skip
    for ax, (when, side, title) in zip(axes[0], shown, strict=True):
        for i, kind in enumerate(COLORS):
            q = result.cosine_quantile.sel(when=when, side=side, pair=kind).mean("seed")
            x = q.layer.values + 0.22 * (i - 1)
            ax.vlines(x, q.sel(level=0.01), q.sel(level=0.99), color=COLORS[kind], lw=1)
            ax.vlines(x, q.sel(level=0.25), q.sel(level=0.75), color=COLORS[kind], lw=3.5)
            mark = {"ls": "none", "marker": STYLES[kind][1], "color": "white", "mec": COLORS[kind], "ms": 4}
            ax.plot(x, q.sel(level=0.5), **mark, label=LABELS[kind])
            each = result.cosine_quantile.sel(when=when, side=side, pair=kind, level=0.5).transpose("layer", "seed")
            ax.plot(x + 0.1, each, "_", color=COLORS[kind], ms=4, mew=0.8)
        ax.axhline(0, color=GRAY, lw=0.8)
        ax.set(title=title, xlabel="layer", xticks=range(len(NAMES)))
        ax.grid(axis="x", visible=False)
    axes[0, 0].set_ylabel("cosine of two held-out digits")
    legend(figure, axes[0, 0])
    details = f"means over {result.sizes['seed']} seeds; dashes: medians of single seeds; layer 0: the images"
    headline(figure, f"Median, middle 50% and middle 98% of pairs, {details}")
    return figure


def weights(result: xr.Dataset) -> Figure:
    """Plot the largest singular values of W₇, and its rows in the plane of the top two singular directions.

    Args:
        result: The result of the study.
    """
    figure, axes = panels(1, 2, width=3.2, height=2.6)
    left, right = axes[0]
    top = result.singular.sel(rank=slice(1, SHOWN)).transpose("when", "seed", "rank")
    for when, color, marker, text in (("start", SILVER, "s", "before training"), ("end", RED, "o", "after training")):
        for i, row in enumerate(top.sel(when=when).values):
            label = text if not i else None
            left.plot(top["rank"], row, marker, color=color, ms=4, alpha=0.6, mec="none", label=label)
    left.set(title=f"weights $W_7$ of layer 7, {top.sizes['seed']} seeds", xlabel="rank")
    left.set(ylabel="singular value", xticks=range(1, SHOWN + 1), ylim=(0, None))
    left.legend()
    network = result.isel(seed=0).sel(when="end")
    place, sign = network.place.transpose("neuron", "axis").values, network.outer.values > 0
    for chosen, color, marker, text in ((sign, PLUS, "o", "positive"), (~sign, MINUS, "^", "negative")):
        style = {"color": color, "ms": 4.5, "alpha": 0.65, "mec": "none"}
        right.plot(*place[chosen].T, marker, **style, label=f"{text} output weight: {chosen.sum()}")
    right.set(title=f"neurons (rows of $W_7$), seed {int(network.seed)}", xlabel="first singular direction")
    right.set_ylabel("second singular direction")
    right.axhline(0, color=GRAY, lw=0.8)
    right.axvline(0, color=GRAY, lw=0.8)
    right.legend()
    return figure


def training(result: xr.Dataset) -> Figure:
    """Plot the loss, the error rate and the similarity of layer-7 features over epochs, one line per seed.

    Args:
        result: The result of the study.
    """
    figure, axes = panels(1, 3, width=2.6, height=2.2)
    error = 1 - result.accuracy
    for part, color, style, text in (("train", SILVER, "s-.", "training"), ("held out", RED, "D-", "held-out")):
        for ax, values in zip(axes[0, :2], (result.loss, error), strict=True):
            _lines(ax, values.sel(part=part), color, style, f"{text} digits")
    for kind, color in COLORS.items():
        _lines(axes[0, 2], result.seventh_cosine.sel(pair=kind), color, "".join(STYLES[kind][::-1]), LABELS[kind])
    axes[0, 0].set(yscale="log", title="binary cross-entropy")
    smallest = float(error.where(error > 0).min()) if bool((error > 0).any()) else 1e-3
    axes[0, 1].set_yscale("symlog", linthresh=smallest, linscale=0.4)
    axes[0, 1].set(ylim=(0, 1), title="error rate")
    axes[0, 2].set(ylim=(0, 1.05), title="median cosine, layer 7")
    for ax in axes[0]:
        ax.set_xlabel("epoch")
        ax.xaxis.get_major_locator().set_params(integer=True)
    legend(figure, axes[0, 0], axes[0, 2])
    return figure


def _lines(ax: Axes, values: xr.DataArray, color: str, style: str, label: str) -> None:
    rows = values.transpose("epoch", "seed")
    ax.plot(rows.epoch, rows, style, color=color, ms=2.5, lw=0.9, alpha=0.6)[0].set_label(label)
