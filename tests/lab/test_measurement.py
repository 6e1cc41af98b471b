"""Measurements: output paths are checked first, and files are written last."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from relulab import UserError
from relulab.lab.catalog import find_measurement
from relulab.lab.cli.measured import write
from relulab.lab.index import entries
from relulab.lab.measurement import Outcome

NAMES = [entry.name for entry in entries("measurement")]


@pytest.fixture
def outcome() -> Outcome:
    return Outcome(
        {"a": 1}, ["one"], arrays=lambda: {"x": np.arange(3)}, picture=Figure, files={".csv": lambda: b"a,b\n"}
    )


def test_the_ending_selects_what_is_written(outcome, tmp_path):
    for name in ("a.npz", "a.csv", "a.png"):
        write(outcome, tmp_path / name)
    with np.load(tmp_path / "a.npz") as arrays:
        assert arrays["x"].tolist() == [0, 1, 2]
    assert (tmp_path / "a.csv").read_bytes() == b"a,b\n" and (tmp_path / "a.png").read_bytes()[1:4] == b"PNG"


def test_missing_output_formats_are_rejected(tmp_path):
    with pytest.raises(UserError, match=r"has no \.npz output"):
        write(Outcome({}, []), tmp_path / "a.npz")


@pytest.mark.parametrize("name", NAMES)
def test_every_measurement_is_documented_and_its_formats_are_described(name):
    found = find_measurement(name)
    assert found.title and found.__doc__ and all(field.description for field in found.model_fields.values())
    assert set(found.arguments) <= set(found.model_fields)
    assert bool(found.endings) == bool(found.kept)


@pytest.mark.parametrize("name", NAMES)
def test_output_paths_are_checked_before_anything_is_read(name, here, tmp_path):
    found = find_measurement(name)
    words = [] if found.verb else ["measure"]
    needed = [part for field in found.required() for part in
              (["missing.npz"] if field in found.arguments else [f"--{field}", "missing.npz"])]  # fmt: skip
    for option, wanted in (("--out", found.endings), ("--figure", found.drawn)):
        if wanted:
            code, out, err = here(*words, name, *needed, option, "answer.txt")
            assert (code, out) == (2, "") and "answer.txt: expected a file name" in err and err.count("\n") == 1
            code, out, err = here(*words, name, *needed, option, f"{Path('nowhere')}/a.png")
            assert code == 2 and err.count("\n") == 1
