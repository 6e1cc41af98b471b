"""Run folders that somebody else has made: nothing outside is read, written, removed or published."""

import json
import os
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from resealed import resealed

from relulab.core.errors import UserError
from relulab.lab.catalog import find_study
from relulab.lab.run import lock
from relulab.lab.run.engines.local import Local
from relulab.lab.run.result_file import Refused, read_dataset
from relulab.lab.run.runner import run_study
from relulab.lab.run.store import MARKER, Run, is_run, runs_in
from relulab.lab.show.report import build

SECRET = "the contents of another file"


@pytest.fixture
def runs(small_runs, tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret").write_text(SECRET)
    return shutil.copytree(small_runs, tmp_path / "runs")


@pytest.fixture
def run(runs) -> Run:
    return Run(next((runs / "recovery").iterdir()))


def again(run: Run) -> None:
    """Runs the study of a run again, as its owner would."""
    study = find_study("recovery").configured("smoke", json.loads((run.path / "config.json").read_text())["changes"])
    assert Run.of(study, "smoke", run.path.parent.parent).path == run.path
    run_study(study, preset="smoke", runs=run.path.parent.parent, engine=Local(1))


def published(runs: Path, out: Path) -> bytes:
    build(runs, out)
    return b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())


def test_clean_removes_runs_and_nothing_else(runs, run, here):
    weights = Path("runs/my-models/resnet")
    weights.mkdir(parents=True)
    (weights / "config.json").write_text('{"hidden_size": 8}')
    (weights / "model.safetensors").write_text("precious")
    elsewhere = Path(shutil.copytree(run.path.parent, "elsewhere/recovery"))
    Path("runs/linked-study").symlink_to(elsewhere.absolute())
    Path("runs/recovery-order/linked-run").symlink_to(next(elsewhere.iterdir()).absolute())
    assert len(runs_in(Path("runs"))) == 3
    assert here("clean", "--yes")[0] == 0
    assert (weights / "model.safetensors").read_text() == "precious" and not runs_in(Path("runs"))
    assert is_run(next(elsewhere.iterdir())) and next(elsewhere.iterdir()).joinpath("result.nc").exists()
    for path in ("runs/my-models/resnet", "runs/linked-study/" + run.path.name):
        code, _, err = here("clean", path, "--yes")
        assert code == 2 and err.count("\n") == 1
    assert (weights / "config.json").exists() and is_run(next(elsewhere.iterdir()))


def test_a_folder_that_is_no_run_is_not_made_one(run):
    (run.path / MARKER).unlink()
    before = sorted(path.name for path in run.path.iterdir())
    with pytest.raises(UserError, match="is not a run of this version"):
        again(run)
    assert sorted(path.name for path in run.path.iterdir()) == before


@pytest.mark.parametrize("name", ["lock", "log.jsonl"])
@pytest.mark.parametrize("kind", ["link", "second name", "pipe"])
def test_files_that_are_appended_to_are_not_links(run, tmp_path, name, kind):
    path = run.path / name
    path.unlink(missing_ok=True)
    {"link": lambda: path.symlink_to(tmp_path / "secret"), "second name": lambda: os.link(tmp_path / "secret", path),
     "pipe": lambda: os.mkfifo(path)}[kind]()  # fmt: skip
    (run.path / "result.nc").unlink()  # so that there is something to do
    next((run.path / "units").iterdir()).unlink()
    with pytest.raises(Exception, match=r"link|several names|regular"):
        again(run)
    assert (tmp_path / "secret").read_text() == SECRET


def test_nothing_is_made_through_the_link_of_a_study(run, tmp_path):
    (tmp_path / "outside").mkdir()
    changes = json.loads((run.path / "config.json").read_text())["changes"]
    shutil.rmtree(run.path.parent)
    run.path.parent.symlink_to(tmp_path / "outside")
    with pytest.raises(UserError, match="links are not followed"):
        run_study(find_study("recovery").configured("smoke", changes), preset="smoke", runs=run.path.parent.parent)
    assert not [*(tmp_path / "outside").iterdir()]


