"""Meters: means over the batches of an epoch, evaluated on each batch before its training step."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from relulab.core.errors import UserError
from relulab.train.readings import Reading

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
            given = torch.as_tensor(meter(output, target))
            if name not in self.sums:  # once per epoch
                self._check(name, given, target)
            value = n * given.detach().double().cpu()
            self.sums[name] = self.sums[name] + value if name in self.sums else value

    def _check(self, name: str, value: Tensor, target: Tensor) -> None:
        lanes = len(target) if self.axis else 1
        if value.dim() > 1 or (value.dim() and len(value) != lanes):
            per_lane = f", or one per lane, ({lanes},)," if self.axis else ""
            raise UserError(
                f"expected one number{per_lane} from the meter {name!r}, got values of shape {tuple(value.shape)}: "
                "return the mean over the batch"
            )

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
