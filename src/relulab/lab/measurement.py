"""Measurements: what users run on files of their own.

A measurement is one file in a subject's room ``measurements``. The command line, ``--json``, ``--out``, ``--figure``,
the help and the docs are made from it.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from relulab.lab.input import Input
from relulab.lab.show.parts import Part

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

    from relulab.lab.theorem import Verdict


@dataclass(frozen=True)
class Outcome:
    """What a measurement found.

    ``document`` is what ``--json`` prints. ``parts`` are the sentences and tables that people read, in order.
    ``arrays`` go into an .npz file, ``files`` are the contents of other formats by ending, and ``picture`` is drawn on
    request. A ``verdict`` other than HOLDS makes the command end with 1.
    """

    document: dict[str, Any]
    parts: Sequence[Part]
    arrays: Callable[[], Mapping[str, "np.ndarray"]] | None = None
    picture: Callable[[], "Figure"] | None = None
    files: Mapping[str, Callable[[], bytes]] = field(default_factory=dict)
    verdict: "Verdict | None" = None


class Measurement(Input):
    """Subclasses add inputs as bases, options as fields, and ``measure``.

    ``name`` is the word on the command line, after ``relulab measure``, or after ``relulab`` if it is a ``verb`` of its
    own. ``endings`` are the formats that ``--out`` takes and ``kept`` says what is in such a file; ``drawn`` says what
    ``--figure`` shows. Without endings, or without words for the figure, there is no such option.
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
        """Reads the files and measures."""

    def busy(self) -> str:
        """What to say on a terminal while it takes a while."""
        return f"measuring {self.name} …"
