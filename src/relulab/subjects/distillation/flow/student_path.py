"""What a training of a student leaves behind: its weights and loss at some times."""

from typing import NamedTuple

from jaxtyping import Float64
from torch import Tensor


class Path(NamedTuple):
    """A student at its looks, the first at the start and the last where it ended.

    ``q`` is ‖P_Q w‖², the square length of w outside the span of the points (T5 before D.29). ``distance`` is that of
    the end from the nearest minimum, as one step of Newton's method sees it, and ``reached`` tells whether it is below
    the tolerance. ``says`` has a sentence on how it ended. ``weights`` are the factor matrices at the end, where they
    were followed.
    """

    t: Float64[Tensor, " looks"]
    w: Float64[Tensor, "looks d"]
    loss: Float64[Tensor, " looks"]
    q: Float64[Tensor, " looks"]
    distance: float
    reached: bool
    says: str
    steps: int
    weights: tuple[Float64[Tensor, "_ _"], ...] = ()

    @property
    def end(self) -> Float64[Tensor, " d"]:
        """The last w."""
        return self.w[-1]
