"""The terminal: results go to stdout, progress and messages to stderr.

Texts may come from files of other people. What a terminal would act on is replaced; only Rich's own sequences pass.
"""

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment

from relulab.core.printable import printable


class Terminal(Console):
    """A console that shows control characters in texts instead of sending them."""

    def render(self, *arguments: Any, **options: Any) -> Iterable[Segment]:
        for segment in super().render(*arguments, **options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


# Rich's search for words to highlight takes a time that grows with the square of a long text.
console = Terminal(highlight=False)
errors = Terminal(stderr=True, highlight=False)
