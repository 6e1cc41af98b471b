"""Probes: instruments that look at the networks at chosen epochs of a training run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import xarray as xr
from torch import Tensor

from relulab.nets.mlp import MLP
from relulab.nets.residual import Residual

Reading = Mapping[str, tuple[tuple[str, ...], Tensor]]


@dataclass(frozen=True)
class Probe:
    """Records ``measure(net)``, names with (dimensions, values), after each of ``epochs``; epoch 0 is the start."""

    epochs: Sequence[int]
    measure: Callable[[Any], Reading]


class Recorder:
    """Keeps what the probes of one run read and joins it along ``epoch``."""

    def __init__(self, probes: Sequence[Probe], last: int):
        self.due = {e: [p for p in probes if e in set(p.epochs)] for e in range(last + 1)}
        self.kept: list[xr.Dataset] = []

    def look(self, net: MLP | Residual, epoch: int) -> None:
        for probe in self.due[epoch]:
            variables = {
                name: (("epoch", *dims), values.detach().cpu().numpy()[None].copy())
                for name, (dims, values) in probe.measure(net).items()
            }
            self.kept.append(xr.Dataset(variables, coords={"epoch": [epoch]}))

    def dataset(self) -> xr.Dataset:
        names: dict[str, list[xr.DataArray]] = {}
        for data in self.kept:
            for name, array in data.items():
                names.setdefault(str(name), []).append(array)
        return xr.merge([xr.concat(arrays, "epoch") for arrays in names.values()], join="outer", compat="no_conflicts")
