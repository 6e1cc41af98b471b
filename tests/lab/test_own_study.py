"""Studies in a user's own file: the code that is hashed is the code that runs, and errors name the user's line."""

import json
import os
import py_compile
from pathlib import Path

import pytest
import xarray as xr
from plug_ins import STUDY

from relulab import Local, UserError, find_study, run_study
from relulab.lab.own_code import code_of
from relulab.lab.run.engines.packed import opened, packed_study
from relulab.lab.show.report.finished_run import read_run

MEAN = "[active.mean()]"
SMALL = STUDY.replace('"points": 200', '"points": 200, "seeds": 3')


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    """Draw each figure in one format only: these tests do not look at them."""
    monkeypatch.setattr("relulab.lab.run.job.FORMATS", ("svg",))


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes the study of CONTRIBUTING with one text replaced, and returns its file."""
    monkeypatch.chdir(tmp_path)

    def write(old: str = "", new: str = "", name: str = "mine.py", text: str = SMALL) -> Path:
        assert old in text
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text.replace(old, new) if old else text)
        return Path(name)

    return write


def shares(summary: dict) -> list[float]:
    with xr.open_dataset(Path(summary["run"]) / "result.nc") as data:
        return data.share.values.tolist()


def run(path: Path, workers: int = 1) -> dict:
    return run_study(str(path), preset="smoke", engine=Local(workers))


def test_an_edited_file_is_another_run_in_the_same_process(write):
    first = run(write())
    before = find_study("mine.py").configured("smoke")
    second = run(write(MEAN, "[100 * active.mean()]"))
    assert first["run"] != second["run"] and shares(second) == pytest.approx([100 * x for x in shares(first)])
    assert before.hash in first["run"], "a study keeps the code that it was made from"
    assert run(write()) == first and find_study("mine.py") is type(before)


def test_workers_run_the_code_that_was_hashed(write):
    path = write("> 0\n", "> helper.LIMIT\n", text=SMALL.replace("import numpy", "import helper\nimport numpy"))
    Path("helper.py").write_text("LIMIT = 0\n")
    study = find_study(str(path)).configured("smoke")
    write(MEAN, "[1000.0]")  # before the workers start
    Path("helper.py").write_text("raise RuntimeError('this is not the code of the run')\n")
    pooled = run_study(study, preset="smoke", engine=Local(2))
    alone = run_study(study, preset="smoke", runs=Path("alone"), engine=Local(1))
    assert shares(pooled) == shares(alone) and max(shares(pooled)) < 1


def test_a_worker_with_other_code_refuses(write):
    study = find_study(str(write())).configured("smoke")
    with pytest.raises(UserError, match="a worker found other code than the run was started with"):
        opened(packed_study(study, "0123456789"))


def test_compiled_files_are_not_used(write):
    path = write(MEAN, "[active.mean() * 1]")
    py_compile.compile(str(path))
    before = path.stat()
    write(MEAN, "[active.mean() * 3]")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size and max(shares(run(path))) > 1


def test_the_hash_depends_on_the_modules_beside_the_file(write):
    path = write(
        "        tick(", "        import late\n\n        tick(", text="import shared.deep\nimport json\n" + SMALL
    )
    files = {"late.py": "from shared import other\n", "shared/deep.py": "", "shared/other.py": "", "unused.py": ""}
    for name, text in files.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    hashes = [find_study(str(path)).configured("smoke").hash]
    for name, text in files.items():
        Path(name).write_text(f"{text}VALUE = 1\n")
        hashes.append(find_study(str(path)).configured("smoke").hash)
    assert len(set(hashes)) == 4 and hashes[-1] == hashes[-2]  # the last one is not imported
    run(path)


def test_modules_of_the_same_name_in_two_folders(write):
    for folder in ("one", "two"):
        path = write(MEAN, "[float(NUMBER)]", f"{folder}/mine.py", "from helper import NUMBER\n" + SMALL)
        (path.parent / "helper.py").write_text(f"NUMBER = {len(folder + 'x' * (folder == 'two'))}\n")
    studies = [find_study(f"{folder}/mine.py").configured("smoke") for folder in ("one", "two")]
    assert [shares(run_study(study, preset="smoke", engine=Local(1)))[0] for study in studies] == [3, 4]


def test_a_module_that_hides_an_installed_one_is_refused(write):
    Path("xarray.py").write_text("")
    with pytest.raises(UserError, match=r"xarray\.py has the name of another module.*rename"):
        find_study(str(write()))


def line_of(text: str) -> int:
    return next(i for i, line in enumerate(Path("mine.py").read_text().splitlines(), 1) if text in line)


METHODS = {
    "units": "return [Unit(", "measure": "active = rng", "figures": "figure, axes", "claims": "gap = np",
}  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_an_error_in_a_method_names_the_file_and_the_line(write, here, method):
    start = METHODS[method]
    write(start, f"1 / 0\n        {start}")
    code, out, err = here("run", "mine.py", "--preset", "smoke", "--workers", "2" if method == "measure" else "1")
    assert (code, out) == (2, "") and "bug in relulab" not in err
    assert f"relulab: mine.py, line {line_of('1 / 0')}: ZeroDivisionError: division by zero (in {method}()" in err


@pytest.mark.parametrize("old, new, sentence", [
    ("return [Unit(", "return None and [Unit(", "mine.py: units(): expected a value of type list or tuple, got one"),
    ("return [Unit(", "return [3] or [Unit(", "an item of units(): expected a value of type Unit, got one of type int"),
    ('f"seed{seed}"', '"seed"', "3 units have the name 'seed': give each unit a name of its own"),
    ("return xr.Dataset(", "return 3 or xr.Dataset(", "measure(): expected a value of type Dataset, got one"),
    ('{"share": figure}', "figure", "figures(): expected a value of type dict, got one of type Figure"),
    ('{"share": figure}', '{"../../up": figure}', "figure name '../../up' cannot be a file name"),
    ('{"share": figure}', '{"sha/re": figure}', "figure name 'sha/re' cannot be a file name"),
    ('{"share": figure}', '{"share": 3}', "the figure 'share': expected a value of type Figure, got one of type int"),
    ("return [claim(", "return 3 or [claim(", "claims(): expected a value of type list or tuple, got one of type int"),
    ('coords={"seed": [unit.values["seed"]]}', 'coords={"seed": [0]}', "(when the results of all units are joined)"),
    ("    def claims(", "    def claim(", "mine.py, class HalfActive: the method claims() is missing: add it"),
    ('    name: ClassVar = "half-active"\n', "", "mine.py, class HalfActive: name: expected a name of letters"),
    ('    ids: ClassVar = ("XX.F1",)\n', "", "mine.py, class HalfActive: ids: expected a tuple of ids"),
    ("    presets: ClassVar = ", "    other: ClassVar = ", "mine.py, class HalfActive: presets: expected a dictionary"),
    ("STUDY = ", "import sys\n\nsys.exit(0)\nSTUDY = ", "the code calls sys.exit(0) (when the file is imported)"),
    ("        tick(", "        raise SystemExit\n        tick(", "the code calls sys.exit(None) (in measure() of the"),
])  # fmt: skip
def test_what_a_study_lacks_or_returns_is_reported(write, here, tmp_path, old, new, sentence):
    write(old, new)
    code, out, err = here("run", "mine.py", "--preset", "smoke", "--workers", "1")
    assert (code, out) == (2, "") and sentence in err and "bug in relulab" not in err
    assert not list(tmp_path.rglob("*up*")) and not list(tmp_path.rglob("sha"))
    if "units()" in sentence or "units have" in sentence:
        assert not (tmp_path / "runs").exists(), "nothing is written before the units are known to be right"


def test_a_script_that_runs_its_study_is_not_imported_by_its_own_workers(write, here):
    write("STUDY = HalfActive", "import relulab\n\nrelulab.run_study(HalfActive.configured('smoke'))")
    code, out, err = here("run", "mine.py", "--preset", "smoke")
    assert (code, out) == (2, "") and not Path("runs").exists()
    assert err == (
        "relulab: mine.py calls run_study() when it is imported: run it as a script with python, or put the call under "
        'if __name__ == "__main__":\n'
    )
    assert run(write("STUDY = HalfActive", ""))["study"] == "half-active", "the next file is not affected"


def test_the_report_names_the_file(write):
    summary = run(write(name="studies of mine/mine.py"))
    assert json.loads((Path(summary["run"]) / "config.json").read_text())["file"] == "studies of mine/mine.py"
    assert read_run(Path(summary["run"])).command == "relulab run 'studies of mine/mine.py' --preset smoke"


def test_a_class_made_by_a_call_does_not_count_pythons_own_files_as_its_code():
    """It takes the module of the code that makes it, here abc, whose folder is Python's library."""
    assert code_of("abc") is None
