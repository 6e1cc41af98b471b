"""Shell completion of names and ids, from the index alone."""

from relulab.lab.index import entries


def _names(incomplete: str, *kinds: str) -> list[str]:
    """Return the ids and names that begin with ``incomplete``, ignoring case.

    They begin exactly as typed, because shells drop all others; the commands ignore case, too.
    """
    names = (name for entry in entries(*kinds) for name in (*entry.ids, entry.name))
    fitting = (name for name in names if name.lower().startswith(incomplete.lower()))
    return list(dict.fromkeys(incomplete + name[len(incomplete) :] for name in fitting))


def all_names(incomplete: str) -> list[str]:
    return _names(incomplete)


def study_names(incomplete: str) -> list[str]:
    return _names(incomplete, "study")


def theorem_names(incomplete: str) -> list[str]:
    return _names(incomplete, "theorem")
