"""Engines measure the units of a study, on this machine or on a dask cluster, with bit-identical results."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from relulab.lab.run.store import Run
from relulab.lab.study import Study, Unit

OnUnit = Callable[[Unit, float], None]
"""called with a stored unit and the seconds it took"""
OnSteps = Callable[[Unit, int], None]
"""called with the seed-steps done in a unit; negative when a unit starts again"""

Say = Callable[[str], None]
"""called with a message for the user"""

TRIES = 3  # attempts at a unit whose worker dies or hangs
LOADING = 60.0  # seconds that a worker may take before its first step, even if the patience is shorter
PATIENCE = 900.0  # a worker without a training step for this many seconds counts as hung


@runtime_checkable
class Engine(Protocol):
    """The interface between the runner and an engine."""

    def crew(self, units: int) -> int:
        """Return how many processes will work on this many units."""
        ...

    def run(self, study: Study, run: Run, units: Sequence[Unit], on_unit: OnUnit, on_steps: OnSteps, say: Say) -> None:
        """Measure units and store each result in the folder of the run.

        Args:
            study: The study.
            run: The run that stores the results.
            units: The units to measure.
            on_unit: Called for every stored unit.
            on_steps: Called with the seed-steps done.
            say: Called with messages for the user.
        """
        ...
