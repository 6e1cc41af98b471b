"""Batches for all lanes, gathered for several training steps at once."""

from collections.abc import Iterator

import torch
from torch import Tensor

from relulab.data.task import Points


def feed(points: Points, batches: Tensor, chunk: int = 25) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield inputs and targets of every training step, each of shape (lane, batch, …).

    The batches of ``chunk`` steps are gathered at once, in buffers that are overwritten later. Images are large and are
    gathered for one step at a time, which also keeps their memory format.

    Args:
        points: The points of the epoch.
        batches: Indices of the points of each step, (group, step, batch).
        chunk: Number of steps to gather at once.
    """
    N, lanes, device = points.X.shape[1], len(points.group), points.X.device
    X, Y = points.X.flatten(0, 1), points.Y.flatten(0, 1)
    group = points.group.to(device)
    rows = batches.to(device).transpose(0, 1)[:, group]  # step, lane, batch
    in_X = rows + (group * N)[:, None]
    in_Y = rows + (torch.arange(lanes, device=device) * N)[:, None]
    if X.dim() > 2:
        for i, j in zip(in_X, in_Y, strict=True):
            yield X[i.reshape(-1)].unflatten(0, i.shape), Y[j]
        return
    chunk = min(chunk, len(rows))
    x, y = (A.new_empty(chunk * lanes * rows.shape[2], *A.shape[1:]) for A in (X, Y))
    for i, j in zip(in_X.split(chunk), in_Y.split(chunk), strict=True):
        x_, y_ = x[: i.numel()], y[: j.numel()]
        torch.index_select(X, 0, i.reshape(-1), out=x_)
        torch.index_select(Y, 0, j.reshape(-1), out=y_)
        yield from zip(x_.view(*i.shape, *X.shape[1:]), y_.view(*j.shape, *Y.shape[1:]), strict=True)
