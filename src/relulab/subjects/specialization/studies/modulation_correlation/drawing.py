"""Figures of top-down modulation versus correlation."""

import xarray as xr
from matplotlib.figure import Figure

from relulab.lab.interval import interval
from relulab.lab.show.figure import headline, legend, look, panels
from relulab.subjects.specialization.studies.modulation_correlation.claims import shape_of


def drawn_nodes(result: xr.Dataset, kind: str) -> Figure:
    """Plot √E[β_kk] versus best correlation, one row of panels per layer, one column per epoch.

    Args:
        result: The result of the study.
        kind: The inputs, "gaussian" or "uniform".
    """
    networks = result.sel(inputs=kind)
    layers, epochs = networks.layer.values.tolist()[::-1], networks.epoch.values.tolist()
    figure, axes = panels(len(layers), len(epochs), width=1.5, height=1.4, sharex=True, sharey="row")
    for layer, row in zip(layers, axes, strict=True):
        for epoch, ax in zip(epochs, row, strict=True):
            for seed in networks.seed.values.tolist():
                nodes = networks.sel(layer=layer, epoch=epoch, seed=seed)
                ax.scatter(nodes.specialized, nodes.modulation, s=3, alpha=0.5, lw=0, rasterized=True)
            if layer == layers[0]:
                ax.set_title(f"epoch {epoch}")
        row[0].set_ylabel(f"layer {layer}\n√E[β_kk]")
        row[0].set_ylim(0, None)
    axes[0, 0].set(xlim=(-0.05, 1.05), xticks=(0, 0.5, 1))
    for ax in axes[-1]:
        ax.set_xlabel("best correlation")
    return figure


def drawn_courses(result: xr.Dataset) -> Figure:
    """Plot how the L forms in every layer, and ρ_mean, over epochs.

    Args:
        result: The result of the study.
    """
    kinds = result.inputs.values.tolist()
    figure, axes = panels(2, len(kinds), width=2.8, sharex=True, sharey="row")
    for kind, column in zip(kinds, axes.T, strict=True):
        of_kind = result.sel(inputs=kind)
        for values, ax in zip((shape_of(of_kind), of_kind.rho_mean), column, strict=True):
            mean, half = interval(values)
            for layer in result.layer.values.tolist():
                m, h, style = mean.sel(layer=layer), half.sel(layer=layer), look(layer)
                ax.plot(m.epoch, m, ms=4, label=f"layer {layer}", **style)
                ax.fill_between(m.epoch, m - h, m + h, color=style["color"], alpha=0.15, lw=0)
        column[0].set_title(f"{kind} inputs".capitalize())
        column[1].set_xlabel("epoch")
    axes[0, 0].set_ylabel("rank correlation")
    axes[1, 0].set_ylabel("ρ_mean")
    headline(figure, f"Mean and 95% interval over {result.sizes['seed']} seeds")
    legend(figure, axes[0, 0])
    return figure
