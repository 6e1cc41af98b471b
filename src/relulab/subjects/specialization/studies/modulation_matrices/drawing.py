"""The figures: the matrices H* and β*, and how large their diagonals are."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from relulab.lab.show.figure import ASH, headline, legend, look, panels

NAMES = {"H": "H*", "beta": "β*"}


def drawn_matrices(result: xr.Dataset) -> Figure:
    """Draw both matrices of every hidden layer before and after training, in one seed.

    Args:
        result: The result of the study.
    """
    layers, epochs = result.layer.values, (0, int(result.epoch.max()))
    rows = [(kind, epoch) for kind in NAMES for epoch in epochs]
    figure, axes = panels(len(rows), len(layers), width=2.6, height=1.4)
    for axes_of_row, (kind, epoch) in zip(axes, rows, strict=True):
        for ax, l in zip(axes_of_row, layers, strict=True):
            matrix = result[f"{kind}{l}"].sel(epoch=epoch).transpose(f"teacher{l}", f"student{l}").values
            ax.imshow(
                matrix, vmin=0, vmax=np.percentile(matrix, 99), cmap="Greys", aspect="auto", interpolation="nearest"
            )
            ax.grid(visible=False)
            ax.axvline(len(matrix) - 0.5, color=ASH, lw=0.8)
            ax.xaxis.set_major_locator(MaxNLocator(4, integer=True))
            ax.yaxis.set_major_locator(MaxNLocator(4, integer=True))
            if (kind, epoch) == rows[0]:
                ax.set_title(f"layer {l}")
            if (kind, epoch) == rows[-1]:
                ax.set_xlabel("student, in the order of matches")
        axes_of_row[0].set_ylabel(f"{NAMES[kind]}, epoch {epoch}\nteacher node")
    return figure


def drawn_ratios(result: xr.Dataset) -> Figure:
    """Draw the ratio of diagonal to other entries over the epochs.

    Args:
        result: The result of the study.
    """
    layers = result.layer.values
    figure, axes = panels(1, len(layers), sharey=True)
    for ax, l in zip(axes[0], layers, strict=True):
        one = result.sel(layer=l)
        for i, (kind, name) in enumerate(NAMES.items()):
            mean, error = _summary(one[f"ratio_{kind}"])
            ax.plot(one.epoch, 2**mean, ms=3, label=name, **look(i))
            ax.fill_between(
                one.epoch, 2 ** (mean - 2 * error), 2 ** (mean + 2 * error), color=look(i)["color"], alpha=0.2, lw=0
            )
        ax.plot(one.epoch, 2 ** _summary(one.ratio_H_random)[0], ls=":", color=ASH, label="matched at random")
        ax.set(title=f"layer {l}", xlabel="epoch", yscale="log")
        ticks = [1, 2, 4, 8]
        ax.set_yticks(ticks, [str(t) for t in ticks])
        ax.tick_params("y", which="minor", left=False, labelleft=False)
    axes[0, 0].set_ylabel("diagonal entries, as a multiple\nof the other entries")
    legend(figure, axes[0, 0])
    headline(figure, "Mean absolute entry of matched pairs, as a multiple of that of all other pairs")
    return figure


def _summary(values: xr.DataArray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean over seeds and its standard error."""
    rows = values.transpose("epoch", "seed").values
    return rows.mean(1), rows.std(1, ddof=1) / np.sqrt(rows.shape[1]) if rows.shape[1] > 1 else 0 * rows[:, 0]
