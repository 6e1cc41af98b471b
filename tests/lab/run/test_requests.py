"""Finished runs answer at once, without importing the study, and never with the result of other code."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from plug_ins import plug_in

from relulab import Local, UserError, run_study
from relulab.lab.live_code import PackageCode
from relulab.lab.run import requests
from relulab.lab.run.documents import read_json, write_json
from relulab.lab.run.requests import FILE, requested
from relulab.lab.run.store import Run

CHANGES = ["seeds=2", "steps=5", "over=1"]
AGAIN = """
import sys
import relulab as rl
from relulab.lab.cli import main

sys.argv = ["relulab", "run", "S0.F11", "--preset", "smoke", "--json", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    print("#", end.code, *({"torch", "numpy", "xarray", "matplotlib", "dask"} & set(sys.modules)))
"""


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """The folder of a finished run that was requested by name on the command line."""
    folder = tmp_path_factory.mktemp("once")
    words = ["run", "SS.F7", "--preset", "smoke", "--workers", "1", *(w for c in CHANGES for w in ("--set", c))]
    with pytest.MonkeyPatch.context() as patch:
        from relulab.lab.cli import main

        patch.chdir(folder)
        patch.setattr(sys, "argv", ["relulab", *words, "--json"])
        patch.setattr("relulab.lab.run.job.FORMATS", ("svg",))
        with pytest.raises(SystemExit):
            main()
    return folder


@pytest.fixture
def run(once) -> Run:
    return Run(next((once / "runs").glob("*/smoke-*")))


def answered(once, *changes: str, preset: str = "smoke", device: str = "cpu") -> Run | None:
    return requested("recovery", preset, None, changes or CHANGES).answered(once / "runs", device)


def test_the_same_command_imports_nothing_slow(once, run):
    words = [word for change in reversed(CHANGES) for word in ("--set", change)]
    done = subprocess.run([sys.executable, "-c", AGAIN, *words], cwd=once, capture_output=True, text=True, timeout=300)
    document, _, end = done.stdout.rpartition("#")
    assert end.split() == ["0"] and not done.stderr
    assert json.loads(document) == run.summary | {"run": str(run.path.relative_to(once))}


def test_another_request_is_not_answered(once, run):
    assert answered(once) == run
    assert answered(once, *CHANGES[:2]) is None and answered(once, *CHANGES, "root=1") is None
    assert answered(once, preset="quick") is None and answered(once, device="cuda") is None


@pytest.mark.parametrize("name", ["claims.json", "result.nc", "env.json", "status.json", FILE])
def test_a_damaged_run_is_not_an_answer(once, run, name):
    content = (run.path / name).read_bytes()
    try:
        (run.path / name).write_bytes(content[: len(content) // 2])
        assert answered(once) is None
    finally:
        (run.path / name).write_bytes(content)
    assert answered(once) == run


def test_a_run_in_use_or_of_another_layout_is_not_an_answer(once, run):
    with run.held(pytest.fail):
        assert answered(once) is None
    about = read_json(run.path / "config.json")
    try:
        write_json(run.path / "config.json", about | {"schema": 0})
        assert answered(once) is None
    finally:
        write_json(run.path / "config.json", about)


def test_other_code_is_not_answered(once, run, monkeypatch):
    """Whatever changes in relulab or around it, the study itself decides which run it is."""
    code = requests.package_code(Path(requests.__file__).parents[2])
    monkeypatch.setattr(requests, "package_code", lambda folder: PackageCode("other", code.changed))
    assert answered(once) is None
    monkeypatch.setattr(requests, "package_code", lambda folder: PackageCode(code.digest, requests.START + 1))
    assert requested("SS.F7", "smoke").key is None, "code that was edited since this process started"
    monkeypatch.setattr(requests, "package_code", lambda folder: code)
    assert answered(once) == run
    for name, other in (("_installed", lambda: ["torch-9.dist-info"]), ("platform", None)):
        with monkeypatch.context() as patch:
            patch.setattr(requests, name, other) if other else patch.setattr("platform.python_version", lambda: "3.99")
            assert answered(once) is None
    assert answered(once) == run


def test_python_gets_the_same_answer(once, run, monkeypatch):
    monkeypatch.chdir(once)
    monkeypatch.setattr("relulab.lab.catalog.find_study", lambda id: pytest.fail("the study was imported"))
    request = requested("SS.F7", "smoke")
    request.remember(Run(Path("runs") / "recovery" / run.path.name))
    try:
        assert run_study("SS.F7", preset="smoke")["claims"] == run.summary["claims"]
        with pytest.raises(pytest.fail.Exception):
            run_study("SS.F7", preset="smoke", redraw=True)
        with pytest.raises(pytest.fail.Exception):
            run_study("SS.F7", preset="smoke", engine=Local(1, device="cuda"))
    finally:
        write_json(run.path / FILE, read_json(run.path / FILE)[:-1])
    with pytest.raises(UserError, match="recovery has no preset 'quik': did you mean 'quick'"):
        run_study("SS.F7", preset="quik")


def test_an_edited_package_makes_other_requests(tmp_path):
    """Fields, defaults and versions of a study may also come from other files of its package."""
    plug_in(tmp_path, "keyed")
    code = "from relulab.lab.run.requests import requested as r; print(r('half-keyed', 'smoke').key)"
    study = tmp_path / "keyed" / "studies" / "half_active.py"

    def key() -> str:
        paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
        words = [sys.executable, "-c", code]
        return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300).stdout.strip()

    keys = [key(), key()]
    study.write_text(study.read_text().replace("class HalfActive", "VERSION = 2\n\n\nclass HalfActive"))
    keys.append(key())
    (tmp_path / "keyed" / "other.py").write_text("")
    keys.append(key())
    assert keys[0] == keys[1] and len(set(keys)) == 3 and all(len(each) == 64 for each in keys)
    study.write_text(study.read_text().replace("seeds: ", "seeds: int = int('3')\n    other: ", 1))
    assert key() == "None", "a computed default may depend on anything"
