"""Which unit of a network follows which unit of another, layer by layer."""

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
from relulab.lab.show.parts import Part, first_rows
from relulab.lab.show.words import number
from relulab.subjects.specialization.instruments.correlation import (
    best_match,
    layer_correlations,
    recovered,
    rho_mean,
)

SHOWN = 30  # rows of a table


class CorrelationOfNetworks(TwoNetworks, Measurement):
    """Which unit of B follows which unit of A, layer by layer: normalized correlations of their activations."""

    name: ClassVar = "correlation"
    source: ClassVar = "SS section 5"
    endings: ClassVar = (".nc", ".csv", ".png", ".svg", ".pdf")
    kept: ClassVar = "all correlations, or a picture of them"

    threshold: float = 0.95
    """Correlation from which a node counts as recovered."""

    def measure(self) -> Outcome:
        a, b, x = self.load()
        rho = layer_correlations(a.double(), b.double(), x)
        if not rho:
            raise UserError(f"{self.a} and {self.b} have no hidden layer: there are no units to compare")
        layers = matches(rho, self.threshold)
        document = {
            "a": str(self.a), "b": str(self.b), "data": str(self.data), "threshold": self.threshold, "layers": layers,
        }  # fmt: skip
        return Outcome(
            document,
            [part for layer in layers for part in self._told(layer)],
            picture=lambda: picture(rho),
            files={".nc": lambda: encode(_dataset(rho)), ".csv": lambda: _csv(rho)},
        )

    def _told(self, layer: dict[str, Any]) -> Iterator[Part]:
        yield (
            f"layer {layer['layer']}: {layer['a']} units of A, {layer['b']} of B; ρ_mean {number(layer['rho_mean'])}; "
            f"{layer['recovered']} followed above {self.threshold:g}"
        )
        nodes = sorted(layer["nodes"], key=lambda node: -node["rho"])
        rows = [(str(node["node"]), str(node["best"]), f"{node['rho']:.4f}") for node in nodes]
        yield from first_rows(("unit of A", "best of B", "ρ"), rows, SHOWN, "--json or --out")


def matches(rho: dict[str, Tensor], threshold: float) -> list[dict[str, Any]]:
    """A row a hidden layer (and lane): its ρ_mean, the nodes recovered, and the best follower of every node."""
    rows = []
    for layer, one in _lanes(rho):
        best, which = best_match(one)
        nodes = [
            {"node": j, "best": int(k), "rho": round(float(r), 6)}
            for j, (r, k) in enumerate(zip(best, which, strict=True))
        ]
        rows.append({
            "layer": layer, "a": one.shape[0], "b": one.shape[1], "rho_mean": float(rho_mean(one)),
            "recovered": int(recovered(one, threshold).sum()), "nodes": nodes,
        })  # fmt: skip
    return rows


def _lanes(rho: dict[str, Tensor]) -> list[tuple[str, Tensor]]:
    """Every matrix by the name of its layer; of networks with several lanes, by lane as well."""
    found = []
    for layer, matrix in rho.items():
        lanes = matrix if matrix.dim() == 3 else matrix[None]
        found += [(layer if len(lanes) == 1 else f"{layer}, lane {i}", one) for i, one in enumerate(lanes)]
    return found


def _dataset(rho: dict[str, Tensor]) -> xr.Dataset:
    """A variable a layer."""
    return xr.Dataset({
        f"layer {layer}": xr.DataArray(one.numpy(), dims=(f"a {layer}", f"b {layer}"), name="rho")
        for layer, one in _lanes(rho)
    })  # fmt: skip


def _csv(rho: dict[str, Tensor]) -> bytes:
    """A row a pair of units."""
    lines = ["layer,a,b,rho"]
    for layer, one in _lanes(rho):
        lines += [f'"{layer}",{j},{k},{r!r}' for j, row in enumerate(one.tolist()) for k, r in enumerate(row)]
    return ("\n".join(lines) + "\n").encode()


def picture(rho: dict[str, Tensor]) -> Figure:
    """A panel a layer: students by the teacher node that they follow best, so that specialization is a diagonal."""
    lanes = _lanes(rho)
    with house_style():
        figure, axes = panels(1, len(lanes), width=3.2, height=2.6)
        for ax, (layer, one) in zip(axes[0], lanes, strict=True):
            order = one.argmax(0).argsort(stable=True)
            image = ax.imshow(
                one[:, order].numpy(), vmin=-1, vmax=1, cmap="RdBu", aspect="auto", interpolation="nearest"
            )
            ax.set(title=f"layer {layer}", xlabel="units of B, by best match", ylabel="unit of A")
        figure.colorbar(image, ax=list(axes[0]), label="correlation ρ")
    return figure


MEASUREMENT = CorrelationOfNetworks
