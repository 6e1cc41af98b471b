"""Progress bars for people who watch: in a terminal on stderr, and in a notebook below the cell."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any

AFTER = 3.0  # seconds before a bar appears by default
LINE = 10.0  # minimum time between two plain lines, where no bar can be drawn
_quiet = ContextVar("quiet", default=False)


@contextmanager
def quiet() -> Iterator[None]:
    """Show no bar in this block: something around it shows its progress already."""
    before = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(before)


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return type(shell).__name__ == "ZMQInteractiveShell"


def watched() -> bool:
    """Whether a person sees the progress: stderr is a terminal, or this is a notebook."""
    return not _quiet.get() and (in_notebook() or bool(sys.stderr and sys.stderr.isatty()))


class Bar:
    """A bar with a text: in a terminal it is drawn by Rich, in a notebook it is a line that changes.

    Elsewhere a plain line is printed at most every ``LINE`` seconds, and when the work is done.

    Args:
        console: Rich's console on stderr. Default: a new one.
    """

    def __init__(self, console: Any = None):
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self.console = console or Console(stderr=True)
        self.drawn, self.notebook = self.console.is_terminal, in_notebook()
        columns = BarColumn(), TextColumn("{task.fields[line]}", markup=False)
        self.progress = Progress(*columns, console=self.console, transient=True, disable=not self.drawn)
        self.task = self.progress.add_task("", total=1.0, line="")
        self.handle: Any = None
        self.last_line = time.monotonic()

    def start(self) -> None:
        """Show the bar."""
        self.progress.start()

    def show(self, share: float, text: str) -> None:
        """Update the bar.

        Args:
            share: The share of the work that is done, from 0 to 1.
            text: The text beside the bar.
        """
        self.progress.update(self.task, completed=share, line=text)
        if self.notebook:
            self._show_in_notebook(f"{share:4.0%} {text}")
        elif not self.drawn and (share >= 1 or time.monotonic() - self.last_line > LINE):
            self.last_line = time.monotonic()
            self.console.print(f"  {text}", highlight=False, soft_wrap=True, markup=False)

    def _show_in_notebook(self, text: str) -> None:
        shown = {"text/plain": text}
        if self.handle is None:
            self.handle = sys.modules["IPython"].display.display(shown, raw=True, display_id=True)
        else:
            self.handle.update(shown, raw=True)

    def stop(self) -> None:
        """Remove the bar from the terminal; in a notebook the last line stays."""
        self.progress.stop()


class Progress:
    """The progress of a computation, in a block: a bar that appears if the computation takes longer than ``AFTER``.

    Args:
        wanted: True shows the bar at once, False never. Default: if a person watches.
    """

    def __init__(self, wanted: bool | None = None):
        self.on = watched() if wanted is None else wanted and not _quiet.get()
        self.begun, self.after = time.monotonic(), 0.0 if wanted else AFTER
        self.bar: Bar | None = None

    @property
    def seconds(self) -> float:
        """The time since the start."""
        return time.monotonic() - self.begun

    def show(self, share: float, text: str) -> None:
        """Update the bar, if it is due.

        Args:
            share: The share of the work that is done, from 0 to 1.
            text: What to say besides the time left.
        """
        if not self.on or self.seconds < self.after:
            return
        if self.bar is None:
            self.bar = Bar()
            self.bar.start()
        left = self.seconds * (1 - share) / share if share > 0 else 0.0
        self.bar.show(share, f"{text}, {left:,.0f} s left" if 0 < share < 1 else text)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()
