"""Pictures with mean 0 and standard deviation 1 in every channel, by the statistics of a training set."""

import numpy as np
import torch
from jaxtyping import Float32, Float64, UInt8
from torch import Tensor

from relulab.core.errors import UserError

CHUNK = 1000  # pictures per pass: sums of so many are exact, and little memory is needed


def channel_statistics(images: UInt8[np.ndarray, "N C H W"]) -> tuple[Float64[Tensor, " C"], Float64[Tensor, " C"]]:
    """Return the mean and the standard deviation of every channel, over all pictures and positions.

    Args:
        images: Pictures, (N, C, H, W), with values from 0 to 255.
    """
    if images.ndim != 4 or not images.size or images.dtype != np.uint8:
        raise UserError(
            f"expected pictures of shape (N, C, H, W) with values from 0 to 255 as uint8, got {images.dtype} of shape "
            f"{images.shape}: give them as they are in the file"
        )
    total, square = (np.zeros(images.shape[1], np.int64) for _ in range(2))
    for start in range(0, len(images), CHUNK):
        part = images[start : start + CHUNK].astype(np.int64)
        total += part.sum((0, 2, 3))
        square += np.square(part).sum((0, 2, 3))
    count = images.size // images.shape[1]
    mean = total / count
    # N Σx² − (Σx)² is exact in Python's integers, where the difference of means would cancel
    spread = [(count * int(s) - int(t) ** 2) ** 0.5 / count for s, t in zip(square, total, strict=True)]
    return torch.from_numpy(mean), torch.tensor(spread, dtype=torch.float64)


def standardized(
    images: UInt8[np.ndarray, "N C H W"], train: UInt8[np.ndarray, "M C_ H_ W_"]
) -> Float32[Tensor, "N C H W"]:
    """Subtract from every channel its mean in the training set, and divide by its standard deviation there.

    Held-out pictures are standardized by the statistics of the training set, too, so that a network sees the same
    picture as the same numbers.

    Args:
        images: Pictures, (N, C, H, W), with values from 0 to 255.
        train: The pictures of the training set, (M, C, H, W). They may be ``images`` themselves.

    >>> pictures = np.array([[[[0, 2]]], [[[4, 6]]]], np.uint8)
    >>> standardized(pictures, pictures).flatten()
    tensor([-1.3416, -0.4472,  0.4472,  1.3416])
    """
    mean, std = channel_statistics(train)
    if images.ndim != 4 or images.dtype != np.uint8 or images.shape[1] != len(mean):
        raise UserError(
            f"expected pictures of shape (N, {len(mean)}, H, W) with values from 0 to 255 as uint8, as in the training "
            f"set, got {images.dtype} of shape {images.shape}: give pictures of the same kind"
        )
    if not bool((std > 0).all()):
        raise UserError(
            f"channel {int((std == 0).nonzero()[0])} has the same value in all pixels of the training set, so it "
            "cannot be standardized: use more pictures, or leave this channel out"
        )
    scale, shift = (1 / std).float(), (-mean / std).float()
    x = torch.tensor(images, dtype=torch.float32)  # a copy, since the pictures may be read-only
    return x.mul_(scale[:, None, None]).add_(shift[:, None, None])
