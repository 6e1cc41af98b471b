"""The rules of the house, kept by reading every import: who may know whom, and where things are."""

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

SRC = Path(__file__).parent.parent / "src" / "relulab"
FILES = sorted(SRC.rglob("*.py"))
SUBJECTS = tuple(sorted(path.parent.name for path in (SRC / "subjects").glob("*/__init__.py")))
FOUNDATIONS = ("core", "io", "nets", "data", "train", "flow")
ROOMS = {"instruments", "theorems", "studies", "measurements", "tools", "flow"}
PARTS = {"study.py", "drawing.py", "claims.py", "measures.py"}  # of a study that is a folder


def imports(path: Path) -> set[str]:
    """Every module of relulab that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return found


def within(path: Path, *folders: str) -> bool:
    return any((SRC / folder) in path.parents for folder in folders)


def offences(paths: list[Path], *forbidden: str) -> list[str]:
    return [f"{p.relative_to(SRC)}: {m}" for p in paths for m in imports(p) if m.startswith(forbidden)]


def test_the_reader_of_imports_sees_one():
    assert "relulab.core.errors.UserError" in imports(SRC / "nets" / "mlp.py")
    assert len(SUBJECTS) >= 3


def test_foundations_know_no_subject_and_no_lab():
    paths = [p for p in FILES if within(p, *FOUNDATIONS)]
    assert len(paths) > 30
    assert not offences(paths, "relulab.lab", "relulab.subjects")


def test_core_knows_nothing_else():
    others = tuple(f"relulab.{name}" for name in (*FOUNDATIONS[1:], "lab", "subjects"))
    assert not offences([p for p in FILES if within(p, "core")], *others)


def test_the_lab_names_no_subject():
    paths = [p for p in FILES if within(p, "lab")]
    assert not offences(paths, *(f"relulab.subjects.{s}" for s in SUBJECTS))
    words = [
        f"{p.relative_to(SRC)}: {s}" for p in paths for s in SUBJECTS if re.search(rf"['\"./]{s}\b", p.read_text())
    ]
    assert not words


@pytest.mark.parametrize("subject", SUBJECTS)
def test_instruments_and_theorems_know_neither_studies_nor_measurements_nor_command_line(subject):
    home = f"subjects/{subject}"
    paths = [p for p in FILES if within(p, *(f"{home}/{room}" for room in ("instruments", "theorems", "tools")))]
    assert paths
    rooms = [f"relulab.subjects.{s}.{room}" for s in SUBJECTS for room in ("studies", "measurements")]
    assert not offences(paths, "relulab.lab.cli", "relulab.lab.run.runner", *rooms)


def test_a_subject_knows_nothing_but_instruments_of_another():
    for subject in SUBJECTS:
        paths = [p for p in FILES if within(p, f"subjects/{subject}")]
        others = [s for s in SUBJECTS if s != subject]
        rooms = [f"relulab.subjects.{s}.{room}" for s in others for room in ROOMS - {"instruments"}]
        assert not offences(paths, *rooms)


def test_every_subject_has_the_same_rooms():
    for subject in SUBJECTS:
        folders = {p.name for p in (SRC / "subjects" / subject).iterdir() if p.is_dir() and p.name != "__pycache__"}
        assert {"instruments", "theorems", "studies", "measurements"} <= folders <= ROOMS, subject
        files = {p.name for p in (SRC / "subjects" / subject).glob("*.py")}
        assert files - {"terms.py"} == {"__init__.py", "papers.py"}, subject


def test_no_two_files_have_one_name():
    names = Counter(p.name for p in FILES if not (p.name in PARTS and p.parent.parent.name == "studies"))
    assert {name for name, count in names.items() if count > 1} == {"__init__.py", "papers.py", "terms.py"}


def test_the_report_reads_files_only():
    report = [p for p in FILES if within(p, "lab/show/report")]
    assert len(report) > 4 and not offences(report, "torch", "relulab.lab.catalog", "relulab.nets")
    code = "import sys, relulab.lab.show.report; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_nothing_unpickles():
    for path in FILES:
        loads = re.findall(r"torch\.load\([^)]*\)", path.read_text())
        assert "pickle" not in imports(path) and all("weights_only=True" in call for call in loads), path


def test_every_public_name_opens():
    import relulab

    assert set(SUBJECTS) <= set(relulab.__all__) and len(relulab.__all__) <= 60
    for door in (relulab, *(getattr(relulab, name) for name in SUBJECTS)):
        assert len(door.__all__) > 10
        assert all(callable(getattr(door, name)) for name in door.__all__ if name not in SUBJECTS)
        with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
            door.nonsense  # noqa: B018


def test_a_name_that_a_door_shows_is_what_its_module_defines():
    """An editor reads the imports in the block of TYPE_CHECKING, a program takes them from ``opened``."""
    import relulab

    tree = ast.parse((SRC / "__init__.py").read_text())
    shown = {name.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names}
    assert shown - {"TYPE_CHECKING", "opened"} == set(relulab.__all__)


def test_tests_mirror_the_tree():
    tests = Path(__file__).parent
    folders = {p.parent.relative_to(tests) for p in tests.rglob("test_*.py")} - {Path(".")}
    assert not [str(folder) for folder in folders if not (SRC / folder).is_dir()]


def test_colors_come_from_one_palette():
    places = [p for p in FILES if re.search(r"#[0-9a-f]{6}\b", p.read_text())]
    assert [str(p.relative_to(SRC)) for p in places] == ["lab/show/figure.py"]


def test_what_has_changed_leads_to_its_tests():
    from changed import tests_of

    changed = ["src/relulab/train/step.py", "README.md", "tests/train/test_step.py", "src/relulab/core/__init__.py"]
    assert tests_of(changed) == ["tests/train/test_step.py"]
