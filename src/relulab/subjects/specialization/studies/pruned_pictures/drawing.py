"""The figure of the pruned networks."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from relulab.lab.interval import interval
from relulab.lab.show.figure import COAL, headline, legend, look, panels
from relulab.subjects.specialization.studies.pruned_pictures.measures import STAGES

NAMES = dict(zip(STAGES, ("directly after pruning", "weights fitted again", "after further training"), strict=True))


def drawn_accuracies(result: xr.Dataset) -> Figure:
    """Draw the accuracy by criterion, at three times.

    Args:
        result: The result of the study.
    """
    figure, axes = panels(1, 1, width=5.4, height=3)
    ax, criteria = axes[0, 0], result.by.values.tolist()
    mean, half = interval(result.accuracy)
    for i, stage in enumerate(STAGES):
        places = np.arange(len(criteria)) + 0.16 * (i - 1)
        style = {**look(i), "ls": ""}
        ax.errorbar(places, mean.sel(stage=stage), half.sel(stage=stage), ms=5, label=NAMES[stage], **style)
    ax.axhline(float(result.whole.mean()), color=COAL, ls="--", label="whole network")
    ax.set(
        xticks=range(len(criteria)), xticklabels=criteria, xlabel="criterion", ylabel="accuracy on held-out pictures"
    )
    kept = 100 * float(result.kept.mean())
    headline(figure, f"{kept:.0f}% of the multiply-adds kept, {result.sizes['seed']} seeds")
    legend(figure, ax)
    return figure
