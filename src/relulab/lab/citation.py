"""Citations as BibTeX: the paper behind a result, and relulab itself."""

from importlib.metadata import version

from relulab.core.errors import UserError
from relulab.lab.index import entry, papers
from relulab.lab.paper import Paper, paper_of

YEAR = 2026


def cited(wanted: str) -> list[Paper]:
    """Return the papers behind an item.

    Args:
        wanted: The name or id of an item, or the tag of a paper, such as ``"SS"``.
    """
    known = papers()
    tags = {tag.lower(): tag for tag in known}
    if wanted.lower() in tags:
        return [known[tags[wanted.lower()]]]
    ids = entry(wanted).ids
    tag = paper_of(wanted.upper())
    wanted_tags = [tag] if tag in known else dict.fromkeys(paper_of(id) for id in ids)
    cited_papers = [known[tag] for tag in wanted_tags if tag in known]
    if not cited_papers:
        raise UserError(f"{wanted} does not come from a paper: cite a paper directly, one of {', '.join(known)}")
    return cited_papers


def software() -> str:
    """Return the BibTeX entry of relulab itself."""
    number = version("relulab")
    return f"""@software{{relulab,
  author  = {{{{The relulab contributors}}}},
  title   = {{relulab: a laboratory for what {{ReLU}} networks learn}},
  version = {{{number}}},
  year    = {{{YEAR}}}
}}"""
