"""Eigenvalues of the Hessian of the loss of a network on labeled points."""

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from annotated_types import Ge, Lt
from matplotlib.figure import Figure
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.share import percent
from relulab.io.program import Program
from relulab.lab.inputs.one_network import OneNetwork
from relulab.lab.measurement import Measurement, Outcome
from relulab.lab.show.figure import BLUE, house_style, panels
from relulab.lab.show.parts import Fact, Grid, Line, Part
from relulab.lab.show.words import number
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.hessian_spectrum import EXACT, HessianSpectrum, hessian_spectrum
from relulab.subjects.specialization.tools.agreement import outputs

LANCZOS = "There is an eigenvalue within the error of each value. More --steps make errors and bounds smaller."


class HessianOfNetwork(OneNetwork, Measurement):
    """Compute the largest and smallest eigenvalues of the Hessian of the loss, and how many are near zero."""

    name: ClassVar = "hessian"
    source: ClassVar = "LM section 3.3"
    ids: ClassVar = ("LM.X.flat",)
    endings: ClassVar = (".npz",)
    kept: ClassVar = "values of the spectrum with their weights"
    drawn: ClassVar = "the density of the spectrum"

    loss: Literal["cross-entropy", "squared"] | None = None
    """Loss. Default: cross-entropy for classes, otherwise half of the squared error."""
    k: Annotated[int, Ge(1)] = 5
    """Number of eigenvalues at each end."""
    steps: Annotated[int, Ge(2)] = 60
    """Number of Lanczos steps: products of the Hessian with a vector, from each start vector."""
    vectors: Annotated[int, Ge(2)] = 8
    """Number of random start vectors. With up to 4 × steps × vectors parameters, all eigenvalues are computed."""
    near: Annotated[float, Ge(0), Lt(1)] = 1e-3
    """Eigenvalues up to this share of the largest absolute value count as near zero."""

    def measure(self) -> Outcome:
        net, x = self.load()
        if isinstance(net, Program):  # its weights are frozen
            for name, p in net.named_parameters():
                p.requires_grad_(name in net.trained)
        y, loss = self.targets(net, x)
        found = hessian_spectrum(
            net.double(), x, y, k=self.k, steps=self.steps, draws=self.vectors, near=self.near
        )  # fmt: skip
        if isinstance(net, MLP):
            found = HessianSpectrum(*(part[0] for part in found))
        size = sum(p.numel() for p in net.parameters() if p.requires_grad)
        document = {
            "network": str(self.network), "data": str(self.data), "points": len(x), "loss": loss, "parameters": size,
            "exact": size <= EXACT * self.steps * self.vectors, "near": self.near,
            **{name: part.tolist() for name, part in found._asdict().items() if name not in ("values", "weights")},
        }  # fmt: skip
        return Outcome(
            document,
            _parts(document),
            arrays=lambda: {"values": found.values.numpy(), "weights": found.weights.numpy()},
            picture=lambda: picture(found),
        )

    def targets(self, net: nn.Module, x: Tensor) -> tuple[Tensor, str]:
        """Return the targets of the loss and the name of the loss.

        Args:
            net: The network.
            x: Its points.
        """
        labels = self.loaded.labels
        if labels is None:
            raise UserError(f"{self.data} has no labels, and the loss needs them: name their column with --label")
        if labels.dtype.kind not in "iubf":
            raise UserError(
                f"{self.data}: expected numbers as labels, got text such as {labels[0]!r}: number the classes from 0"
            )
        count = outputs(net, x[:1]).shape[1]
        classes = None if count == 1 or self.loss == "squared" else self.class_numbers(count)
        if classes is not None:
            return classes, "cross-entropy"
        if self.loss == "cross-entropy" or (count > 1 and self.loss is None):
            raise UserError(
                f"{self.data}: expected the numbers of the {count} outputs as labels for the cross-entropy, from 0 to "
                f"{count - 1}, got {labels.min():g} to {labels.max():g}: use other labels, or --loss squared"
            )
        if count == 1:
            return torch.from_numpy(labels.astype(np.float64))[:, None], "squared"
        whole = self.class_numbers(count)
        if whole is None:
            raise UserError(
                f"{self.data}: expected the numbers of the {count} outputs as labels, from 0 to {count - 1}, got "
                f"{labels.min():g} to {labels.max():g}: use other labels"
            )
        return nn.functional.one_hot(whole, count).double(), "squared"


def _parts(document: dict[str, Any]) -> list[Part]:
    ends = [
        *zip(document["largest"], document["largest_error"], strict=True),
        *zip(reversed(document["smallest"]), reversed(document["smallest_error"]), strict=True),
    ]
    k = len(document["largest"])
    rows = [
        (name, number(value), number(error))
        for name, (value, error) in zip(
            [*(f"largest {i}" for i in range(1, k + 1)), *(f"smallest {i}" for i in range(k, 0, -1))], ends, strict=True
        )
    ]
    share = percent(document["near_zero"])
    if not document["exact"]:
        share += f", between {percent(document['near_zero_low'])} and {percent(document['near_zero_high'])}"
    return [
        Fact("parameters", f"{document['parameters']:,}"),
        Fact("loss", f"{document['loss']} at {document['points']:,} points"),
        Fact("eigenvalues near zero", share),
        Fact("near zero", f"at most {document['near']:g} times the largest absolute value"),
        Grid(("eigenvalue", "value", "error at most"), rows, frozenset({"eigenvalue"})),
        Line("All eigenvalues were computed." if document["exact"] else LANCZOS, "quiet"),
    ]


def picture(found: HessianSpectrum) -> Figure:
    """Plot the share of eigenvalues up to each value, on an axis that is logarithmic away from zero.

    Args:
        found: The spectrum of one network.
    """
    order = found.values.argsort()
    values, share = found.values[order].double().numpy(), found.weights[order].double().numpy().cumsum()
    with house_style():
        figure, axes = panels(1, 1, width=3.6, height=2.6)
        axes[0, 0].step(values, share, where="post", color=BLUE)
        axes[0, 0].set_xscale("symlog", linthresh=max(1e-4 * float(np.abs(values).max()), 1e-300))
        axes[0, 0].set(xlabel="eigenvalue λ", ylabel="share of eigenvalues up to λ", ylim=(0, 1.02))
    return figure


MEASUREMENT = HessianOfNetwork
