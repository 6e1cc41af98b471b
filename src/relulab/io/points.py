"""Read points from a file."""

from pathlib import Path

from torch import Tensor

from relulab.core.errors import UserError
from relulab.io.tensors import read_tensors

NAMES = ("X", "x", "data", "inputs", "points", "features", "images")


def read_points(path: Path | str) -> Tensor:
    """Read points from a file and check that they are finite.

    A file with several arrays must have one named X, x, data, inputs, points, features or images.

    Args:
        path: The file: .npy, .npz, .safetensors, or a PyTorch dictionary of tensors (.pt, .pth, .bin).

    Returns:
        Points, (N, d), or images, (N, channels, height, width).

    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     np.savez(Path(folder) / "points.npz", X=np.zeros((4, 3)))
    ...     read_points(Path(folder) / "points.npz").shape
    torch.Size([4, 3])
    """
    tensors, _ = read_tensors(path)
    named = [name for name in NAMES if name in tensors]
    if not named and len(tensors) > 1:
        raise UserError(
            f"expected points named X in {path}, got {', '.join(list(tensors)[:6])}: rename the array of points to X, "
            "or save it alone"
        )
    x = tensors[named[0]] if named else next(iter(tensors.values()))
    if x.dim() not in (2, 4) or not x.numel():
        raise UserError(
            f"{path}: expected nonempty points of shape (points, inputs) or (images, channels, height, width), got "
            f"{tuple(x.shape)}: reshape the array"
        )
    return x
