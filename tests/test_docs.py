"""The README and the docs do as they say: their Python runs, the tutorial's commands too, and the reference builds."""

import importlib.util
import re
import shlex
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch

import relulab
from relulab.lab.cli import build, main
from relulab.lab.index import subjects

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def run(page: Path, *languages: str, monkeypatch) -> int:
    """Runs the blocks of a page in order, in the folder that the test is in; gives their number.

    A block whose first line names a file is also that file, which later blocks may import.
    """
    monkeypatch.syspath_prepend(Path.cwd())
    blocks = re.findall(rf"```({'|'.join(languages)})\n(.*?)```", page.read_text(), re.DOTALL)
    torch.manual_seed(0)
    names: dict = {"__name__": "page"}
    for language, block in blocks:
        if language == "python":
            if named := re.match(r"# ([\w/]+\.py)\n", block):
                Path(named[1]).parent.mkdir(parents=True, exist_ok=True)
                Path(named[1]).write_text(block)
            exec(compile(block, page.name, "exec"), names)
            continue
        for line in block.splitlines():
            monkeypatch.setattr(sys, "argv", shlex.split(line, comments=True))
            with pytest.raises(SystemExit) as end:
                main()
            assert not end.value.code, line
    return len(blocks)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_on_a_page_runs(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    languages = ("python", "sh") if page.name == "tutorial.md" else ("python",)
    assert run(page, *languages, monkeypatch=monkeypatch), f"{page.name} shows no Python"
    assert capsys.readouterr().out


def test_a_command_that_fails_would_be_noticed(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    page.write_text("```sh\nrelulab run SS.F77\n```\n")
    with pytest.raises(AssertionError, match=r"SS\.F77"):
        run(page, "sh", monkeypatch=monkeypatch)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_pictures_are_there(page):
    for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert link.startswith("http") or (page.parent / link).exists(), link


def test_the_readme_names_every_verb_and_every_page():
    text = (ROOT / "README.md").read_text()
    app = build()
    verbs = [*app.registered_commands, *app.registered_groups]
    missing = [verb.name for verb in verbs if not re.search(rf"relulab {verb.name}\b|make {verb.name}\b", text)]
    missing += [page.name for page in PAGES[1:] if f"{page.relative_to(ROOT)})" not in text]
    assert not missing


class Ids(HTMLParser):
    """The ids on a page, with the documentation that follows each."""

    def __init__(self, text: str):
        super().__init__()
        self.docs, self.last = {}, ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag == "section" and "id" in attributes:
            self.last = attributes["id"]
        elif attributes.get("class", "").startswith("docstring"):
            self.docs.setdefault(self.last, True)


def test_the_reference_builds_and_has_every_public_name_with_its_docstring(tmp_path):
    spec = importlib.util.spec_from_file_location("build", ROOT / "docs" / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = module.build(tmp_path)
    doors = {page: relulab} | {
        tmp_path / "relulab" / "subjects" / f"{name}.html": getattr(relulab, name) for name in subjects()
    }
    for page, door in doors.items():
        documented = Ids(page.read_text()).docs
        assert not [name for name in door.__all__ if name not in documented and name not in subjects()], page
