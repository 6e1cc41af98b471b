"""The README and the docs do as they say: their Python runs, the tutorial's commands too, and the reference builds."""

import json
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch

import relulab
from relulab.lab.cli import build, main
from relulab.lab.index import entries, subjects

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
ELSEWHERE = ("index.md", "glossary.md", "two-checkpoints.md")  # without code, or with a test of its own
COMMANDS = {  # pages whose commands are run, too, and the options that make them small
    "tutorial.md": "",
    "own-study.md": "--workers 1 --set seeds=2 --set epochs=2",
    "hypotheses.md": "--workers 1 --preset smoke",
    "smaller-networks.md": "",
}


def run(page: Path, *languages: str, monkeypatch, options: str = "") -> int:
    """Runs the blocks of a page in order, in the folder that the test is in; gives their number.

    A block whose first line names a file is also that file, which later blocks may import. ``options`` are added to the
    commands that run a study.
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
            words = shlex.split(line, comments=True)
            monkeypatch.setattr(sys, "argv", [*words, *(shlex.split(options) if "run" in words else [])])
            with pytest.raises(SystemExit) as end:
                main()
            assert not end.value.code, line
    return len(blocks)


@pytest.mark.parametrize("page", [p for p in PAGES if p.name not in ELSEWHERE], ids=lambda page: page.name)
def test_python_on_a_page_runs(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    languages = ("python", "sh") if page.name in COMMANDS else ("python",)
    options = COMMANDS.get(page.name, "")
    assert run(page, *languages, monkeypatch=monkeypatch, options=options), f"{page.name} shows no Python"
    assert capsys.readouterr().out


def test_twelve_units_do_the_work_of_32(capsys, tmp_path, monkeypatch):
    """What the page of the engineer says comes out, whatever the last digits are."""
    monkeypatch.chdir(tmp_path)
    run(ROOT / "docs" / "two-checkpoints.md", "python", "sh", monkeypatch=monkeypatch)
    out = capsys.readouterr().out
    found = re.search(r"(\d+) units do the work of 32; predictions agree on ([\d.]+)%", out)
    assert found and found[1] == "12" and float(found[2]) > 99
    agree = [float(share) for share in re.findall(r"predictions that agree +([\d.]+)%", out)]
    assert len(agree) == 2 and min(agree) > 99 and re.search(r"nodes kept +12 of 32", out)


def test_a_command_that_fails_would_be_noticed(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    page.write_text("```sh\nrelulab run SS.F77\n```\n")
    with pytest.raises(AssertionError, match=r"SS\.F77"):
        run(page, "sh", monkeypatch=monkeypatch)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_pictures_are_there(page):
    for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        generated = link in ("gallery.md", "measurements.md") or link.startswith(("theorems/", "api/"))
        assert link.startswith("http") or generated or (page.parent / link).exists(), link


def test_the_readme_names_every_verb_and_every_page():
    text = (ROOT / "README.md").read_text()
    app = build()
    verbs = [*app.registered_commands, *app.registered_groups]
    missing = [verb.name for verb in verbs if not re.search(rf"relulab {verb.name}\b|make {verb.name}\b", text)]
    missing += [page.name for page in PAGES[1:] if f"{page.relative_to(ROOT)})" not in text]
    assert not missing


class Page(HTMLParser):
    """Ids, links and formulas of a page, and its running text without code."""

    def __init__(self, text: str):
        super().__init__()
        self.ids, self.links, self.sources, self.text, self.formulas = set(), set(), set(), "", []
        self.inside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.ids.add(attributes.get("id"))
        if tag == "a":
            self.links.add(attributes.get("href", ""))
        elif tag in ("img", "script", "link"):
            self.sources.add(attributes.get("src") or attributes.get("href") or "")
        if tag == "math":
            self.formulas.append("")
        if tag in ("math", "pre", "code", "script", "style", "dt", "strong"):  # strong: names of parameters
            self.inside.append(tag)

    def handle_endtag(self, tag):
        if self.inside and tag == self.inside[-1]:
            self.inside.pop()

    def handle_data(self, data):
        if "math" in self.inside:
            self.formulas[-1] += data
        elif not self.inside:
            self.text += data


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> dict[Path, Page]:
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, ROOT / "docs" / "build" / "site.py", folder], capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    return {path: Page(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")}


def test_every_public_name_is_on_some_page(site):
    ids = set().union(*(page.ids for page in site.values()))
    names = [f"relulab.{name}" for name in relulab.__all__ if name not in subjects()]
    names += [f"relulab.{subject}.{name}" for subject in subjects() for name in getattr(relulab, subject).__all__]
    assert len(names) > 100 and [name for name in names if name not in ids] == []


def test_every_theorem_and_measurement_has_its_place_and_every_study_its_figure(site):
    pages = {path.name: page for path, page in site.items()}
    assert [entry.ids[0] for entry in entries("theorem") if f"{entry.ids[0]}.html" not in pages] == []
    gallery = pages["gallery.html"]
    names = {entry.name for entry in entries("study")}
    stored = {study["study"] for study in json.loads((ROOT / "docs" / "results" / "studies.json").read_text())}
    assert stored == names and [name for name in names if name not in str(gallery.sources)] == []
    measured = pages["measurements.html"].ids
    assert [entry.name for entry in entries("measurement") if entry.name not in measured] == []


def test_formulas_are_set_and_none_is_left_as_text(site):
    formulas = [formula for page in site.values() for formula in page.formulas]
    assert len(formulas) > 500 and all(formula.strip() for formula in formulas)
    for path, page in site.items():
        assert re.findall(r"‖|(?<!\w)[A-Za-zα-ω]\*?_[a-z{]\b|\^[({]|ᵀ", page.text) == [], path


def test_the_site_needs_no_network_and_its_links_lead_somewhere(site):
    for path, page in site.items():
        assert not [source for source in page.sources if "//" in source], path
        for link in page.links:
            file, _, anchor = link.partition("#")
            if not link or "//" in link or file.endswith((".png", ".gif")):
                continue
            target = (path.parent / file).resolve() if file else path
            assert target.is_file(), f"{path.name}: {link}"
            assert not anchor or target not in site or anchor in site[target].ids, f"{path.name}: {link}"
