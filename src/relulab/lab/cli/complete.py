"""Shell completion of names and ids, from the index alone."""

from relulab.lab.index import entries


def _names(incomplete: str, *kinds: str) -> list[str]:
    """Return the ids and names that begin with ``incomplete``, ignoring case."""
    names = (name for entry in entries(*kinds) for name in (*entry.ids, entry.name))
    return [name for name in dict.fromkeys(names) if name.lower().startswith(incomplete.lower())]


def all_names(incomplete: str) -> list[str]:
    return _names(incomplete)


def study_names(incomplete: str) -> list[str]:
    return _names(incomplete, "study")


def theorem_names(incomplete: str) -> list[str]:
    return _names(incomplete, "theorem")
