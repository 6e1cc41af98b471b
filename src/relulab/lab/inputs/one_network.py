"""The input of one network and points."""

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from relulab.lab.input import Input
from relulab.lab.inputs.two_networks import points_for

if TYPE_CHECKING:
    from torch import Tensor, nn


class OneNetwork(Input):
    """A network and points in its input space."""

    title: ClassVar = "a network and points"
    arguments: ClassVar = ("network",)

    network: Path
    """Network: .safetensors, .npz, .pt, .pth or .pt2."""
    data: Path
    """Points, one per row: .npy, .npz or .safetensors."""
    slope: float | None = None
    """Negative slope of leaky ReLUs. Weight files do not contain it."""

    def load(self) -> tuple["nn.Module", "Tensor"]:
        """Return the network, in the precision of its file, and the points."""
        from relulab.io.network import load

        net = load(self.network, slope=self.slope)
        return net, points_for(self.data, net)
