"""The input of two networks and points."""

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from relulab.lab.inputs.network_files import NetworkFiles
from relulab.lab.inputs.with_data import WithData

if TYPE_CHECKING:
    from torch import Tensor, nn


class TwoNetworks(WithData, NetworkFiles):
    """Two networks and points in the input space of both."""

    title: ClassVar = "two networks and points"
    arguments: ClassVar = ("a", "b")

    a: Path
    """First network: .safetensors, .npz, .pt, .pth or .pt2."""
    b: Path
    """Second network, in the same formats."""

    def load(self) -> tuple["nn.Module", "nn.Module", "Tensor"]:
        """Return both networks, in the precision of their files, and the points."""
        a, b = (self.read_network(path) for path in (self.a, self.b))
        return a, b, self.points_for(a, b)
