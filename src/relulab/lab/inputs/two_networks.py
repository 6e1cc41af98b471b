"""The input of two networks and points."""

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from relulab.core.errors import UserError
from relulab.lab.input import Input

if TYPE_CHECKING:
    from torch import Tensor, nn


class TwoNetworks(Input):
    """Two networks and points in the input space of both."""

    title: ClassVar = "two networks and points"
    arguments: ClassVar = ("a", "b")

    a: Path
    """First network: .safetensors, .npz, .pt, .pth or .pt2."""
    b: Path
    """Second network, in the same formats."""
    data: Path
    """Points, one per row: .npy, .npz or .safetensors."""
    slope: float | None = None
    """Negative slope of leaky ReLUs. Weight files do not contain it."""

    def load(self) -> tuple["nn.Module", "nn.Module", "Tensor"]:
        """Return both networks, in the precision of their files, and the points."""
        from relulab.io.network import load

        a, b = (load(path, slope=self.slope) for path in (self.a, self.b))
        return a, b, points_for(self.data, a, b)


def points_for(path: Path, *nets: "nn.Module") -> "Tensor":
    """Read points from a file and check that they fit the networks.

    Args:
        path: A file of points.
        nets: The networks. A fully connected one needs one row per point.
    """
    from relulab.io.points import read_points
    from relulab.nets.mlp import MLP

    x = read_points(path)
    if x.dim() > 2 and any(isinstance(net, MLP) for net in nets):
        raise UserError(
            f"{path}: expected points of shape (points, inputs) for a fully connected network, got {tuple(x.shape)}: "
            "reshape them first"
        )
    return x
