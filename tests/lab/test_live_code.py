"""Studies in scripts and notebooks: they run with all engines, and a run is named after the code in memory."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from scripts import DEFINED, NUMBERS, Session

from relulab import Local, UserError, run_study
from relulab.lab.live_code import files_beside
from relulab.lab.run.documents import read_json, write_json
from relulab.lab.run.result_file import read_dataset
from relulab.lab.run.store import Run
from relulab.lab.show.figure import FORMATS
from relulab.lab.show.report import build
from relulab.lab.show.report.finished_run import read_run

RUN = """
torch.set_default_dtype(torch.float64)
for engine in (rl.Local(2), rl.Local(1)):
    print(rl.run_study(Mine.configured("smoke"), runs=f"runs{engine.workers}", engine=engine)["run"])
"""


LIGHT = """
import sys
from relulab.lab.live_code import live_digests

class Mine:
    def measure(self):
        return [1, 2.5, sys]

before = live_digests(Mine)
assert not {"torch", "numpy", "xarray"} & set(sys.modules)
import torch, xarray
print(before == live_digests(Mine))
"""


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    """Draw each figure in one format only: these tests do not look at them."""
    monkeypatch.setattr("relulab.lab.run.job.FORMATS", ("svg",))


@pytest.fixture
def session(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    session = Session(monkeypatch)
    session.cell(DEFINED)
    return session


def run(session, workers: int = 1, **options) -> Run:
    summary = run_study(session.Mine.configured("smoke"), engine=Local(workers), **options)
    return Run(Path(summary["run"]))


def numbers(run: Run) -> list[float]:
    return read_dataset(run.path / "result.nc").x.values.tolist()


@pytest.mark.parametrize("given", ["a file", "stdin"])
def test_a_script_without_a_guard_runs_once_and_its_workers_get_its_code(tmp_path, given):
    """Before, a file waited forever for itself, and workers could not import what came from the standard input."""
    text = DEFINED + RUN
    (tmp_path / "script.py").write_text(text)
    words = [sys.executable, *(["script.py"] if given == "a file" else ["-"])]
    done = subprocess.run(words, input=text, cwd=tmp_path, capture_output=True, text=True, timeout=400)
    assert not done.stderr and done.returncode == 0
    first, *paths = done.stdout.splitlines()
    assert first == "the top level runs" and len(paths) == 2
    pooled, alone = (Run(tmp_path / path) for path in paths)
    assert pooled.path.name == alone.path.name and numbers(pooled) == numbers(alone) == NUMBERS
    assert pooled.status["workers"] == 2 and alone.status["workers"] == 1
    for each in (pooled, alone):
        assert set(read_dataset(each.path / "result.nc").bits.values) == {8}, (
            "settings of PyTorch are those of the script"
        )


def test_workers_of_a_notebook_get_its_code_also_after_a_change(session):
    first = run(session)
    session.cell("SCALE = 3.0")
    second = run(session, workers=2)
    assert numbers(first) == NUMBERS and numbers(second) == [0.25, 6.375, 12.25]


CHANGES = {
    "the class": "class Mine(Mine):\n    def measure(self, unit, tick):\n        return 10 * super().measure(unit, 3)",
    "the class again": DEFINED.replace("+ self.offset", "- self.offset"),
    "a base class": "Base.measure = lambda self, unit, tick: None",
    "a function": "def scaled(x):\n    return 7 * x",
    "a function with a cache": "@functools.lru_cache\ndef doubled(x):\n    return 3 * x",
    "a global value": "SCALE = 5.0",
    "a cached property": "Base.offset = functools.cached_property(lambda self: 0.5)",
    "a setting of PyTorch": "torch.set_default_dtype(torch.float64)",
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_a_study_uses_is_part_of_the_name_of_its_run(session, what):
    before = session.Mine.configured("smoke").hash
    try:
        session.cell(CHANGES[what])
        assert session.Mine.configured("smoke").hash != before
    finally:
        import torch

        torch.set_default_dtype(torch.float32)


def test_the_same_code_is_the_same_run(session, monkeypatch):
    first = run(session)
    session.cell("result, seed, offset, other = 1, 2, 3, object()")  # not used, though methods have such attributes
    session.cell(f"\n\n# moved down\n{DEFINED}")
    monkeypatch.setattr("relulab.lab.run.runner.completed", lambda *_: pytest.fail("it was not read at once"))
    assert run(session) == first
    with pytest.raises(pytest.fail.Exception):
        run(session, redraw=True)


def test_the_name_of_a_run_needs_no_torch_and_does_not_depend_on_it():
    """A script that does not import PyTorch gets the answer of a finished run without the seconds that this takes."""
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, timeout=300)
    assert done.stdout == "True\n", done.stderr


def test_a_module_beside_a_notebook_that_was_edited_and_loaded_again(session, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "deep_helper.py").write_text("FACTOR = 2.0\n")
    (tmp_path / "own_helper.py").write_text("import deep_helper\ndef times(x):\n    return deep_helper.FACTOR * x\n")
    session.cell("import own_helper\ndef scaled(x):\n    return own_helper.times(x)")
    study = session.Mine.configured("smoke")
    before = study.hash
    try:
        assert [path.name for path in files_beside("__main__")] == ["deep_helper.py", "own_helper.py"]
        (tmp_path / "deep_helper.py").write_text("FACTOR = 3.00\n")
        importlib.reload(session.own_helper.deep_helper)
        after = study.hash
        assert after != before, "the run would have the name of the earlier code"
        (tmp_path / "own_helper.py").write_text("import deep_helper\ndef times(x):\n    return 0 * x\n")
        importlib.reload(session.own_helper)
        assert len({before, after, study.hash}) == 3
    finally:
        for name in ("own_helper", "deep_helper"):
            sys.modules.pop(name, None)


def test_code_that_cannot_be_compared_is_not_found_again(session, capsys):
    session.cell("rows = (row for row in range(100))\ndef scaled(x):\n    return x + next(rows)")
    runs = [run(session) for _ in range(2)]
    assert runs[0] != runs[1] and numbers(runs[0]) != numbers(runs[1])
    said = " ".join(capsys.readouterr().err.split())
    assert said.count("the class Mine uses a value that cannot be compared with a later one") == 2
    assert "measures all units again" in said
    with pytest.raises(UserError, match="generator: make it a field, or create it in measure"):
        session.Mine.configured("smoke").hash  # noqa: B018


def test_code_that_cannot_be_sent_runs_in_this_process(session, capsys):
    session.cell("import threading\nlock = threading.Lock()\ndef scaled(x):\n    with lock:\n        return 4 * x")
    found = run(session, workers=2)
    assert numbers(found) == NUMBERS
    said = " ".join(capsys.readouterr().err.split())
    assert "uses a value that cannot be sent to another process (TypeError: cannot pickle '_thread.lock'" in said
    assert "measured in this process, one after another" in said


def test_an_error_in_a_cell_names_the_cell_and_the_line(session):
    session.cell("def scaled(x):\n    y = x\n    return y / 0")
    with pytest.raises(UserError, match=r"^cell 2, line 3: ZeroDivisionError.*in measure\(\) of the unit seed0"):
        run(session)


def test_the_folder_and_the_report_say_how_to_run_a_study_of_a_notebook_again(session, monkeypatch):
    monkeypatch.setattr("relulab.lab.run.job.FORMATS", FORMATS)
    monkeypatch.setattr(sys, "argv", [""])  # as python < script has it, whatever started the tests
    study = session.Mine.configured("smoke", {"seeds": 2})
    first = run_study(study, engine=Local(1))
    lines = read_json(Path(first["run"]) / "config.json")["lines"]
    assert lines[:2] == ["import relulab as rl", "# Mine is defined in the standard input"]
    command = read_run(Path(first["run"])).command
    session.cell(command.replace("rl.run_study(", "again = rl.run_study("))
    assert session.again == first
    page = build(Path("runs"), Path("report")).parent / "runs" / f"mine-{Path(first['run']).name}.html"
    assert "Copy the lines" in page.read_text() and "relulab run mine" not in page.read_text()


def test_the_folder_says_how_to_run_a_comparison_of_a_notebook_again(session):
    session.cell("class Mine(Mine):\n    factor: float = 1.0")
    first = run_study(session.Mine.configured("smoke", {"factor": [1.0, 2.0]}), engine=Local(1))
    lines = read_json(Path(first["run"]) / "config.json")["lines"]
    assert lines[2].startswith("rl.run_study(Mine.configured(") and "'factor': [1.0, 2.0]" in lines[2]
    session.cell("\n".join(lines).replace("rl.run_study(", "again = rl.run_study("))
    assert session.again == first


def test_the_folder_says_how_to_run_a_study_of_a_module_again(session, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "importable.py").write_text(DEFINED)
    session.cell("from importable import Mine")
    try:
        summary = run_study(session.Mine.configured("smoke"), preset="quick", engine=Local(1))
        lines = read_json(Path(summary["run"]) / "config.json")["lines"]
        assert lines[1] == "from importable import Mine"
        session.cell("\n".join(lines).replace("rl.run_study(", "again = rl.run_study("))
        assert session.again == summary and "quick-" in summary["run"]
    finally:
        sys.modules.pop("importable", None)


def test_runs_of_a_notebook_are_found_by_the_name_and_ids_of_the_study(session, here, capsys):
    found = run(session)
    capsys.readouterr()
    for name in ("mine", "XX.F1", "xx.f1", str(found.path)):
        row = json.loads(here("watch", name, "--json")[1])
        assert row["run"] == str(found.path) and row["study"] == "mine" and row["state"] == "finished"
    assert "runs/mine/smoke-" in here("runs")[1]
    code, _, err = here("watch", "mein")
    assert code == 2 and "no study 'mein'" in err
    assert json.loads(here("clean", "mine", "--yes", "--json")[1]) == {"removed": [str(found.path)]}


def test_watching_a_file_does_not_run_it(session, here, tmp_path):
    (tmp_path / "script.py").write_text("raise SystemExit('it ran')\n")
    code, _, err = here("watch", "script.py")
    assert code == 2 and "no run of script.py in the folder runs" in err
    found = run(session)
    write_json(found.path / "config.json", found.about | {"file": "script.py"})
    assert json.loads(here("watch", "./script.py", "--json")[1])["run"] == str(found.path)
