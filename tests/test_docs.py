"""The Python in the README and in the docs runs as it stands, page by page."""

import re
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_on_a_page_runs(page, capsys):
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    assert blocks, f"{page.name} shows no Python"
    torch.manual_seed(0)
    names: dict = {}
    for block in blocks:
        exec(compile(block, page.name, "exec"), names)
    assert capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_pictures_are_there(page):
    for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert link.startswith("http") or (page.parent / link).exists(), link


def test_the_readme_names_every_verb():
    from relulab.lab.cli import app

    text = (ROOT / "README.md").read_text()
    assert all((command.name or "") in text for command in app.registered_commands)
