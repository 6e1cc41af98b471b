"""Two networks and points."""

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from relulab.core.errors import UserError
from relulab.lab.input import Input

if TYPE_CHECKING:
    from torch import Tensor, nn


class TwoNetworks(Input):
    """Two networks and points that both take."""

    title: ClassVar = "two networks and points"
    arguments: ClassVar = ("a", "b")

    a: Path
    """A network: .safetensors, .npz, .pt, .pth or .pt2."""
    b: Path
    """Another network, in any of these formats."""
    data: Path
    """Points: .npy, .npz or .safetensors, one a row."""
    slope: float | None = None
    """Slope of leaky ReLUs, which files of weights do not tell."""

    def load(self) -> tuple["nn.Module", "nn.Module", "Tensor"]:
        """Both networks in the precision of their files, and the points."""
        from relulab.io.network import load

        a, b = (load(path, slope=self.slope) for path in (self.a, self.b))
        return a, b, points_for(self.data, a, b)


def points_for(path: Path, *nets: "nn.Module") -> "Tensor":
    """The points of a file, in rows where a fully connected network is to take them."""
    from relulab.io.points import read_points
    from relulab.nets.mlp import MLP

    x = read_points(path)
    if x.dim() > 2 and any(isinstance(net, MLP) for net in nets):
        raise UserError(
            f"{path}: pictures of shape {tuple(x.shape)} for a fully connected network; (points, inputs) do"
        )
    return x
