"""An external subject package, as in CONTRIBUTING, and a study in a user's own file."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from plug_ins import BLOCKS, CONTRIBUTING, MAIN, STUDY


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    """The package as an installer would lay it out, with its entry point, on the path of a process of its own."""
    root = tmp_path_factory.mktemp("site")
    for name, text in BLOCKS.items():
        if name.endswith(".py"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
    group, line = re.search(r'entry-points\."([\w.]+)"\]\n(.*)', BLOCKS["pyproject.toml"]).groups()
    about = root / "norms_lab-0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: norms-lab\nVersion: 0.1\n")
    (about / "entry_points.txt").write_text(f"[{group}]\n{line.replace(chr(34), '')}\n")
    work = tmp_path_factory.mktemp("work")
    rng = np.random.default_rng(0)
    np.savez(work / "net.npz", W1=rng.normal(size=(4, 6)), W2=rng.normal(size=(6, 2)))
    np.save(work / "x.npy", rng.normal(size=(20, 4)))

    def call(*words: str) -> tuple[int, str, str]:
        env = os.environ | {"PYTHONPATH": str(root)}
        code = "from relulab.lab.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code, *words], env=env, cwd=work, capture_output=True, text=True, timeout=120
        )
        return done.returncode, done.stdout, done.stderr

    return call, work


def test_contributing_counts_its_lines_correctly():
    lines = sum(bool(line.strip()) for text in BLOCKS.values() for line in text.splitlines())
    assert f"complete: {lines} lines in {len(BLOCKS)} files" in CONTRIBUTING.read_text()


def test_an_external_subject_is_listed_and_shown(outside):
    call, _ = outside
    rows = [row for row in json.loads(call("list", "--json")[1]) if row["subject"] == "norms"]
    assert {(row["kind"], row["name"]) for row in rows} == {
        ("study", "half-active"), ("theorem", "triangle"), ("instrument", "lengths"), ("measurement", "longest"),
    }  # fmt: skip
    assert "norms: Norms of vectors (XX)" in call("list", "norms")[1]
    assert json.loads(call("show", "XX.F1", "--json")[1])["fields"]["points"] == 20_000
    assert "--set second=1" in json.loads(call("show", "triangle", "--json")[1])["on files"]
    assert call("cite", "XX.T1")[1].startswith("@misc{norms2026")


def test_an_external_subject_runs_checks_measures_and_reports(outside):
    call, work = outside
    code, out, err = call("run", "XX.F1", "--preset", "quick", "--workers", "2", "--json")
    assert code == 0, err
    assert [c["id"] for c in json.loads(out)["claims"]] == ["XX.F1.half"]
    code, out, err = call("check", "XX.T1", "--json")
    assert code == 0 and [d["verdict"] for d in json.loads(out)["demonstrations"]] == [
        "HOLDS", "NOT_APPLICABLE", "REFUTED",
    ]  # fmt: skip
    code, out, err = call("check", "triangle", "--network", "net.npz", "--data", "x.npy", "--set", "second=3", "--json")
    assert (code, json.loads(out)["verdict"]) == (0, "HOLDS"), err
    code, out, err = call("measure", "longest", "net.npz", "--data", "x.npy", "--shown", "2", "--out", "l.npz")
    assert code == 0 and out.count("point ") == 2 and "l.npz" in out, err
    with np.load(work / "l.npz") as arrays:
        size = arrays["lengths"]
    assert json.loads(call("measure", "longest", "net.npz", "-d", "x.npy", "--json")[1])["longest"][0] == size.argmax()
    code, out, err = call("report")
    page = "".join((work / "report" / name).read_text() for name in ("index.html", "claims.html"))
    assert code == 0 and "On Norms" in page and "XX.F1.half" in page and "Triangle inequality" in page, err


def test_a_broken_external_file_does_not_hide_other_entries(outside, tmp_path):
    call, work = outside
    site = Path(next(iter(work.parent.glob("site*"))))
    broken = site / "norms_lab" / "studies" / "broken.py"
    broken.write_text("import nowhere\n\nSTUDY = nowhere.Study\n")
    try:
        code, out, err = call("list", "norms")
        assert code == 0 and "half-active" in out and "broken cannot be imported" in err and "nowhere" in err
        code, _, err = call("run", "brokn")
        assert code == 2 and err.count("\n") == 1
    finally:
        broken.unlink()


def test_a_study_in_a_users_own_file(tmp_path):
    (tmp_path / "my_study.py").write_text(STUDY.replace('"half-active"', '"mine"'))
    (tmp_path / "command.py").write_text(MAIN)  # a file, as the installed command is one

    def call(*words: str) -> tuple[int, dict, str]:
        done = subprocess.run(
            [sys.executable, "command.py", *words], cwd=tmp_path,
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr

    words = ("run", "my_study.py", "--preset", "smoke", "--set", "seeds=6", "--workers", "2", "--json")
    code, first, err = call(*words)
    assert code == 0 and first["study"] == "mine", err
    assert (tmp_path / first["run"] / "result.nc").exists()
    code, sent, err = call(*words, "--engine", "dask", "--runs", "elsewhere")
    assert code == 0 and sent["claims"] == first["claims"], err
    # An edit of the code is another run: the old result is not taken for that of the new code.
    (tmp_path / "my_study.py").write_text(STUDY.replace('"half-active"', '"mine"').replace("> 0\n", "> 0.3\n"))
    code, second, _ = call(*words)
    assert second["run"] != first["run"] and second["claims"][0]["measured"] != first["claims"][0]["measured"]
    code = "from relulab.lab.cli import main; main()"
    subprocess.run([sys.executable, "-c", code, "report"], cwd=tmp_path, capture_output=True, timeout=120, check=True)
    page = "".join((tmp_path / "report" / name).read_text() for name in ("index.html", "claims.html"))
    assert "Half of the inputs are active" in page and "XX.F1.half" in page


@pytest.mark.parametrize("text, sentence", [
    ("x = 1 +\n", "bad.py, line 1: SyntaxError"),
    ("import nowhere_at_all\n", "bad.py, line 1: ModuleNotFoundError"),
    ("x = 1\n", "expected one study in bad.py, found 0"),
    ("STUDY = 3\n", "expected STUDY to be a subclass of relulab.Study, got 3"),
    (STUDY + "class Other(HalfActive):\n    pass\ndel STUDY\n", "expected one study in bad.py, found 2"),
])  # fmt: skip
def test_files_without_a_study_are_rejected(here, tmp_path, monkeypatch, text, sentence):
    (tmp_path / "bad.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "bad", raising=False)
    code, out, err = here("run", "bad.py")
    sys.modules.pop("bad", None)
    assert (code, out) == (2, "") and sentence in err and err.count("\n") == 1


@pytest.mark.parametrize("name, sentence", [
    ("missing.py", "no such file: missing.py"), ("json.py", "has the name of another module"),
    ("my-study.py", "rename it to a name of letters"),
])  # fmt: skip
def test_file_names_that_cannot_be_imported_are_rejected(here, tmp_path, name, sentence):
    if name != "missing.py":
        (tmp_path / name).write_text(STUDY)
    code, out, err = here("run", name)
    assert (code, out) == (2, "") and sentence in err and err.count("\n") == 1
