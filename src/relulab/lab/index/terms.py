"""The terms of a subject with their meanings, and which of them texts use."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module

from relulab.lab.index.problems import leave_out
from relulab.lab.index.subjects import papers_of, subjects
from relulab.lab.outside_code import outside
from relulab.lab.paper import paper_of
from relulab.lab.terms import TERMS

WORD = re.compile(r"(?:[^\W_]|[%×’-]){2,}$")


@cache
def terms(id: str) -> dict[str, str]:
    """Return the terms for an item of a paper: those of the paper's subject, from its ``terms.py``, and general ones.

    Args:
        id: An id, such as "SS.F7". One of an unknown paper has the general terms only.
    """
    for subject in subjects().values():
        if any(paper.tag == paper_of(id) for paper in papers_of(subject)) and (subject.folder / "terms.py").is_file():
            own = _terms(f"{subject.package}.terms")
            taken = {form for key in own for form in forms(key)}
            return own | {key: text for key, text in TERMS.items() if not {*forms(key)} & taken}
    return TERMS


def _terms(module: str) -> dict[str, str]:
    """Return the terms that a module lists; none if it cannot be imported, which is recorded."""
    try:
        listed = getattr(import_module(module), "TERMS", None)
    except (Exception, SystemExit) as error:
        if not outside(module):
            raise
        leave_out(module, error)
        return {}
    if isinstance(listed, dict) and all(isinstance(text, str) for item in listed.items() for text in item):
        return listed
    leave_out(module, f"is left out: expected TERMS = {{term: meaning, …}}, got {repr(listed)[:100]}")
    return {}


def forms(key: str) -> tuple[str, ...]:
    """Return the forms of a term without its symbols.

    >>> forms("polarity p, polarized")
    ('polarity', 'polarized')
    """
    return tuple(" ".join(word for word in form.split() if WORD.match(word)) for form in key.split(", "))


def used_terms(id: str, texts: Iterable[str]) -> dict[str, str]:
    """Return the terms that texts use, each in its first form, in the order of the subject.

    Args:
        id: The id of what the texts are about.
        texts: The texts.

    >>> list(used_terms("SS.F7", ["A teacher with a large polarity"]))
    ['teacher', 'polarity p']
    """
    pattern, keys = _pattern(id)
    found = {keys[match.lastindex - 1] for text in texts for match in pattern.finditer(text) if match.lastindex}
    return {key.partition(", ")[0]: text for key, text in terms(id).items() if key in found}


@cache
def _pattern(id: str) -> tuple[re.Pattern[str], list[str]]:
    """Return a pattern with one group per form, long forms first, and the term of each group."""
    pairs = sorted(((form, key) for key in terms(id) for form in forms(key)), key=lambda pair: -len(pair[0]))
    groups = "|".join(f"({_written(form)})" for form, _ in pairs)
    return re.compile(rf"(?<![\w-])(?:{groups})(?![\w-])", re.IGNORECASE), [key for _, key in pairs]


def _written(form: str) -> str:
    """Return a pattern for a form and its plural; 5× also stands for 10×."""
    return r"\d+×" if form.endswith("×") else rf"{re.escape(form)}(?:s|es|d|ed)?"


def meanings(id: str, symbols: Mapping[str, str], texts: Iterable[str]) -> dict[str, str]:
    """Return the given symbols and all terms that texts use, with their meanings.

    Args:
        id: The id of what the texts are about.
        symbols: Symbols and terms with their meanings, which take precedence.
        texts: The texts; those of the symbols are added.
    """
    given = {form.lower() for key in symbols for form in forms(key)}
    used = used_terms(id, [*texts, *symbols.values()])
    return {**symbols, **{term: text for term, text in used.items() if not given & {*forms(term)}}}
