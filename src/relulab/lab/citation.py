"""How to cite a result: the paper that it re-runs, and the software that ran it, as BibTeX."""

from importlib.metadata import version

from relulab.core.errors import UserError, nearest
from relulab.lab.index import entry, papers
from relulab.lab.paper import Paper, paper_of

YEAR = 2026


def cited(wanted: str) -> list[Paper]:
    """The papers behind a name or an id, or behind the tag of a paper."""
    known = papers()
    tags = {tag.lower(): tag for tag in known}
    if wanted.lower() in tags:
        return [known[tags[wanted.lower()]]]
    found = entry(wanted)
    one = paper_of(wanted.upper())
    wanted_tags = [one] if one in known else dict.fromkeys(paper_of(id) for id in found.ids)
    chosen = [known[tag] for tag in wanted_tags if tag in known]
    if not chosen:
        raise UserError(f"{wanted} belongs to no paper; papers: {nearest('', known).removeprefix('known are ')}")
    return chosen


def software() -> str:
    """An entry for relulab itself."""
    number = version("relulab")
    return f"""@software{{relulab,
  author  = {{{{The relulab contributors}}}},
  title   = {{relulab: a laboratory for what {{ReLU}} networks learn}},
  version = {{{number}}},
  year    = {{{YEAR}}}
}}"""
