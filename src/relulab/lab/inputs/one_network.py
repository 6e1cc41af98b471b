"""The input of one network and points."""

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from relulab.lab.inputs.network_files import NetworkFiles
from relulab.lab.inputs.with_data import WithData

if TYPE_CHECKING:
    from torch import Tensor, nn


class OneNetwork(WithData, NetworkFiles):
    """A network and points in its input space."""

    title: ClassVar = "a network and points"
    arguments: ClassVar = ("network",)

    network: Path
    """Network: .safetensors, .npz, .pt, .pth or .pt2."""

    def load(self) -> tuple["nn.Module", "Tensor"]:
        """Return the network, in the precision of its file, and the points."""
        net = self.read_network(self.network)
        return net, self.points_for(net)
