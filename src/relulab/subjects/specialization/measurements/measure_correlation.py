"""Correlations between the units of two networks, layer by layer."""

from typing import Annotated, ClassVar

import xarray as xr
from annotated_types import Ge
from matplotlib.figure import Figure
from torch import Tensor

from relulab.core.errors import UserError
from relulab.lab.inputs.two_networks import TwoNetworks
from relulab.lab.measurement import Measurement, Outcome
from relulab.lab.run.result_file import encode
from relulab.lab.show.figure import house_style, panels
from relulab.subjects.specialization.instruments.correlation import layer_correlations
from relulab.subjects.specialization.measurements.matched_units import (
    constant_of,
    layer_pairs,
    layer_parts,
    matches,
    of_lanes,
)
from relulab.subjects.specialization.measurements.similar_layers import svcca_parts, with_svcca
from relulab.subjects.specialization.tools.chance import chance_correlations
from relulab.subjects.specialization.tools.layer_svcca import layer_svcca


class CorrelationOfNetworks(TwoNetworks, Measurement):
    """Compute which unit of B follows which unit of A, by the correlations of their activations in each layer."""

    name: ClassVar = "correlation"
    source: ClassVar = "SS section 5"
    endings: ClassVar = (".nc", ".csv", ".png", ".svg", ".pdf")
    kept: ClassVar = "all correlations, or a plot of them"

    threshold: float = 0.95
    """Correlation above which a unit of A counts as recovered."""
    layer: str | None = None
    """Layers to compare, A:B, by number from 1 or by name, such as 1:2 or 1:1,2:3. Default: all, in order."""
    chance: Annotated[int, Ge(0)] = 10
    """Number of comparisons with random weights, for the correlations that arise by chance; 0 for none."""
    svcca: bool = False
    """Also compare the layers as wholes, up to linear maps: canonical correlations of 99% of their variance."""

    def measure(self) -> Outcome:
        a, b, x = self.load()
        a, b, pairs = a.double(), b.double(), layer_pairs(self.layer)
        rho = layer_correlations(a, b, x, pairs)
        if not rho:
            raise UserError(
                f"{self.a} and {self.b} have no hidden layer and so no units to compare: use networks with a ReLU"
            )
        chance = chance_correlations(a, b, x, draws=self.chance, layers=pairs) if self.chance else {}
        layers = matches(rho, self.threshold, chance, constant_of(a, b, x, pairs))
        if self.svcca:
            layers = with_svcca(layers, layer_svcca(a, b, x, pairs, draws=self.chance))
        document = {
            "a": str(self.a), "b": str(self.b), "data": str(self.data), "threshold": self.threshold,
            "chance": self.chance, "layers": layers,
        }  # fmt: skip
        return Outcome(
            document,
            [
                part
                for layer in layers
                for part in (*layer_parts(layer, self.threshold, self.chance), *svcca_parts(layer))
            ],
            picture=lambda: picture(rho),
            files={".nc": lambda: encode(_dataset(rho)), ".csv": lambda: _csv(rho)},
        )


def _dataset(rho: dict[str, Tensor]) -> xr.Dataset:
    """Return a dataset with one variable per layer."""
    return xr.Dataset({
        f"layer {layer}": xr.DataArray(matrix.numpy(), dims=(f"a {layer}", f"b {layer}"), name="rho")
        for layer, matrix in of_lanes(rho)
    })  # fmt: skip


def _csv(rho: dict[str, Tensor]) -> bytes:
    """Return a CSV table with one row per pair of units."""
    lines = ["layer,a,b,rho"]
    for layer, matrix in of_lanes(rho):
        lines += [f'"{layer}",{j},{k},{r!r}' for j, row in enumerate(matrix.tolist()) for k, r in enumerate(row)]
    return ("\n".join(lines) + "\n").encode()


def picture(rho: dict[str, Tensor]) -> Figure:
    """Plot the correlations, one panel per layer.

    The units of B are sorted by the unit of A that they follow best, so that specialization shows as a diagonal.

    Args:
        rho: Correlations by layer, as returned by ``layer_correlations``.
    """
    lanes = of_lanes(rho)
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
