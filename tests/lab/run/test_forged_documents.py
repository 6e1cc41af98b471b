"""Documents of a run that fit their manifest but not what relulab writes: each command answers or says one sentence."""

import json
import os
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from resealed import resealed

from relulab.core.errors import UserError
from relulab.lab.run.manifest import FILE, _own, damages, listed
from relulab.lab.run.store import Run
from relulab.lab.run.unit_file import Damaged, decode_unit, encode_unit

RED, TITLE, TURN = "\x1b[31m", "\x1b]0;owned\x07", "\u202e\x9b"


@pytest.fixture
def run(small_runs, tmp_path, monkeypatch) -> Run:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(small_runs, tmp_path / "runs")
    return Run(next(Path("runs/recovery").iterdir()))


def change(path: Path, **values) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def plain(text: str) -> bool:
    return all(c.isprintable() or c in "\n\t" for c in text)


FORGED = {
    "no files": lambda content: content.pop("files"),
    "a list": lambda content: content.update(files=["config.json"]),
    "a zero byte": lambda content: content["files"].update({"a\0b": "0" * 64}),
    "half a character": lambda content: content["files"].update({"\ud800": "0" * 64}),
    "a number": lambda content: content["files"].update({"config.json": 7}),
    "too many": lambda content: content["files"].update({f"f{i}": "0" * 64 for i in range(10_001)}),
}


@pytest.mark.parametrize("how", FORGED)
def test_a_forged_manifest_is_damage(run, here, how):
    content = json.loads((run.path / FILE).read_text())
    content.pop("checksum")
    FORGED[how](content)
    (run.path / FILE).write_text(json.dumps({**content, "checksum": _own(content)}))
    assert damages(run.path, run._bound) == [FILE] and listed(run.path) == []
    for words in (["runs"], ["watch", "recovery"], ["report"], ["clean", "recovery", "--yes"]):
        code, _, err = here(*words)
        assert code in (0, 3) and "internal error" not in err
    assert not run.path.exists()


@pytest.mark.parametrize("name", ["config.json", "status.json", "claims.json"])
@pytest.mark.parametrize("text", ["[]", "{}", "null", '[{"id": 3}]', '{"study": [], "preset": 7, "seconds": "x"}'])
def test_documents_of_another_form_give_one_sentence(run, here, name, text):
    (run.path / name).write_text(text)
    resealed(run.path)
    changes = "--set", "steps=10", "--workers", "1"
    for words in (["runs"], ["watch", "recovery"], ["run", "SS.F7", "--preset", "smoke", *changes], ["report"]):
        code, _, err = here(*words)
        assert code in (0, 2, 3) and "internal error" not in err and "Traceback" not in err, (words, err)


def test_strange_values_of_the_status_are_left_out(run, here):
    change(run.path / "status.json", state="x" * 30_000, updated=5, units="[/b]", done={}, seconds=[])
    other = next(Path("runs/recovery-order").iterdir())
    assert run.status == {"workers": 1, "seed_steps": run.status["seed_steps"]} and Run(other).status["updated"]
    for words in (["runs"], ["runs", "--json"], ["watch"], ["clean", "--yes"]):
        assert here(*words)[0] in (0, 3), words
    assert not run.path.exists() and not other.exists()


def test_nothing_in_a_run_acts_on_the_terminal(run, here):
    for name, keys in (("config.json", ("title", "source")), ("status.json", ("updated",))):
        change(run.path / name, **dict.fromkeys(keys, f"[/b] {RED}{TITLE}{TURN} [red]x"))
    claims = json.loads((run.path / "claims.json").read_text())
    for key in ("says", "criterion", "note"):
        claims[0][key] = f"[/b] {RED}{TITLE}{TURN}"
    (run.path / "claims.json").write_text(json.dumps(claims))
    resealed(run.path)
    strange = run.path.with_name(f"smoke-{RED}[red]{TURN}")
    shutil.copytree(run.path, strange)
    for words in (["run", "SS.F7", "--preset", "smoke", "--set", "steps=10"], ["runs"], ["runs", "--json"], ["watch"]):
        code, out, err = here(*words)
        assert code in (0, 2, 3) and plain(out) and plain(err) and "internal error" not in err, words
        assert "--json" not in words or any(row["run"] == str(strange) for row in json.loads(out))


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_a_run_whose_lock_is_no_file_can_be_removed(run, here, tmp_path, kind):
    (tmp_path / "secret").write_text("kept")
    lock = run.path / "lock"
    lock.unlink(missing_ok=True)
    {"link": lambda: lock.symlink_to(tmp_path / "secret"), "folder": lock.mkdir, "pipe": lambda: os.mkfifo(lock)}[
        kind
    ]()
    assert here("clean", "--yes")[0] == 0
    assert not list(Path("runs").glob("recovery*")) and (tmp_path / "secret").read_text() == "kept"


