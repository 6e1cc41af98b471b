"""The rules of the house, kept by reading every import: who may know whom."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parent.parent / "src" / "relulab"
FILES = sorted(SRC.rglob("*.py"))
SUBJECTS = ("specialization", "bias", "distillation")


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


def test_foundations_know_no_subject_and_no_lab():
    paths = [p for p in FILES if within(p, "nets", "data", "train")]
    assert len(paths) > 8
    assert not offences(paths, "relulab.lab", *(f"relulab.{s}" for s in SUBJECTS))


@pytest.mark.parametrize("subject", SUBJECTS)
def test_instruments_and_theorems_know_neither_studies_nor_command_line(subject):
    paths = [p for p in FILES if within(p, subject) and not within(p, f"{subject}/studies")]
    assert not offences(paths, "relulab.lab.cli", *(f"relulab.{s}.studies" for s in SUBJECTS))


def test_a_subject_knows_no_other_subjects_studies():
    for subject in SUBJECTS:
        paths = [p for p in FILES if within(p, subject)]
        assert not offences(paths, *(f"relulab.{s}.studies" for s in SUBJECTS if s != subject))


def test_the_report_reads_files_only():
    assert not offences([p for p in FILES if within(p, "lab/report")], "torch", "relulab.lab.catalogue", "relulab.nets")
    code = "import sys, relulab.lab.show.report; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_nothing_unpickles():
    for path in FILES:
        loads = re.findall(r"torch\.load\([^)]*\)", path.read_text())
        assert "pickle" not in imports(path) and all("weights_only=True" in call for call in loads), path


def test_every_public_name_opens():
    import relulab

    assert all(callable(getattr(relulab, name)) for name in relulab.__all__ if name not in SUBJECTS)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        relulab.nonsense  # noqa: B018
