"""Packages like the one in CONTRIBUTING, each with some lines changed, for tests of what plug-ins may do wrong."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

CONTRIBUTING = Path(__file__).parents[1] / "CONTRIBUTING.md"
BLOCKS = dict(
    re.findall(r"```(?:python|toml)\n# ([\w./]+\.(?:py|toml))\n(.*?)```", CONTRIBUTING.read_text(), re.DOTALL)
)
FILES = {name.removeprefix("norms_lab/"): text for name, text in BLOCKS.items() if name.endswith(".py")}
STUDY = FILES["studies/half_active.py"]
MAIN = "from relulab.lab.cli import main; main()"


def plug_in(site: Path, name: str, edits=(), *, more=None, without=(), point: str | None = None, tag="") -> None:
    """Write a package as an installer would, with names and ids that no other package of the site has.

    Args:
        site: The folder for the package, which goes on the path.
        name: The name of the package and of its subject.
        edits: Triples of a file, a text in it, and its replacement.
        more: Contents of further files, or other contents of files, by path in the package; None for a folder.
        without: Files to leave out.
        point: The value of the entry point, if it is not the package.
        tag: The tag of the paper; by default the name in capitals, with 0 for _.
    """
    tag = tag or name.upper().replace("_", "0")
    files = {file: _renamed(text, name, tag) for file, text in FILES.items()}
    for file, old, new in edits:
        old, new = _renamed(old, name, tag), _renamed(new, name, tag)
        assert old in files[file], (name, file, old)
        files[file] = files[file].replace(old, new)
    files |= more or {}
    for file, text in files.items():
        path = site / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        if file not in without:
            path.mkdir() if text is None else path.write_bytes(text if isinstance(text, bytes) else text.encode())
    registered(site, name, point or name)


def registered(site: Path, name: str, point: str, subject: str = "") -> None:
    """Register a subject: the part of an installed package that relulab looks for."""
    about = site / f"{name}-0.1.dist-info"
    about.mkdir(exist_ok=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
    (about / "entry_points.txt").write_text(f"[relulab.subjects]\n{subject or name} = {point}\n")


def _renamed(text: str, name: str, tag: str) -> str:
    text = text.replace("norms_lab", name).replace("XX", tag)
    text = text.replace('"half-active"', f'"half-{name}"').replace('"longest"\n', f'"longest-{name}"\n')
    text = re.sub(r"\btriangle\(", f"triangle_{name}(", text).replace("check=triangle", f"check=triangle_{name}")
    return re.sub(r"\blengths\(", f"lengths_{name}(", text).replace("import lengths", f"import lengths_{name}")


def caller(site: Path, work: Path) -> Callable[..., tuple[int, str, str]]:
    """Return a function that calls the command line in a process of its own, with the site's packages installed."""

    path = os.pathsep.join(filter(None, (str(site), str(site / "zipped.zip"), os.environ.get("PYTHONPATH"))))

    def call(*words: str, code: str = MAIN) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-c", code, *words], cwd=work, env=os.environ | {"PYTHONPATH": path},
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    return call
