"""Correlations between the units of two networks, layer by layer."""

from collections.abc import Iterator
from typing import Any, ClassVar

import xarray as xr
from matplotlib.figure import Figure
from torch import Tensor

from relulab.core.errors import UserError
from relulab.lab.inputs.two_networks import TwoNetworks
from relulab.lab.measurement import Measurement, Outcome
from relulab.lab.run.store import encode
from relulab.lab.show.figure import house_style, panels
from relulab.lab.show.parts import Fact, Line, Part, first_rows
from relulab.lab.show.words import number
from relulab.subjects.specialization.instruments.correlation import (
    best_match,
    layer_correlations,
    recovered,
    rho_mean,
)

SHOWN = 30  # largest number of table rows


class CorrelationOfNetworks(TwoNetworks, Measurement):
    """Compute which unit of B follows which unit of A, by the correlations of their activations in each layer."""

    name: ClassVar = "correlation"
    source: ClassVar = "SS section 5"
    endings: ClassVar = (".nc", ".csv", ".png", ".svg", ".pdf")
    kept: ClassVar = "all correlations, or a plot of them"

    threshold: float = 0.95
    """Correlation above which a unit of A counts as recovered."""

    def measure(self) -> Outcome:
        a, b, x = self.load()
        rho = layer_correlations(a.double(), b.double(), x)
        if not rho:
            raise UserError(
                f"{self.a} and {self.b} have no hidden layer and so no units to compare: use networks with a ReLU"
            )
        layers = matches(rho, self.threshold)
        document = {
            "a": str(self.a), "b": str(self.b), "data": str(self.data), "threshold": self.threshold, "layers": layers,
        }  # fmt: skip
        return Outcome(
            document,
            [part for layer in layers for part in self._parts(layer)],
            picture=lambda: picture(rho),
            files={".nc": lambda: encode(_dataset(rho)), ".csv": lambda: _csv(rho)},
        )

    def _parts(self, layer: dict[str, Any]) -> Iterator[Part]:
        yield Line(f"Layer {layer['layer']}", "strong")
        yield Fact("units recovered", f"{layer['recovered']:,} of {layer['a']:,} (ρ > {self.threshold:g})")
        yield Fact("mean best correlation ρ_mean", number(layer["rho_mean"]))
        yield Fact("units", f"{layer['a']:,} in A, {layer['b']:,} in B")
        nodes = sorted(layer["nodes"], key=lambda node: -node["rho"])
        rows = [(str(node["node"]), str(node["best"]), f"{node['rho']:.4f}") for node in nodes]
        yield from first_rows(("unit of A", "best unit of B", "ρ"), rows, SHOWN, "--json or --out")


def matches(rho: dict[str, Tensor], threshold: float) -> list[dict[str, Any]]:
    """Summarize the correlations, one row per hidden layer and lane.

    Args:
        rho: Correlations by layer, as returned by ``layer_correlations``.
        threshold: Correlation above which a unit counts as recovered.

    Returns:
        Rows with the numbers of units ``a`` and ``b``, ``rho_mean``, the number of units ``recovered``, and the best
        match of every unit as ``nodes``.
    """
    rows = []
    for layer, matrix in _lanes(rho):
        best, index = best_match(matrix)
        nodes = [
            {"node": j, "best": int(k), "rho": round(float(r), 6)}
            for j, (r, k) in enumerate(zip(best, index, strict=True))
        ]
        rows.append({
            "layer": layer, "a": matrix.shape[0], "b": matrix.shape[1], "rho_mean": float(rho_mean(matrix)),
            "recovered": int(recovered(matrix, threshold).sum()), "nodes": nodes,
        })  # fmt: skip
    return rows


def _lanes(rho: dict[str, Tensor]) -> list[tuple[str, Tensor]]:
    """Return every matrix with the name of its layer, and of its lane if there are several."""
    matrices = []
    for layer, matrix in rho.items():
        lanes = matrix if matrix.dim() == 3 else matrix[None]
        matrices += [(layer if len(lanes) == 1 else f"{layer}, lane {i}", lane) for i, lane in enumerate(lanes)]
    return matrices


def _dataset(rho: dict[str, Tensor]) -> xr.Dataset:
    """Return a dataset with one variable per layer."""
    return xr.Dataset({
        f"layer {layer}": xr.DataArray(matrix.numpy(), dims=(f"a {layer}", f"b {layer}"), name="rho")
        for layer, matrix in _lanes(rho)
    })  # fmt: skip


def _csv(rho: dict[str, Tensor]) -> bytes:
    """Return a CSV table with one row per pair of units."""
    lines = ["layer,a,b,rho"]
    for layer, matrix in _lanes(rho):
        lines += [f'"{layer}",{j},{k},{r!r}' for j, row in enumerate(matrix.tolist()) for k, r in enumerate(row)]
    return ("\n".join(lines) + "\n").encode()


def picture(rho: dict[str, Tensor]) -> Figure:
    """Plot the correlations, one panel per layer.

    The units of B are sorted by the unit of A that they follow best, so that specialization shows as a diagonal.

    Args:
        rho: Correlations by layer, as returned by ``layer_correlations``.
    """
    lanes = _lanes(rho)
    with house_style():
        figure, axes = panels(1, len(lanes), width=3.2, height=2.6)
        for ax, (layer, matrix) in zip(axes[0], lanes, strict=True):
            order = matrix.argmax(0).argsort(stable=True)
            image = ax.imshow(
                matrix[:, order].numpy(), vmin=-1, vmax=1, cmap="RdBu", aspect="auto", interpolation="nearest"
            )
            ax.set(title=f"layer {layer}", xlabel="unit of B, sorted by best match", ylabel="unit of A")
        figure.colorbar(image, ax=list(axes[0]), label="correlation ρ")
    return figure


MEASUREMENT = CorrelationOfNetworks
