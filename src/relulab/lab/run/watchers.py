"""Watchers receive the progress of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from relulab.lab.run.meter import Progress
    from relulab.lab.run.store import Run
    from relulab.lab.study import Study, Unit


@runtime_checkable
class Watcher(Protocol):
    """Receives the progress of a run."""

    def say(self, sentence: str) -> None: ...
    def start(self, study: Study, run: Run, todo: list[Unit], kept: int, workers: int) -> None: ...
    def moved(self, progress: Progress) -> None: ...
    def stop(self) -> None: ...


class Silent:
    """A watcher that ignores everything."""

    def say(self, sentence) -> None: ...
    def start(self, study, run, todo, kept, workers) -> None: ...
    def moved(self, progress) -> None: ...
    def stop(self) -> None: ...
