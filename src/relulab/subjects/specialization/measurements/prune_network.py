"""Pruning of a network: hidden nodes are merged and removed, and the change is reported."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import torch
from annotated_types import Ge
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.io.module_files import module_state_bytes, module_tensor_bytes, program_bytes
from relulab.io.network import encoded
from relulab.lab.inputs.network_files import NetworkFiles
from relulab.lab.inputs.with_data import WithData
from relulab.lab.measurement import Measurement, Outcome
from relulab.nets.mlp import MLP
from relulab.nets.tracing import single_module
from relulab.subjects.specialization.measurements.layer_pruning_report import (
    cost_row,
    layer_parts,
    layer_picture,
    pruned_rows,
)
from relulab.subjects.specialization.measurements.pruning_report import picture, two_layer_parts, two_layer_rows
from relulab.subjects.specialization.tools.agreement import outputs
from relulab.subjects.specialization.tools.fine_tuning import fine_tuned
from relulab.subjects.specialization.tools.layer_pruning import PrunedLayers
from relulab.subjects.specialization.tools.output_costs import costs
from relulab.subjects.specialization.tools.pruning import prune, shallow
from relulab.subjects.specialization.tools.rewinding import rewind
from relulab.subjects.specialization.tools.two_layer_pruning import EPSILON, prune_two_layers

FOLD = 5  # of five points, three select nodes and fit weights, one chooses the size, and one measures the costs
FEW = 20  # with fewer points, all do everything
Counts = int | str
"""one number, or several separated by commas"""


class PruneNetwork(WithData, NetworkFiles, Measurement):
    """Make a network smaller: remove hidden nodes, refit the weights that read the others, report the change."""

    name: ClassVar = "prune"
    title: ClassVar = "a network and points"
    source: ClassVar = "SS theorem 2; LM section 3.3"
    ids: ClassVar = ("SS.T2",)
    verb: ClassVar = True
    arguments: ClassVar = ("student",)
    endings: ClassVar = (".safetensors", ".pt", ".pt2")
    kept: ClassVar = "the pruned network"
    drawn: ClassVar = "what each size costs"

    student: Path
    """Network: .pt2, or for a fully connected one also .safetensors, .npz, .pt or .pth."""
    by: Literal["missed", "modulation", "merge", "fan-out", "norm", "random"] | None = None
    """Which nodes to remove first: those that are missed least, with the least top-down modulation, …"""
    keep: Counts | None = None
    """Number of nodes to keep, instead of --tolerance; for several layers one for each, such as 64,32."""
    keep_macs: float | None = None
    """Share of the multiply-adds to keep, such as 0.5, instead of --tolerance."""
    tolerance: float = 0.01
    """Largest share of the variance of the outputs that may be lost."""
    refit: bool = True
    """Fit the weights that read the kept nodes, so that these stand in for the others."""
    fine_tune: Annotated[int, Ge(0)] = 0
    """Number of training steps after pruning, on the labels if there are any, else on the old outputs."""
    rewind: Path | None = None
    """Write the smaller network with the weights of this earlier checkpoint: a lottery ticket."""
    teacher: Path | None = None
    """Two layers only: keep nodes that are aligned with nodes of this network first."""
    epsilon: float = EPSILON
    """Two layers only: merge nodes with an alignment error up to this."""

    def load(self) -> tuple[Any, ...]:
        """Return the network, the points, and the teacher or None."""
        net = self.read_network(self.student)
        return net, self.points_for(net), self.optional_network(self.teacher)

    def measure(self) -> Outcome:
        net, x, star = self.load()
        fit, choose, test = self._split(len(x))
        parts = {"choose": x[choose], "test": x[test]}
        fixed: dict[str, Any] = {"keep": self.counts(), "tolerance": self.tolerance, "refit": self.refit}
        special = self.by or self.keep_macs is not None or self.fine_tune or self.rewind
        small = None if special or isinstance(fixed["keep"], tuple) else shallow(net, x)
        if small is not None:
            pruned = prune_two_layers(small, x[fit], epsilon=self.epsilon, teacher=star, **fixed, **parts)
            labels, dtype = self.class_numbers(small.widths[-1]), small.dtype
            document = self._tested(fit, choose, test) | two_layer_rows(pruned, small, x[test], at(labels, test), star)
            return Outcome(
                document, list(two_layer_parts(document)), picture=lambda: picture(pruned),
                files=files_of(pruned.net.to(dtype), x, True),
            )  # fmt: skip
        plain, dtype = isinstance(net, MLP), next(net.parameters()).dtype
        net = net.double() if plain else net
        labels = self.class_numbers(outputs(net, x[:1]).shape[1])
        layers = prune(
            net, x[fit], by=self.by or "missed", keep_macs=self.keep_macs, epsilon=self.epsilon, teacher=star,
            labels=at(labels, test), **fixed, **parts,
        )  # fmt: skip
        assert isinstance(layers, PrunedLayers)
        if self.fine_tune and labels is None and self.loaded.labels is not None:
            raise UserError(
                f"{self.data}: expected labels that are numbers of the outputs, from 0, for --fine-tune: use other "
                "labels, or leave them out with --drop to train on the outputs of the whole network"
            )
        final, tuned = self._trained(net, layers, x[fit], at(labels, fit), dtype)
        y = outputs(net, x[test])
        document = self._tested(fit, choose, test) | pruned_rows(layers)
        after = costs(y, outputs(final, x[test]), at(labels, test)) if tuned else layers.size.costs
        document["fine_tuned"] = tuned and tuned | {"costs": cost_row(after)}
        return Outcome(
            document, list(layer_parts(document)), picture=lambda: layer_picture(layers),
            files=files_of(final, x, plain),
        )  # fmt: skip

    def counts(self) -> int | tuple[int, ...] | None:
        """Return the number of nodes to keep, or several."""
        if self.keep is None or isinstance(self.keep, int):
            return self.keep
        try:
            numbers = tuple(int(part) for part in self.keep.split(","))
        except ValueError:
            raise UserError(
                f"--keep: expected whole numbers separated by commas, such as 64,32, got {self.keep}"
            ) from None
        return numbers[0] if len(numbers) == 1 else numbers

    def _tested(self, fit: Tensor, choose: Tensor, test: Tensor) -> dict[str, Any]:
        counts = {"fitted": int(fit.sum()), "chosen_on": int(choose.sum()), "tested": int(test.sum())}
        return {"student": str(self.student), "data": str(self.data)} | counts

    def _trained(
        self, net: nn.Module, pruned: PrunedLayers, x: Tensor, labels: Tensor | None, dtype: torch.dtype
    ) -> tuple[nn.Module, dict[str, Any] | None]:
        """Return the network to write: with earlier weights if wanted, and after fine-tuning; and what was done."""
        final, words = pruned.net, "the labels" if labels is not None else "the outputs of the whole network"
        if self.rewind:
            final = rewind(net, self.read_network(self.rewind), pruned, x=x)
            final = final.module() if isinstance(final, MLP) else final
        final = final.to(dtype)
        if self.fine_tune:
            targets = outputs(net, x) if labels is None or outputs(net, x[:1]).shape[1] == 1 else labels
            words = words if targets is labels else "the outputs of the whole network"
            final = fine_tuned(final, x, targets, steps=self.fine_tune)
        if not (self.rewind or self.fine_tune):
            return final, None
        return final, {"steps": self.fine_tune, "targets": words, "start": str(self.rewind) if self.rewind else None}

    def _split(self, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return which points select nodes and fit weights, which choose the size, and which measure the costs."""
        if count < FEW:
            self.note(f"{count} points are too few to set some aside, so costs are measured on the fitted points")
            return (torch.ones(count, dtype=torch.bool),) * 3
        place = torch.arange(count) % FOLD
        return place < FOLD - 2, place == FOLD - 2, place == FOLD - 1


def at(labels: Tensor | None, chosen: Tensor) -> Tensor | None:
    """Return the labels of some points; None if there are none.

    Args:
        labels: All labels.
        chosen: Which points.
    """
    return None if labels is None else labels[chosen]


def files_of(net: nn.Module, x: Tensor, plain: bool) -> dict[str, Callable[[], bytes]]:
    """Return the contents of the files that a network can be written to.

    Args:
        net: The network.
        x: Points that it takes.
        plain: Whether it came from a weight file of a fully connected network, and is written as one.
    """
    module = single_module(net)
    return {
        ".safetensors": lambda: encoded(net) if plain else module_tensor_bytes(module),
        ".pt": lambda: module_state_bytes(module),
        ".pt2": lambda: program_bytes(module, x),
    }


MEASUREMENT = PruneNetwork
