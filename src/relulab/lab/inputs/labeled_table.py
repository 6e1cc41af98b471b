"""The inputs with labeled points: a table alone, or with a network that was trained on it."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from relulab.core.errors import UserError
from relulab.lab.inputs.network_files import NetworkFiles
from relulab.lab.inputs.with_data import WithData

if TYPE_CHECKING:
    from relulab.data.labeled import Labeled


class LabeledTable(WithData):
    """Points of two classes."""

    title: ClassVar = "labeled points"

    def load(self) -> tuple[Any, ...]:
        """Return the points and labels."""
        return (self._table(),)

    def _table(self) -> "Labeled":
        """Read the points and labels of two classes."""
        from relulab.io.tables import two_classes

        table = two_classes(self.data, self.read(with_labels=True, as_rows=True))
        self.note(f"label {table.names[1]} is +1 and label {table.names[0]} is −1")
        return table


class TableAndStart(NetworkFiles, LabeledTable):
    """Points of two classes, and optionally a network before training."""

    title: ClassVar = "labeled points, and optionally a network before training"

    start: Path | None = None
    """Network before training: .safetensors, .npz, .pt or .pth."""

    def load(self) -> tuple[Any, ...]:
        """Return the points and labels, and the network or None."""
        return self._table(), self.optional_network(self.start)


class TrainedOnTable(NetworkFiles, LabeledTable):
    """Points of two classes, and optionally a network that was trained on them and the network before training."""

    title: ClassVar = "labeled points, and optionally a network trained on them and the network before training"

    network: Path | None = None
    """Network trained on the points: .safetensors, .npz, .pt or .pth."""
    start: Path | None = None
    """Network before training: .safetensors, .npz, .pt or .pth."""

    def load(self) -> tuple[Any, ...]:
        """Return the points and labels, the trained network or None, and the network before training or None."""
        return self._table(), self.optional_network(self.network), self.optional_network(self.start)

    def allow(self, settings: Mapping[str, Any]) -> None:
        """Raise a UserError if settings of the training are given with a trained network; its loss may be given."""
        of_training = [f"{name}={value}" for name, value in settings.items() if name != "loss"]
        if of_training and self.network:
            raise UserError(
                f"--set {of_training[0]} only applies when the check trains a network itself: leave out --set or "
                "--network"
            )
