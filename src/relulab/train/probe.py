"""Probes: measurements of a network at chosen epochs or steps of a training run."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.value_words import shortened
from relulab.nets.eval_mode import eval_mode
from relulab.train.readings import Reading, checked_reading, whole_number


@dataclass(frozen=True)
class Probe:
    """Records ``measure(net)`` at given epochs or at given steps.

    Epoch 0 and step 0 are the start of training. Steps are counted over all epochs. During a measurement, the network
    is in eval mode, and no gradients are recorded.

    Args:
        epochs: Numbers of finished epochs at which to measure. The values get the dimension ``epoch``.
        measure: Function of the network that returns a dictionary: name → (dimensions, values).
        steps: Numbers of finished steps at which to measure, instead of epochs. The values get the dimension ``step``.
    """

    epochs: Sequence[int] = ()
    measure: Callable[[Any], Reading] | None = None
    steps: Sequence[int] = ()

    def __post_init__(self) -> None:
        if isinstance(self.measure, type) or not callable(self.measure):
            raise UserError(
                f"expected a function measure(net), got {shortened(self.measure)}: use Probe(epochs, measure) or "
                "Probe(steps=…, measure=…)"
            )
        if len(self.epochs) and len(self.steps):
            raise UserError("expected a probe with either epochs or steps, got both: use one probe for each")
        for name, times in (("epochs", self.epochs), ("steps", self.steps)):
            for at in times:
                whole_number(f"{name} of a probe", at)


class Recorder:
    """Collects the values of the probes of one training run along ``epoch`` and ``step``."""

    def __init__(self, probes: Sequence[Probe], meters: Iterable[str] = ()):
        self.meters = frozenset(meters)
        self.due: dict[str, dict[int, list[Probe]]] = {"epoch": {}, "step": {}}
        for probe in probes:
            for dim, times in (("epoch", probe.epochs), ("step", probe.steps)):
                for at in dict.fromkeys(int(time) for time in times):
                    self.due[dim].setdefault(at, []).append(probe)
        self.kept: list[tuple[str, int, str, tuple[str, ...], np.ndarray]] = []
        self.along: dict[str, str] = {}

    def look(self, net: nn.Module, dim: str, at: int) -> None:
        """Evaluate the probes that are due on ``net``.

        Args:
            net: The network.
            dim: "epoch" or "step".
            at: Number of finished epochs or steps.
        """
        probes = self.due[dim].get(at, ())
        if not probes:
            return
        with eval_mode(net), torch.no_grad():
            for probe in probes:
                assert probe.measure is not None
                reading = checked_reading(probe.measure(net))
                self._refuse_names_of_meters(reading)
                self.keep(dim, at, reading)

    def keep(self, dim: str, at: int, reading: Reading) -> None:
        """Record the values of one measurement."""
        for name, (dims, values) in reading.items():
            if self.along.setdefault(name, dim) != dim:
                raise UserError(
                    f"expected {name!r} to be measured at epochs or at steps, got both: use two different names"
                )
            self.kept.append((dim, at, name, tuple(dims), values.detach().cpu().numpy().copy()))

    def _refuse_names_of_meters(self, reading: Reading) -> None:
        both = sorted(self.meters & reading.keys())
        if both:
            raise UserError(
                f"expected different names for probes and meters, got {both[0]!r} for both: rename one of them"
            )

    def dataset(self) -> xr.Dataset:
        """Return all recorded values by name."""
        names: dict[tuple[str, str], list[xr.DataArray]] = {}
        for dim, at, name, dims, values in self.kept:
            array = xr.DataArray(values[None], dims=(dim, *dims), coords={dim: [at]}, name=name)
            names.setdefault((dim, name), []).append(array)
        if not names:
            return xr.Dataset()
        joined = [xr.concat(arrays, dim) for (dim, _), arrays in names.items()]
        return xr.merge(joined, join="outer", compat="no_conflicts")

    def state(self) -> dict[str, Tensor]:
        return {str(i): torch.from_numpy(values) for i, (*_, values) in enumerate(self.kept)}

    def notes(self) -> list[Any]:
        """Return the time, name and dimensions of each array in ``state``."""
        return [[dim, at, name, list(dims)] for dim, at, name, dims, _ in self.kept]

    def restore(self, state: dict[str, Tensor], notes: Iterable[Any]) -> None:
        self.kept = [
            (dim, at, name, tuple(dims), state[str(i)].numpy()) for i, (dim, at, name, dims) in enumerate(notes)
        ]
