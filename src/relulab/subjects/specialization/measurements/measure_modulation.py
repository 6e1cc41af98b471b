"""How strongly every hidden node of a network acts on its outputs, layer by layer."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge
from matplotlib.figure import Figure
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.lab.inputs.one_network import OneNetwork
from relulab.lab.measurement import Measurement, Outcome
from relulab.lab.show.figure import house_style, legend, look, panels
from relulab.lab.show.parts import Fact, Grid, Line, Part
from relulab.lab.show.words import number
from relulab.nets.hooks import hidden
from relulab.subjects.specialization.instruments.layer_means import layer_means
from relulab.subjects.specialization.instruments.top_down_norms import top_down_norms

SHOWN = 8  # nodes per layer in the table


class ModulationOfNetwork(OneNetwork, Measurement):
    """Compute how strongly each hidden node acts on the outputs (top-down modulation), and which nodes do the most."""

    name: ClassVar = "modulation"
    source: ClassVar = "LM eq. 3, S0 section 5.2"
    ids: ClassVar = ("LM.T1", "S0.F4")
    endings: ClassVar = (".npz",)
    kept: ClassVar = (
        "the numbers of all nodes and, for plain ReLU networks, the matrices L, D, E[β] and H of each layer"
    )
    drawn: ClassVar = "the share of the contributions that the strongest nodes of each layer make"

    teacher: Path | None = None
    """Also save the matrices with the nodes of this network (same depth and outputs): L*, D*, E[β*] and H*."""
    draws: Annotated[int, Ge(1)] | None = None
    """Estimate the derivatives from this many random directions per point, instead of one per output: much faster."""

    def measure(self) -> Outcome:
        net, x = self.load()
        net, star = net.double(), self.optional_network(self.teacher)
        layers = layer_rows(net, x, self.draws)
        if not layers:
            raise UserError(f"{self.network} has no hidden layer and so no nodes to measure: use a network with a ReLU")
        document = {
            "network": str(self.network), "data": str(self.data), "points": len(x), "draws": self.draws,
            "layers": layers,
        }  # fmt: skip
        return Outcome(
            document,
            list(_parts(layers)),
            arrays=lambda: _arrays(net, x, layers, None if star is None else star.double()),
            picture=lambda: picture(layers),
        )


def layer_rows(net: nn.Module, x: Tensor, draws: int | None = None) -> list[dict[str, Any]]:
    """Return one row per hidden layer.

    Args:
        net: A network, in float64.
        x: Points, (N, …).
        draws: Number of random directions per point, or None for exact derivatives.

    Returns:
        Rows with the ``layer`` and lists with a number per node: ``norm``, √E[β_kk]; ``active``, the share of points
        (or pixels) at which it is active; and ``contribution``, √(E[β_kk] E[f_k²]), which does not change if the node
        is rescaled. ``effective`` is the number of nodes that contribute, (Σ c²)²/Σ c⁴.
    """
    norms, rows = top_down_norms(net, x, draws=draws), []
    for name, f in hidden(net, x).items():
        values = f.reshape(-1, f.shape[-1])
        norm = norms[name].reshape(-1)
        contribution = norm * values.square().mean(0).sqrt()
        largest = float(contribution.max())
        c2 = (contribution / (largest or 1.0)).square()
        rows.append({
            "layer": name, "norm": norm.tolist(), "active": (values > 0).double().mean(0).tolist(),
            "contribution": contribution.tolist(),
            "effective": float(c2.sum().square() / c2.square().sum()) if largest else 0.0,
        })  # fmt: skip
    return rows


def _parts(layers: list[dict[str, Any]]) -> Iterator[Part]:
    for row in layers:
        c = np.array(row["contribution"])
        order = np.argsort(-c, kind="stable")
        silent = int((c <= 1e-3 * c.max()).sum())
        yield Line(f"Layer {row['layer']}", "strong")
        yield Fact("nodes", f"{len(c):,}")
        yield Fact("effective number of nodes", number(row["effective"]))
        yield Fact("nodes that contribute next to nothing", f"{silent:,} (at most 0.001 of the largest contribution)")
        rows = [
            (str(k), number(row["contribution"][k]), number(row["norm"][k]), f"{row['active'][k]:.0%}")
            for k in order[:SHOWN].tolist()
        ]
        yield Grid(("node", "contribution", "√E[β_kk]", "active"), rows)
    yield Line("√E[β_kk]: root mean square of the derivative of the outputs with respect to the node.", "quiet")
    yield Line("contribution: this times the root mean square of the node's activation.", "quiet")
    yield Line(f"The {SHOWN} strongest nodes of each layer are shown, counted from 0; --json has all.", "quiet")


def _arrays(net: nn.Module, x: Tensor, layers: list[dict[str, Any]], star: nn.Module | None) -> dict[str, np.ndarray]:
    """Return the numbers of all nodes, and the matrices of a plain ReLU network."""
    arrays = {
        f"{row['layer']}.{name}": np.array(row[name]) for row in layers for name in ("norm", "active", "contribution")
    }
    try:
        means = layer_means(net, x, star)
    except UserError:
        if star is not None:
            raise
        return arrays  # not a plain network
    for layer, one in means.items():
        for name, matrix in one._asdict().items():
            if matrix.numel():
                arrays[f"{layer}.{name}"] = matrix.reshape(matrix.shape[-2:]).numpy()
    return arrays


def picture(layers: list[dict[str, Any]]) -> Figure:
    """Plot which share of the squared contributions of a layer its strongest nodes make.

    Args:
        layers: Result of ``layer_rows``.
    """
    with house_style():
        figure, axes = panels(1, 1, width=3.6, height=2.6)
        for i, row in enumerate(layers):
            c2 = np.sort(np.square(row["contribution"]))[::-1]
            share = np.concatenate([[0.0], c2.cumsum() / (c2.sum() or 1.0)])
            style = {k: v for k, v in look(i).items() if k != "marker"}
            axes[0, 0].plot(np.linspace(0, 1, len(share)), share, label=f"layer {row['layer']}", **style)
        axes[0, 0].set(xlabel="share of nodes, strongest first", ylabel="share of squared contributions")
        legend(figure, axes[0, 0], columns=3)
    return figure


MEASUREMENT = ModulationOfNetwork
