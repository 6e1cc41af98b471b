"""A run's figures in the report: copied in every format, and described by the words that are drawn in them."""

import re
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path

from relulab.lab.report.files import Unreadable

FORMATS = ("svg", "png", "pdf")
LONGEST = 300  # letters of a description


@dataclass(frozen=True)
class Drawn:
    name: str
    words: str


def export_figures(run: Path, names: Sequence[str], target: Path) -> list[Drawn]:
    """Copies the named figures of a run into the folder ``target``."""
    target.mkdir(parents=True, exist_ok=True)
    try:
        for file in (f"{name}.{ending}" for name in names for ending in FORMATS):
            shutil.copyfile(run / "figures" / file, target / file)
    except OSError as error:
        raise Unreadable(f"figures/{file}: {error.strerror}") from None
    return [Drawn(name, words_in((target / f"{name}.svg").read_text("utf-8", "replace"))) for name in names]


def words_in(svg: str) -> str:
    """Labels and titles of a figure, the most frequent ones first: these are the axes'.

    Matplotlib draws text as curves and leaves what it says in a comment beside them.

    >>> words_in("<!-- p = 1 --><!-- 0.5 --><!-- epoch --><!-- p = 2 --><!-- epoch -->")
    'epoch; p = 1; p = 2'
    """
    texts = (text for text in re.findall(r"<!-- (.+?) -->", svg) if "mathdefault" not in text)  # powers on an axis
    found = Counter(unescape(text) for text in texts if re.search(r"[^\W\d_]", text))
    words = ""
    for text, _ in found.most_common():
        if len(words) + len(text) > LONGEST:
            return f"{words} …"
        words = f"{words}; {text}" if words else text
    return words
