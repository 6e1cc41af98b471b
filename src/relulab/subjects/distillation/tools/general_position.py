"""The condition that points are in general position, under which n ≥ d of them determine the teacher (T5)."""

from jaxtyping import Float64
from torch import Tensor

from relulab.lab.theorem import Check
from relulab.subjects.distillation.tools.span import span

SAME = 1e-12  # largest difference of two equal points, relative to their largest entry


def general_position(X: Float64[Tensor, "n d"]) -> Check:
    """Check that the points have full rank: n different points span min(n, d) dimensions.

    A point that is repeated counts once, because repeating it only weights the loss. Points on one line through the
    origin are different, and so is the origin: three of them in a plane do not determine the teacher.

    Args:
        X: Points, (n, d), one point per row.

    >>> general_position(Tensor([[1.0, 2.0, 0.0], [1.0, 2.0, 0.0]]).double()).holds
    True
    >>> general_position(Tensor([[1.0, 2.0], [-2.0, -4.0], [3.0, 6.0]]).double()).holds
    False
    """
    rank, d = int(span(X).rank), X.shape[1]
    # a rank of d is full, however many points there are
    different = d if rank == d else _different(X, rank + 1)
    count = f"{'more than ' * (different > rank)}{rank} different points"
    detail = f"they span {rank} of {d} dimensions" + (f", with {count}" if rank < d else "")
    says = "The points are in general position: n different points span min(n, d) dimensions"
    return Check(says, rank, ">=", min(different, d), detail=detail)


def _different(X: Float64[Tensor, "n d"], most: int) -> int:
    """The number of different points, counted up to ``most``."""
    rest, count = X, 0
    while len(rest) and count < most:
        apart = (rest - rest[0]).abs().amax(-1)
        rest, count = rest[apart > SAME * rest[0].abs().max()], count + 1
    return count