def unit(**changes) -> bytes:
    """The file of a unit with a right checksum and another layout or environment."""
    from safetensors.numpy import save

    from relulab.lab.run.unit_file import NOTES, _checksum

    arrays = {"x": np.zeros(2000), "i": np.arange(2000)}
    layout = {"dims": {"x": ["i"], "i": ["i"]}, "coords": ["i"], "texts": {}, "types": {}}
    notes = {"layout": layout | changes.pop("layout", {}), "environment": {}, **changes}
    return save(arrays, {NOTES: json.dumps({**notes, "sha256": _checksum(arrays, notes)})})


@pytest.mark.parametrize(
    "changes",
    [
        {"environment": [1]},
        {"environment": "x"},
        {"environment": None},
        {"environment": {"packages": ["a"]}},
        {"environment": {"processor": "x" * 100_000}},
        {"layout": {"dims": {}}},
        {"layout": {"dims": {"x": []}}},
        {"layout": {"dims": {"x": ["i", "i"], "i": ["i"]}}},
        {"layout": {"dims": {"x": [3], "i": ["i"]}}},
        {"layout": {"coords": ["z"]}},
        {"layout": {"types": {"i": "U300000"}}},
        {"layout": {"texts": {"t": {"values": ["x" * 200_000, *[""] * 9999], "shape": [10_000]}}}},
        {"layout": {"texts": {"a/b": {"values": ["x"], "shape": [1]}}, "dims": {"a/b": ["i"]}}},
        {"layout": None},
    ],
)
def test_a_unit_of_another_form_is_measured_again(changes):
    assert decode_unit(unit()).dataset().sizes == {"i": 2000}
    if changes == {"layout": None}:
        changes = {"layout": {"dims": None}}
    with pytest.raises(Damaged):
        decode_unit(unit(**changes))


@pytest.mark.parametrize(
    "data",
    [
        xr.Dataset(),
        xr.Dataset({"a/b": 1.0}),
        xr.Dataset({3: 1.0}),
        xr.Dataset({"a\nb": 1}),
        xr.Dataset({"a": ("d/e", [1])}),
    ],
)
def test_a_dataset_that_cannot_be_stored_is_refused_when_it_is_measured(data):
    with pytest.raises(UserError, match="return at least one"):
        encode_unit(data, {})


def test_what_could_not_be_read_again_is_refused_when_it_is_measured(monkeypatch):
    data = xr.Dataset({"a": ("i", ["long"] * 10)})
    encode_unit(data, {})
    monkeypatch.setattr("relulab.lab.run.unit_file.LONGEST_TEXTS", 10)
    with pytest.raises(UserError, match=r"cannot be stored, because .*: return other values"):
        encode_unit(data, {})


def test_random_documents_never_end_in_an_internal_error(run, here):
    dice = random.Random(0)
    values = [None, [], {}, True, -1, 10**300, 1e308, RED, "[/b]", "x" * 30_000, "\ud800", {"a": [None]}]
    for _ in range(12):
        path = dice.choice(sorted(run.path.glob("*.json")))
        before = path.read_text()
        document = json.loads(before)
        if isinstance(document, list):
            document = [{**document[0], dice.choice(list(document[0])): dice.choice(values)}]
        else:
            document[dice.choice(list(document))] = dice.choice(values)
        path.write_text(json.dumps(document))
        for words in (["runs"], ["report"]):
            code, out, err = here(*words)
            assert code in (0, 2, 3) and plain(out + err) and "internal error" not in err, (path.name, document)
        path.write_text(before)
