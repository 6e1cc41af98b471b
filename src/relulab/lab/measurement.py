"""Measurements: what users run on their own files.

A measurement is one file in the folder ``measurements`` of a subject. Its command, with ``--json``, ``--out``,
``--figure`` and the help, and its documentation are generated from that file.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from relulab.lab.input import Input
from relulab.lab.show.parts import Part, note_lines

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

    from relulab.lab.theorem import Verdict


@dataclass(frozen=True)
class Outcome:
    """The result of a measurement.

    Args:
        document: What ``--json`` prints.
        parts: The answer as text and tables, in order.
        arrays: The arrays for an .npz file.
        picture: The figure for ``--figure``.
        files: The contents of other file formats, by ending.
        verdict: A verdict; the command exits with 1 unless it is HOLDS or None.
    """

    document: dict[str, Any]
    parts: Sequence[Part]
    arrays: Callable[[], Mapping[str, "np.ndarray"]] | None = None
    picture: Callable[[], "Figure"] | None = None
    files: Mapping[str, Callable[[], bytes]] = field(default_factory=dict)
    verdict: "Verdict | None" = None

    def with_notes(self, notes: list[str]) -> "Outcome":
        """Return the outcome with notes on what was assumed and what was left out when data were read.

        Args:
            notes: The notes, which become ``notes`` in the document and lines at the end of the answer.
        """
        return replace(self, document=self.document | {"notes": notes}, parts=[*self.parts, *note_lines(notes)])


class Measurement(Input):
    """The base class of measurements.

    A subclass inherits its inputs, adds options as fields, and implements ``measure``. Its command is
    ``relulab measure NAME``, or ``relulab NAME`` if ``verb`` is True. ``endings`` are the file formats of ``--out``;
    ``kept`` describes the contents of such a file, and ``drawn`` what ``--figure`` shows. Without ``endings`` there is
    no ``--out``, and without ``drawn`` no ``--figure``.
    """

    name: ClassVar[str]
    source: ClassVar[str] = ""
    ids: ClassVar[tuple[str, ...]] = ()
    verb: ClassVar[bool] = False
    endings: ClassVar[tuple[str, ...]] = ()
    kept: ClassVar[str] = ""
    drawn: ClassVar[str] = ""

    @abstractmethod
    def measure(self) -> Outcome:
        """Read the files and measure."""

    def busy(self) -> str:
        """Return the message that a terminal shows during the measurement."""
        return f"measuring {self.name} …"
