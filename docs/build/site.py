"""Builds the documentation: python docs/build/site.py [FOLDER]. Neither building nor reading it needs a network.

The pages of docs/ and the generated ones are laid out in a temporary folder, their formulas marked, and Sphinx makes a
site of them. Warnings, such as a link that leads nowhere, are errors.
"""

import re
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from generated_pages import generated_pages
from marked_formulas import marked
from sphinx.cmd.build import build_main

HERE = Path(__file__).parent
DOCS = HERE.parent
CONTENTS = {
    "Start": ["tutorial", "glossary"],
    "Guides": [
        "hypotheses",
        "own-study",
        "training",
        "two-checkpoints",
        "smaller-networks",
        "networks",
        "runs",
        "security",
        "measurements",
    ],
    "Subjects": ["specialization", "two-layer", "luck-matters", "batch-norm", "bias", "distillation"],
    "Results": ["gallery", "theorems/index"],
    "Python API": [],
}


def build(folder: Path) -> Path:
    """Writes the site below ``folder``; returns its first page.

    Args:
        folder: Where the site goes.
    """
    with TemporaryDirectory() as temporary:
        source = Path(temporary)
        lay_out(source)
        code = build_main(["-q", "-W", "--keep-going", "-b", "html", "-c", str(HERE), str(source), str(folder)])
    if code:
        raise SystemExit(code)
    return folder / "index.html"


def lay_out(source: Path) -> None:
    """Puts all pages and pictures into a folder, as Sphinx wants them."""
    for name in ("figures", "results"):
        shutil.copytree(DOCS / name, source / name, ignore=shutil.ignore_patterns("*.json"))
    generated = generated_pages()
    pages = {path.name: path.read_text(encoding="utf-8") for path in DOCS.glob("*.md")} | generated
    contents = CONTENTS | {"Python API": [name.removesuffix(".md") for name in generated if name.startswith("api/")]}
    pages["index.md"] += "\n".join(_tree(title, names) for title, names in contents.items())
    for name, text in pages.items():
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_for_sphinx(text, generated=name.startswith("api/")), encoding="utf-8")


def _tree(title: str, names: list[str]) -> str:
    return "\n".join(["", "```{toctree}", ":hidden:", f":caption: {title}", "", *names, "```"])


def _for_sphinx(text: str, generated: bool) -> str:
    text = text if generated else marked(text)
    text = re.sub(r"^```math$", "```{math}", text, flags=re.MULTILINE)
    # Files outside of the docs are not part of the site.
    return re.sub(r"\[([^\]]+)\]\(\.\./[^)]+\)", r"\1", text)


if __name__ == "__main__":
    print(build(Path(sys.argv[1] if len(sys.argv) > 1 else "site")))