@pytest.mark.parametrize("name", ["units", "figures", "checkpoints"])
def test_folders_of_a_run_are_not_links(run, tmp_path, name):
    shutil.rmtree(run.path / name, ignore_errors=True)
    (run.path / "result.nc").unlink()  # so that there is something to do
    (tmp_path / "outside").mkdir()
    (run.path / name).symlink_to(tmp_path / "outside")
    with pytest.raises(UserError, match="is a link"):
        again(run)
    assert not [*(tmp_path / "outside").iterdir()]


@pytest.mark.parametrize("name", ["claims.json", "figures/loss.pdf", "figures/loss.svg", "env.json", "result.nc"])
@pytest.mark.parametrize("kind", ["link", "pipe", "endless"])
def test_a_report_publishes_nothing_from_elsewhere(runs, run, tmp_path, name, kind):
    path = run.path / name
    assert path.exists()
    resealed(run.path)
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(tmp_path / "secret" if kind == "link" else "/dev/zero")
    assert SECRET.encode() not in published(runs, tmp_path / "out")
    assert f"<li>{run.path.relative_to(runs)}: " in (tmp_path / "out" / "runs.html").read_text()


def test_a_linked_folder_of_figures_is_not_published(runs, run, tmp_path):
    shutil.move(run.path / "figures", tmp_path / "outside")
    (tmp_path / "outside" / "loss.pdf").write_bytes(b"%PDF-" + SECRET.encode())
    (run.path / "figures").symlink_to(tmp_path / "outside")
    assert SECRET.encode() not in published(runs, tmp_path / "out")


def hostile_results(folder: Path) -> dict[str, Path]:
    """Results that refer to other files, or claim more than they contain."""
    made = {name: folder / f"{name}.nc" for name in ("external", "virtual", "linked", "soft", "huge", "group")}
    with h5py.File(folder / "other.h5", "w") as file:
        file["x"] = np.zeros(3)
    with h5py.File(made["external"], "w") as file:
        external = [(str(folder / "secret"), 0, 16)]
        file.create_dataset("x", (16,), dtype="u1", external=external)
    with h5py.File(made["virtual"], "w") as file:
        layout = h5py.VirtualLayout((3,), "f8")
        layout[:] = h5py.VirtualSource(folder / "other.h5", "x", (3,))
        file.create_virtual_dataset("x", layout)
    with h5py.File(made["linked"], "w") as file:
        file["x"] = h5py.ExternalLink(folder / "other.h5", "x")
    with h5py.File(made["soft"], "w") as file:
        file["x"] = h5py.SoftLink("/x")
    with h5py.File(made["huge"], "w") as file:
        file.create_dataset("x", (10**10,), dtype="f8", chunks=(1000,), fillvalue=1.0)
    with h5py.File(made["group"], "w") as file:
        file["a/b"] = np.zeros(3)
    return made


@pytest.mark.parametrize("name", ["external", "virtual", "linked", "soft", "huge", "group"])
def test_a_result_that_refers_to_other_files_or_claims_too_much_is_refused(runs, run, tmp_path, name):
    path = hostile_results(tmp_path)[name]
    with pytest.raises(Refused):
        read_dataset(path)
    shutil.copy(path, run.path / "result.nc")
    resealed(run.path)
    out = published(runs, tmp_path / "out")
    assert (
        SECRET[:16].encode() not in out
        and f"<li>{run.path.relative_to(runs)}: " in (tmp_path / "out" / "runs.html").read_text()
    )


def test_a_figure_with_a_script_is_not_shown(runs, run, tmp_path):
    path = run.path / "figures" / "loss.svg"
    path.write_text(path.read_text().replace("</svg>", "<script>alert(1)</script></svg>"))
    resealed(run.path)
    assert b"alert(1)" not in published(runs, tmp_path / "out")
    assert "it contains the element script" in (tmp_path / "out" / "runs.html").read_text()


def test_the_lock_names_the_process_only_while_it_works(run):
    with run.held(pytest.fail):
        assert str(os.getpid()) in (run.path / "lock").read_text()
        assert str(os.getpid()) in (run.holder or "")
    assert not (run.path / "lock").read_text()


def test_a_file_system_without_locks_is_said_and_can_be_used(run, monkeypatch):
    def refused(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(lock.fcntl, "flock", refused)
    (run.path / "result.nc").unlink()
    with pytest.raises(UserError, match=r"has no locks .*RELULAB_NO_LOCK=1"):
        again(run)
    monkeypatch.setenv("RELULAB_NO_LOCK", "1")
    again(run)
    assert run.finished
