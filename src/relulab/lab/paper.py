"""The documents that ids point to: the tag in front of an id, and how to cite them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """A document. ``tag`` is what its ids begin with, ``bibtex`` an entry for a bibliography."""

    tag: str
    title: str
    reference: str
    bibtex: str = ""


def paper_of(id: str) -> str:
    """The tag of an id.

    >>> paper_of("SS.F7.strong-first")
    'SS'
    """
    return id.partition(".")[0]
