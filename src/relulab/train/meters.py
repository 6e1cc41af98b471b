"""Meters: means over the batches of an epoch, evaluated on each batch before its training step."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from relulab.train.probe import Reading

Meter = Callable[[Any, Tensor], Tensor]
"""function of outputs and targets that returns a mean over a batch: one number, or one per lane"""


class Meters:
    """Averages the values of ``meters`` over batches, weighted by the number of points in each batch."""

    def __init__(self, meters: Mapping[str, Meter], laned: bool):
        self.meters, self.axis = dict(meters), 1 if laned else 0
        self.sums: dict[str, Tensor] = {}
        self.points = 0

    @torch.no_grad()
    def __call__(self, output: Any, target: Tensor) -> None:
        n = target.shape[self.axis]
        self.points += n
        for name, meter in self.meters.items():
            value = n * torch.as_tensor(meter(output, target)).detach().double().cpu()
            self.sums[name] = self.sums[name] + value if name in self.sums else value

    def read(self) -> Reading:
        """Return the means since the last call and reset them."""
        means = {name: (("lane",) * value.dim(), value / self.points) for name, value in self.sums.items()}
        self.sums, self.points = {}, 0
        return means

    def state(self) -> dict[str, Tensor]:
        return {**{f"sum.{name}": value for name, value in self.sums.items()}, "points": torch.tensor(self.points)}

    def restore(self, state: dict[str, Tensor]) -> None:
        self.points = int(state["points"])
        self.sums = {k.removeprefix("sum."): v for k, v in state.items() if k.startswith("sum.")}
