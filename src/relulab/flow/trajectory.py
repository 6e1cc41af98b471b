"""What following a flow leaves behind, the same for every flow: times, what was seen at them, and how it ended."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import nan
from typing import Generic, TypeVar, cast

import numpy as np
from torch import Tensor

from relulab.core.errors import UserError, nearest

Array = TypeVar("Array", np.ndarray, Tensor)


@dataclass(frozen=True)
class Trajectory(Generic[Array]):
    """A flow at its looks, the first at the start and the last where it ended.

    ``states`` has, by name, what was seen at each look, along a leading axis of looks: weights, and a loss where there
    is one. The first of them is what the flow moves. Arrays are those of the flow, of NumPy or of torch.

    >>> path = Trajectory(np.array([0.0, 2.0]), {"w": np.array([[4.0], [1.0]]), "loss": np.array([8.0, 0.5])})
    >>> path.end, path["loss"], len(path)
    (array([1.]), array([8. , 0.5]), 2)
    """

    times: Array
    states: Mapping[str, Array]
    reached: bool = True
    """whether it got to where it should"""
    says: str = ""
    """a sentence on how it ended"""
    steps: int = 0
    """steps of the solver"""
    distance: float = nan
    """how far the end is from the goal, where the flow can tell"""
    dense: Callable[[Array], Array] | None = None
    """the first state as a smooth function of time, where the solver has one"""

    def __post_init__(self) -> None:
        lengths = {name: len(values) for name, values in self.states.items()}
        if not lengths or {*lengths.values()} != {len(self.times)}:
            raise UserError(f"{len(self.times)} times with states of {lengths} looks: as many are needed of all")

    def __len__(self) -> int:
        """The number of looks."""
        return len(self.times)

    def __getitem__(self, name: str) -> Array:
        """What was seen under a name, a row a look."""
        if name not in self.states:
            raise UserError(f"the trajectory has no {name!r}: {nearest(name, self.states)}")
        return self.states[name]

    @property
    def end(self) -> Array:
        """The first state where the flow ended."""
        return cast(Array, next(iter(self.states.values()))[-1])

    def at(self, times: Array) -> Array:
        """The first state at any times, a row each, between the looks as well.

        Args:
            times: from the first to the last of ``self.times``, in any order.
        """
        if self.dense is None:
            raise UserError("this flow was followed from look to look: only its own times are known")
        return self.dense(times)

    def only(self, looks: Array) -> "Trajectory[Array]":
        """The same flow with some of its looks alone.

        Args:
            looks: the places of those that stay, or a mask of all.
        """
        states = {name: values[looks] for name, values in self.states.items()}
        return replace(self, times=self.times[looks], states=states)
