"""What a shell offers when a name is half typed, from the index alone."""

from relulab.lab.index import entries


def _names(incomplete: str, *kinds: str) -> list[str]:
    """Ids and names that begin with what is typed, in any case."""
    known = (name for entry in entries(*kinds) for name in (*entry.ids, entry.name))
    return [name for name in dict.fromkeys(known) if name.lower().startswith(incomplete.lower())]


def all_names(incomplete: str) -> list[str]:
    return _names(incomplete)


def study_names(incomplete: str) -> list[str]:
    return _names(incomplete, "study")


def theorem_names(incomplete: str) -> list[str]:
    return _names(incomplete, "theorem")
