"""The documents that ids point to: the tag at the start of an id, and how to cite them."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """A document.

    ``tag`` is what its ids begin with, ``bibtex`` an entry for a bibliography, and ``items`` its theorems and figures,
    without the tag, in the order in which they are printed.
    """

    tag: str
    title: str
    reference: str
    bibtex: str = ""
    items: str = ""

    def place(self, id: str) -> tuple:
        """Where an item is printed: a key to sort by. Items that are not listed come last, in natural order.

        Args:
            id: An id of this paper, or of a part of one of its items.

        >>> paper = Paper("XY", "", "", items="L1 T1 F10")
        >>> sorted(["XY.F10", "XY.F2", "XY.T1.sim", "XY.T1"], key=paper.place)
        ['XY.T1', 'XY.T1.sim', 'XY.F10', 'XY.F2']
        """
        item, items = id.partition(".")[2], self.items.split()
        first = item.partition(".")[0]
        return items.index(first) if first in items else len(items), [
            int(part) if part.isdigit() else part for part in re.split(r"(\d+)", item)
        ]


def paper_of(id: str) -> str:
    """Return the tag of an id.

    >>> paper_of("SS.F7.strong-first")
    'SS'
    """
    return id.partition(".")[0]
