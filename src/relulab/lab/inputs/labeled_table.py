"""Points of two classes in a table, alone or with a network that was trained on them."""

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
    """Points with labels: .csv, .tsv, .parquet, .npz (X and y) or .npy."""
    label: str | None = None
    """Column or array of labels, by name or number; default: y, label, class or the last."""

    def load(self) -> tuple[Any, ...]:
        """The points and labels."""
        return (self._table(),)

    def _table(self) -> "Labeled":
        from relulab.io.tables import read_table

        return read_table(self.data, self.label)


class TableAndStart(LabeledTable):
    """Points of two classes, and perhaps the network that training begins with."""

    title: ClassVar = "labeled points, and perhaps a network before training"

    start: Path | None = None
    """A network before training: .safetensors, .npz, .pt or .pth."""
    slope: float | None = None
    """Slope of leaky ReLUs, which files of weights do not tell."""

    def load(self) -> tuple[Any, ...]:
        """The points and labels, and the network or None."""
        return self._table(), _network(self.start, self.slope)


class TrainedOnTable(LabeledTable):
    """Points of two classes, and perhaps a network that was trained on them and what it was before."""

    title: ClassVar = "labeled points, and perhaps a network trained on them and its start"

    network: Path | None = None
    """A network trained on the points: .safetensors, .npz, .pt or .pth."""
    start: Path | None = None
    """A network before training: .safetensors, .npz, .pt or .pth."""
    slope: float | None = None
    """Slope of leaky ReLUs, which files of weights do not tell."""

    def load(self) -> tuple[Any, ...]:
        """The points and labels, the trained network or None, and its start or None."""
        return self._table(), _network(self.network, self.slope), _network(self.start, self.slope)

    def allow(self, settings: Mapping[str, Any]) -> None:
        """Settings belong to a network that the check trains itself."""
        if settings and self.network:
            first = f"{next(iter(settings))}={next(iter(settings.values()))}"
            raise UserError(f"--set {first}: settings are those of a flow of our own, leave out --set or --network")


def _network(path: Path | None, slope: float | None) -> "nn.Module | None":
    from relulab.io.network import load

    return None if path is None else load(path, slope=slope)
