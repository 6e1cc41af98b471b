"""Options that all inputs with networks share: what a weight file does not say about its activation."""

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import PrivateAttr

from relulab.lab.input import Input

if TYPE_CHECKING:
    from torch import nn


class NetworkFiles(Input):
    """Networks from files."""

    slope: float | None = None
    """Negative slope of leaky ReLUs. Weight files do not contain it."""
    activation: str | None = None
    """Activation of weight files, such as relu, tanh or gelu. Default: relu, which is then stated as an assumption."""

    _assumed: list[str] = PrivateAttr(default_factory=list)

    @property
    def notes(self) -> list[str]:
        """What was assumed when the files were read, as sentences."""
        if not self._assumed:
            return super().notes
        *most, last = self._assumed
        files = f"{', '.join(most)} and {last}" if most else last
        why = "weight files do not contain the activation. Use --activation or --slope to state another one."
        return [f"A ReLU is assumed between the layers of {files}, because {why}", *super().notes]

    def read_network(self, path: Path) -> "nn.Module":
        """Return the network of a file, in the precision of the file, and note what was assumed.

        Args:
            path: The file.
        """
        from relulab.io.network import loaded

        net, notes, assumed = loaded(path, slope=self.slope, activation=self.activation)
        for text in notes:
            self.note(text)
        if assumed and str(path) not in self._assumed:
            self._assumed.append(str(path))
        return net

    def optional_network(self, path: Path | None) -> "nn.Module | None":
        """Return the network of a file, or None without a file.

        Args:
            path: The file, or None.
        """
        return None if path is None else self.read_network(path)
