"""The inputs with labeled points: a table alone, or with a network that was trained on it."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from relulab.core.errors import UserError
from relulab.lab.input import Input

if TYPE_CHECKING:
    from torch import nn

    from relulab.data.labeled import Labeled


class LabeledTable(Input):
    """Points of two classes."""

    title: ClassVar = "labeled points"

    data: Path
    """Labeled points: .csv, .tsv, .parquet, .npz (arrays X and y) or .npy."""
    label: str | None = None
    """Column or array of labels, by name or number. Default: y, label, class or the last one."""

    def load(self) -> tuple[Any, ...]:
        """Return the points and labels."""
        return (self._table(),)

    def _table(self) -> "Labeled":
        from relulab.io.tables import read_table

        return read_table(self.data, self.label)


class TableAndStart(LabeledTable):
    """Points of two classes, and optionally a network before training."""

    title: ClassVar = "labeled points, and optionally a network before training"

    start: Path | None = None
    """Network before training: .safetensors, .npz, .pt or .pth."""
    slope: float | None = None
    """Negative slope of leaky ReLUs. Weight files do not contain it."""

    def load(self) -> tuple[Any, ...]:
        """Return the points and labels, and the network or None."""
        return self._table(), _network(self.start, self.slope)


class TrainedOnTable(LabeledTable):
    """Points of two classes, and optionally a network that was trained on them and the network before training."""

    title: ClassVar = "labeled points, and optionally a network trained on them and the network before training"

    network: Path | None = None
    """Network trained on the points: .safetensors, .npz, .pt or .pth."""
    start: Path | None = None
    """Network before training: .safetensors, .npz, .pt or .pth."""
    slope: float | None = None
    """Negative slope of leaky ReLUs. Weight files do not contain it."""

    def load(self) -> tuple[Any, ...]:
        """Return the points and labels, the trained network or None, and the network before training or None."""
        return self._table(), _network(self.network, self.slope), _network(self.start, self.slope)

    def allow(self, settings: Mapping[str, Any]) -> None:
        """Raise a UserError if settings are given with a trained network: they only apply when the check trains one."""
        if settings and self.network:
            first = f"{next(iter(settings))}={next(iter(settings.values()))}"
            raise UserError(
                f"--set {first} only applies when the check trains a network itself: leave out --set or --network"
            )


def _network(path: Path | None, slope: float | None) -> "nn.Module | None":
    from relulab.io.network import load

    return None if path is None else load(path, slope=slope)
