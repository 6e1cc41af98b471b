"""The condition that points are in general position, under which n ≥ d of them determine the teacher (T5)."""

import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.core.angle import unit_rows
from relulab.lab.theorem import Check
from relulab.subjects.distillation.tools.span import span

SAME = 1e-10  # largest distance of two unit vectors that count as one direction


def general_position(X: Float64[Tensor, "n d"]) -> Check:
    """Check that points span min(n, d) dimensions, where points on one line through the origin count once.

    Such points only weight the loss, and repeating some of them does not change what a student learns.

    Args:
        X: Points, (n, d), one point per row.

    >>> general_position(torch.tensor([[1.0, 0.0, 0.0], [-2.0, 0.0, 0.0]]).double()).holds
    True
    >>> general_position(torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]).double()).holds
    True
    """
    rank, d = int(span(X).rank), X.shape[1]
    lines = rank if rank == min(X.shape) else _lines(X, rank + 1)
    needed = min(lines, d)
    return Check(
        "The points are in general position: they span min(n, d) dimensions", rank, ">=", needed,
        detail=f"they span {rank} of {d} dimensions"
        + (f", although {'more than ' * (lines > rank)}{rank} of them differ in direction" if rank < needed else ""),
    )  # fmt: skip


def _lines(X: Float64[Tensor, "n d"], most: int) -> int:
    """The number of lines through the origin that contain the nonzero points, counted up to ``most``."""
    rest = unit_rows(X)
    rest = rest[rest.any(-1)]
    lines = 0
    while len(rest) and lines < most:
        apart = torch.minimum((rest - rest[0]).norm(dim=-1), (rest + rest[0]).norm(dim=-1))
        rest, lines = rest[apart > SAME], lines + 1
    return lines
