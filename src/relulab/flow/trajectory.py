"""The result of following a flow: times, states at these times, and how the flow ended."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import nan
from typing import Generic, TypeVar, cast

import numpy as np
from torch import Tensor

from relulab.core.errors import UserError, nearest
from relulab.core.short_repr import counted

Array = TypeVar("Array", np.ndarray, Tensor)
ROUNDING = 1e-12  # fraction of the length by which times may be outside because of rounding


@dataclass(frozen=True)
class Trajectory(Generic[Array]):
    """Snapshots of a flow, from its start to its end.

    ``states`` contains arrays by name, such as the weights and the loss, with the snapshots along the first axis. The
    first state is the one that the flow changes. The arrays are NumPy arrays or torch tensors, depending on the flow.

    >>> path = Trajectory(np.array([0.0, 2.0]), {"w": np.array([[4.0], [1.0]]), "loss": np.array([8.0, 0.5])})
    >>> path.end, path["loss"], len(path)
    (array([1.]), array([8. , 0.5]), 2)
    """

    times: Array
    states: Mapping[str, Array]
    reached: bool = True
    """whether the flow reached its goal"""
    says: str = ""
    """how the flow ended, in words"""
    steps: int = 0
    """number of steps of the solver"""
    distance: float = nan
    """distance between the end of the flow and its goal, if known"""
    dense: Callable[[Array], Array] | None = None
    """the first state as a smooth function of time, if the solver provides it"""

    def __post_init__(self) -> None:
        lengths = {name: len(values) for name, values in self.states.items()}
        if not lengths or {*lengths.values()} != {len(self.times)}:
            raise UserError(
                f"expected at least one state, and {len(self.times)} snapshots of each for {len(self.times)} times, "
                f"got {lengths}: give one snapshot per time"
            )

    def __repr__(self) -> str:
        states = ", ".join(f"{name} {tuple(values.shape)}" for name, values in self.states.items())
        start, end = (float(self.times[i]) for i in (0, -1))
        says = f"; {self.says}" if self.says else ""
        return f"Trajectory({counted(len(self), 'snapshot')} from t = {start:.4g} to {end:.4g}: {states}{says})"

    def __len__(self) -> int:
        """The number of snapshots."""
        return len(self.times)

    def __getitem__(self, name: str) -> Array:
        """Return the state with the given name at all snapshots, along the first axis."""
        if name not in self.states:
            raise UserError(f"the trajectory has no state named {name!r}: {nearest(name, self.states)}")
        return self.states[name]

    @property
    def end(self) -> Array:
        """The first state at the end of the flow."""
        return cast(Array, next(iter(self.states.values()))[-1])

    def at(self, times: Array) -> Array:
        """Return the first state at any times, also between snapshots, with the times along the first axis.

        Args:
            times: Times between the first and the last of ``self.times``, in any order, (t,); others are refused.
        """
        if self.dense is None:
            raise UserError(
                "this trajectory has states only at its snapshots and cannot be evaluated at other times: use states "
                "and times"
            )
        given, first, last = np.asarray(times), float(self.times.min()), float(self.times.max())
        slack = ROUNDING * (last - first)
        outside = given[~((given >= first - slack) & (given <= last + slack))]
        if outside.size:
            raise UserError(
                f"expected times from {first:.6g} to {last:.6g}, where the trajectory ends, got {outside.flat[0]:.6g}: "
                "follow the flow for a longer time"
            )
        return self.dense(times)

    def only(self, looks: Array) -> "Trajectory[Array]":
        """Return the trajectory with some of its snapshots only.

        Args:
            looks: Indices of the snapshots to keep, or a boolean mask.
        """
        states = {name: values[looks] for name, values in self.states.items()}
        return replace(self, times=self.times[looks], states=states)
