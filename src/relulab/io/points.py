"""Points from a file of a user's."""

from pathlib import Path

from torch import Tensor

from relulab.core.errors import UserError
from relulab.io.tensors import read_tensors

NAMES = ("X", "x", "data", "inputs", "points", "features", "images")


def read_points(path: Path | str) -> Tensor:
    """The points of a file, one a row: (N, d), or (N, channels, height, width). Checked to be finite.

    A file with several arrays must have one called X, x, data, inputs, points, features or images.

    Args:
        path: The file: .npy, .npz, .safetensors, or a PyTorch dictionary of tensors (.pt, .pth, .bin).

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
            f"{path} holds {', '.join(list(tensors)[:6])}: which are the points? Call them X, or keep them alone"
        )
    x = tensors[named[0]] if named else next(iter(tensors.values()))
    if x.dim() not in (2, 4) or not x.numel():
        raise UserError(f"{path}: points of shape {tuple(x.shape)}; (points, inputs) was expected, or pictures")
    return x
