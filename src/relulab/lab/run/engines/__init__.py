"""Engines run the independent units of a study: processes of this machine, or a dask cluster. The bits are the same."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from relulab.lab.run.store import Run
from relulab.lab.study import Study, Unit

OnUnit = Callable[[Unit, float], None]
"""told of a unit that is on disk, and of the seconds it took"""
OnSteps = Callable[[Unit, int], None]
"""told of seed-steps done in a unit; fewer than none when a unit begins anew"""

Say = Callable[[str], None]
"""told what a user should know"""

TRIES = 3  # of a unit whose worker dies or hangs
PATIENCE = 900.0  # seconds without a step after which a worker counts as hung


@runtime_checkable
class Engine(Protocol):
    """What the runner asks of an engine."""

    def crew(self, units: int) -> int:
        """How many processes will work on so many units."""
        ...

    def run(self, study: Study, run: Run, units: Sequence[Unit], on_unit: OnUnit, on_steps: OnSteps, say: Say) -> None:
        """Measures ``units`` and leaves each in the run's folder, telling of it."""
        ...
