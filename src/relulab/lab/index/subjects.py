"""The subjects, in ``relulab.subjects`` and in packages that register their own, and their papers.

A package registers a subject by an entry point in the group ``relulab.subjects``, whose value is the name of the
subject's package, for example ``my-subject = "my_package.my_subject"``. What is wrong with a subject, or is there
already, is recorded in ``PROBLEMS``, and the other subjects work.
"""

import ast
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

from relulab.lab.index.entry import Subject
from relulab.lab.index.problems import NotWritten, leave_out
from relulab.lab.index.source_code import SourceCode
from relulab.lab.outside_code import described, outside
from relulab.lab.paper import Paper
from relulab.lab.well_formed import is_name

HERE = Path(__file__).parents[2]
GROUP = "relulab.subjects"


@cache
def subjects() -> dict[str, Subject]:
    """Return the subjects by name: those of relulab first, then those of other packages."""
    by_name = {}
    for path in sorted((HERE / "subjects").glob("*/__init__.py")):
        name = path.parent.name
        by_name[name] = _subject(name, f"relulab.subjects.{name}")
    for point in sorted(entry_points(group=GROUP)):
        what = f"the subject {point.name!r} (entry point {point.value!r})"
        try:
            if point.name in by_name:
                raise NotWritten(f"there is a subject of this name already, {by_name[point.name].package}: rename it")
            by_name[point.name] = _subject(point.name, _package(point))
        except NotWritten as reason:
            leave_out(what, f"is left out: {reason}")
    return by_name


def _package(point: EntryPoint) -> str:
    """Return the package that an entry point names; raise NotWritten if it does not name one."""
    if not is_name(point.name):
        raise NotWritten("its name may only have letters, digits, and . _ - +")
    if not all(part.isidentifier() for part in point.value.split(".")):
        raise NotWritten("expected the name of a package alone, such as my_package.my_subject: correct the entry point")
    return point.value


def _subject(name: str, package: str) -> Subject:
    code = SourceCode(package, roots(package))
    title = (ast.get_docstring(code.tree) or name).partition("\n")[0].rstrip(".")
    if code.path.name != "__init__.py":
        raise NotWritten(f"{code.path} is a single file: make it a folder with an __init__.py")
    return Subject(name, package, code.path.parent, title)


@cache
def roots(package: str) -> dict[str, Path]:
    """Return the folders of relulab and of the top-level package of a subject, without importing anything."""
    top = package.partition(".")[0]
    if top == "relulab":
        return {"relulab": HERE}
    try:
        spec = find_spec(top)
    except Exception as error:
        raise NotWritten(f"the package {top} cannot be found: {described(error)}") from None
    if spec is None:
        raise NotWritten(f"the package {top} is not installed: install it, or uninstall what registers it")
    folders = [Path(folder) for folder in spec.submodule_search_locations or () if Path(folder).is_dir()]
    if not folders:
        raise NotWritten(f"{spec.origin} is not a folder of Python files: install the package unpacked, as pip does")
    return {"relulab": HERE, top: folders[0]}


@cache
def papers() -> dict[str, Paper]:
    """Return the papers of all subjects by tag, from the ``papers.py`` of each subject, which is fast to import."""
    by_tag: dict[str, Paper] = {}
    owner: dict[str, str] = {}
    for subject in subjects().values():
        module = f"{subject.package}.papers"
        for paper in papers_of(subject):
            if paper.tag in by_tag:
                leave_out(f"the paper {paper.tag} of {module}", f"is left out: {owner[paper.tag]} has a paper with "
                          "this tag already, choose another tag")  # fmt: skip
            else:
                by_tag[paper.tag], owner[paper.tag] = paper, module
    return by_tag


@cache
def papers_of(subject: Subject) -> tuple[Paper, ...]:
    """Return the papers that a subject lists; none if its ``papers.py`` cannot be imported, which is recorded.

    Args:
        subject: The subject.
    """
    module = f"{subject.package}.papers"
    if not (subject.folder / "papers.py").is_file():
        return ()
    try:
        listed = getattr(import_module(module), "PAPERS", None)
    except (Exception, SystemExit) as error:
        if not outside(module):
            raise
        leave_out(module, error)
        return ()
    if isinstance(listed, tuple | list) and all(isinstance(paper, Paper) for paper in listed):
        return tuple(listed)
    leave_out(module, f"is left out: expected PAPERS = (Paper(…), …), got {repr(listed)[:100]}")
    return ()
