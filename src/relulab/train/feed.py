"""Batches for all lanes, gathered many steps at a time."""

from collections.abc import Iterator

import torch
from torch import Tensor

from relulab.data.task import Points


def feed(points: Points, batches: Tensor, chunk: int = 25) -> Iterator[tuple[Tensor, Tensor]]:
    """(x, y) of every step, (lane, batch, ·) each, from ``batches`` (group, step, batch).

    One gather serves ``chunk`` steps, into buffers that the next gather overwrites.
    """
    N, lanes = points.X.shape[1], len(points.group)
    X, Y = points.X.flatten(0, 1), points.Y.flatten(0, 1)
    rows = batches.transpose(0, 1)[:, points.group]  # step, lane, batch
    in_X = rows + (points.group * N)[:, None]
    in_Y = rows + (torch.arange(lanes) * N)[:, None]
    chunk = min(chunk, len(rows))
    x, y = (A.new_empty(chunk * lanes * rows.shape[2], A.shape[1]) for A in (X, Y))
    for i, j in zip(in_X.split(chunk), in_Y.split(chunk), strict=True):
        shape = (*i.shape, -1)
        x_, y_ = x[: i.numel()], y[: j.numel()]
        torch.index_select(X, 0, i.reshape(-1), out=x_)
        torch.index_select(Y, 0, j.reshape(-1), out=y_)
        yield from zip(x_.view(shape), y_.view(shape), strict=True)
