"""One network and points."""

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from relulab.lab.input import Input
from relulab.lab.inputs.two_networks import points_for

if TYPE_CHECKING:
    from torch import Tensor, nn


class OneNetwork(Input):
    """A network and points that it takes."""

    title: ClassVar = "a network and points"
    arguments: ClassVar = ("network",)

    network: Path
    """A network: .safetensors, .npz, .pt, .pth or .pt2."""
    data: Path
    """Points: .npy, .npz or .safetensors, one a row."""
    slope: float | None = None
    """Slope of leaky ReLUs, which files of weights do not tell."""

    def load(self) -> tuple["nn.Module", "Tensor"]:
        """The network in the precision of its file, and the points."""
        from relulab.io.network import load

        net = load(self.network, slope=self.slope)
        return net, points_for(self.data, net)
