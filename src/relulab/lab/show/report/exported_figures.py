"""The figures and animations of a run in the report, in every format and with a description in words."""

import re
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path

from relulab.core.files import read_inside
from relulab.lab.run.documents import DOCUMENT, write_bytes
from relulab.lab.run.store import MOVING
from relulab.lab.show.report.forms import Animation, Figure, Unreadable
from relulab.lab.show.report.safe_pictures import objection

FORMATS = ("svg", "png", "pdf")
LONGEST = 300  # characters of a description
PAGE = 1200  # pixels


@dataclass(frozen=True)
class Drawn:
    name: str
    words: str
    caption: str
    width: int
    """in CSS pixels, as it was drawn"""


@dataclass(frozen=True)
class Moving:
    name: str
    words: str
    caption: str
    width: int
    height: int
    bytes: int


def export_figures(run: Path, figures: Sequence[Figure], target: Path) -> list[Drawn]:
    """Copy the figures of a run into the folder ``target``."""
    _copy(run, [f"{one.figure}.{ending}" for one in figures for ending in FORMATS], target)
    return [
        Drawn(one.figure, words_in(svg), one.caption, width_of(svg))
        for one in figures
        for svg in ((target / f"{one.figure}.svg").read_text("utf-8", "replace"),)
    ]


def export_animations(run: Path, animations: Sequence[Animation], target: Path) -> list[Moving]:
    """Copy the animations of a run and their still images into the folder ``target``."""
    _copy(run, [f"{a.animation}.{ending}" for a in animations for ending in MOVING.values()], target)
    return [
        Moving(a.animation, a.words, a.caption, *_size(path), path.stat().st_size)
        for a in animations
        for path in (target / f"{a.animation}.{MOVING['gif']}",)
    ]


def _copy(run: Path, files: Sequence[str], target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for file in files:
        try:
            content = read_inside(run, f"figures/{file}", DOCUMENT)
        except OSError as error:
            raise Unreadable(f"figures/{file}: {error.strerror}") from None
        if words := objection(file, content):
            raise Unreadable(f"figures/{file} is not shown: {words}")
        write_bytes(target / file, content)


def _size(gif: Path) -> tuple[int, int]:
    """Width and height from the header; with them a page reserves space for an image that loads later."""
    with gif.open("rb") as file:
        head = file.read(10)
    if len(head) < 10 or not head.startswith(b"GIF8"):
        raise Unreadable(f"figures/{gif.name} is not a GIF")
    return struct.unpack("<HH", head[6:])


def width_of(svg: str) -> int:
    """The width of a figure in CSS pixels, of which 96 are an inch; that of a wide page if the file does not say it.

    >>> width_of('<svg width="72pt" height="36pt">'), width_of("<svg>")
    (96, 1200)
    """
    found = re.search(r'<svg\b[^<>]{0,2000}?\bwidth="(\d{1,5}(?:\.\d{1,20})?)pt"', svg)
    return round(float(found[1]) * 96 / 72) if found else PAGE


def words_in(svg: str) -> str:
    """The labels and titles of a figure, the most frequent first: those of the axes.

    Matplotlib draws text as curves and keeps the text itself in a comment next to them.

    >>> words_in("<!-- p = 1 --><!-- 0.5 --><!-- epoch --><!-- p = 2 --><!-- epoch -->")
    'epoch; p = 1; p = 2'
    """
    texts = (
        text for text in re.findall(r"<!-- ([^<>\n]{1,1000}?) -->", svg) if "mathdefault" not in text
    )  # powers on an axis
    labels = Counter(unescape(text) for text in texts if re.search(r"[^\W\d_]", text))
    words = ""
    for text, _ in labels.most_common():
        if len(words) + len(text) > LONGEST:
            return f"{words} …"
        words = f"{words}; {text}" if words else text
    return words
