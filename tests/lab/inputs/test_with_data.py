"""Inputs with a data file: every format and every option in every measurement, and notes on what was assumed."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from written_tables import FILES, X, Y, frame, write

from relulab import UserError, find_theorem, save, torch_default
from relulab.lab.index import entries
from relulab.lab.inputs.labeled_table import LabeledTable
from relulab.lab.inputs.one_network import OneNetwork
from relulab.lab.inputs.with_data import WithData

OPTIONS = {"data", "label", "drop", "classes", "drop_missing"}


@pytest.fixture
def files(tmp_path, monkeypatch):
    save(torch_default((3, 5, 2), seeds=[0]), tmp_path / "a.safetensors")
    save(torch_default((3, 4, 2), seeds=[1]), tmp_path / "b.safetensors")
    np.save(tmp_path / "w.npy", np.array([1.0, -2.0, 0.5]))
    for name in FILES:
        write(tmp_path, name)
    return tmp_path


def test_every_measurement_and_every_check_on_data_has_the_options():
    options = [one.details["options"] for one in entries("measurement")]
    options += [on["options"] for one in entries("theorem") for on in one.details["on"]]
    on_data = [names for each in options if "data" in (names := {option.name for option in each})]
    assert len(on_data) >= 30 and all(names >= OPTIONS for names in on_data)


def sentences(*notes: str) -> list[str]:
    return [f"{note[0].upper()}{note[1:]}." for note in notes]


def numbers(answer: tuple[int, str, str]) -> dict:
    code, out, err = answer
    assert code == 0 and not err, answer
    return {key: value for key, value in json.loads(out).items() if key not in ("data", "label", "notes")}


def test_every_format_gives_the_same_answers(files, here):
    """Correlation needs points, separability needs labels."""
    on_points = ("measure", "correlation", "a.safetensors", "b.safetensors", "--json", "--data")
    on_labels = ("measure", "separability", "--json", "--classes", "1,7")
    np.save(files / "only.npy", X)
    kept = Y != 2
    np.savez(files / "only.npz", X=X[kept], y=Y[kept])
    points, labels = numbers(here(*on_points, "only.npy")), numbers(here(*on_labels[:3], "only.npz"))
    for name in FILES:
        label = ("--label", "-1") if ".npy" in name else ()
        assert numbers(here(*on_points, name, *label)) == points, name
        assert numbers(here(*on_labels, name)) == labels, name


COMMANDS = {
    "correlation": ("measure", "correlation", "a.safetensors", "b.safetensors", "--data"),
    "gradient-rule": ("measure", "gradient-rule", "a.safetensors", "b.safetensors", "--data"),
    "alignment": ("measure", "alignment", "a.safetensors", "b.safetensors", "--data"),
    "strength": ("measure", "strength", "a.safetensors", "b.safetensors", "--data"),
    "prune": ("prune", "b.safetensors", "--data"),
    "check": ("check", "SS.L1", "--teacher", "a.safetensors", "--student", "b.safetensors", "--data"),
    "transfer-risk": ("measure", "transfer-risk", "--teacher", "w.npy", "--sets", "5"),
    "check-T5": ("check", "T5.L1", "--teacher", "w.npy", "--set", "orders=2", "--data"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_what_was_left_out_is_said(files, here, command):
    table = frame().assign(id=range(100, 108))
    table.loc[3, "b"] = np.nan
    table.to_csv("full.csv", index=False, sep=";")
    np.save("clean.npy", np.delete(X, 3, axis=0))
    words = (*COMMANDS[command], "full.csv", "--drop", "id", "--drop-missing")
    notes = [
        "left out as requested: column 'id'", "column 'class' holds labels and was left out",
        "1 of 8 rows with missing values were dropped",
    ]  # fmt: skip
    code, out, err = here(*words, "--json")
    document = json.loads(out)
    assert code in (0, 1) and not err and document.pop("notes")[:3] == sentences(*notes)
    clean = json.loads(here(*COMMANDS[command], "clean.npy", "--json")[1])
    assert not set(clean.pop("notes")) & set(sentences(*notes))
    for same in (document, clean):
        for key in ("data", "drop", "drop_missing"):
            same.pop(key, None)
    assert document == clean
    out = " ".join(here(*words)[1].split())
    assert all(f"Note: {note}" in out for note in sentences(*notes))


@pytest.mark.parametrize("options, says", [
    ((), "expected 3 columns, one per input, got 5: select a column of labels with --label, and leave"),
    (("--drop", "id"), "column 'b' has missing values in 1 of 8 rows, first in row 3 (counting from 0): fill"),
    (("--label", "clas"), "full.csv has no column 'clas' (--label): did you mean 'class'?"),
    (("--drop", "id", "--drop-missing", "--classes", "1,3"), "has no points of class '3' (--classes): its classes are"),
    (("--drop", ""), "--drop: expected names or numbers separated by commas, got ''"),
])  # fmt: skip
@pytest.mark.parametrize("command", ["correlation", "check"])
def test_mistakes_are_one_sentence(files, here, command, options, says):
    table = frame().assign(id=range(100, 108))
    table.loc[3, "b"] = np.nan
    table.to_csv("full.csv", index=False)
    code, out, err = here(*COMMANDS[command], "full.csv", *options)
    assert code == 2 and not out and says in err and err.count("\n") == 1, err


@pytest.mark.parametrize("command", ["separability", "max-margin", "check"])
def test_two_of_many_classes(here, tmp_path, command):
    rng = np.random.default_rng(0)
    kind = np.arange(30) % 3
    points = np.abs(rng.standard_normal((30, 2))) * np.where(kind == 1, -1, 1)[:, None]
    pd.DataFrame(points, columns=["a", "b"]).assign(digit=kind).to_csv("digits.csv", index=False)
    words = ("check", "IB.L2", "--data", "digits.csv") if command == "check" else ("measure", command, "digits.csv")
    code, out, err = here(*words)
    assert code == 2 and not out and "got 3 different labels (0, 1, 2): keep two of them with --classes 0,1" in err
    document = json.loads(here(*words, "--classes", "1,0", "--json")[1])
    assert document["notes"] == sentences(
        "column 'digit', the last one, was taken as the labels", "20 of 30 rows have the labels 1, 0 and were kept",
        "row numbers count the rows that are left, from 0", "label 0 is +1 and label 1 is −1",
    )  # fmt: skip
    code, out, err = here(*words, "--classes", "1,0,2")
    assert code == 2 and "--classes: expected two classes, such as 0,1, got 1,0,2" in err
    if command != "check":
        assert document["labels"] == {"-": "1", "+": "0"}
        out = " ".join(here(*words, "--classes", "1,0")[1].split())
        assert "Note: Label 0 is +1 and label 1 is −1." in out
        assert command == "max-margin" or "relulab measure max-margin digits.csv --classes 1,0" in out


def test_labels_and_notes_can_be_reached(files):
    given = OneNetwork(network=files / "a.safetensors", data=files / "x.csv")
    assert given.notes == []  # nothing was read yet
    assert given.loaded.labels.tolist() == Y.tolist() and np.array_equal(given.load()[1], X)
    assert given.notes == sentences("column 'class' holds labels and was left out") == sentences(*given.loaded.notes)
    table = LabeledTable(data=files / "x.npz", classes="2,7", drop="0")
    (data,) = table.load()
    assert data.names == ("2", "7") and table.loaded.points.shape == (5, 2) == data.X.shape
    assert table.data_words() == f"{files / 'x.npz'} --drop 0 --classes 2,7"
    finding = find_theorem("IB.L2").check_files({"data": str(files / "x.npz"), "classes": "2,7"}, {})
    assert finding.notes[-1] == "Label 7 is +1 and label 2 is −1."


def test_a_load_that_reads_no_data_is_reported(files):
    class Forgetful(WithData):
        def load(self):
            return ()

    with pytest.raises(TypeError, match=r"Forgetful\.load\(\) does not read the data file"):
        Forgetful(data=files / "x.csv").loaded  # noqa: B018


def test_images_for_fully_connected_networks_and_rows_for_programs(files):
    net = nn.Sequential(nn.Conv2d(1, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(6, 2))
    shapes = ({0: torch.export.Dim.AUTO},)
    torch.export.save(torch.export.export(net, (torch.randn(5, 1, 1, 3),), dynamic_shapes=shapes), files / "conv.pt2")
    given = OneNetwork(network=files / "conv.pt2", data=files / "x.csv")
    assert given.load()[1].shape == (8, 1, 1, 3) and np.array_equal(given.loaded.points.flatten(1), X)
    assert given.notes[-1] == "Rows of 3 numbers were read as images of shape (1, 1, 3)."
    np.savez(files / "images.npz", images=X.reshape(8, 1, 1, 3))
    images = OneNetwork(network=files / "conv.pt2", data=files / "images.npz")
    assert images.load()[1].shape == (8, 1, 1, 3) and images.notes == []
    rows = OneNetwork(network=files / "a.safetensors", data=files / "images.npz")
    assert np.array_equal(rows.load()[1], X)
    assert rows.notes == ["Images of shape (1, 1, 3) were flattened to rows of 3 numbers."]
    with pytest.raises(UserError, match=r"expected 3 columns, one per input, got 2: use points"):
        OneNetwork(network=files / "conv.pt2", data=files / "x.npz", drop="0").load()


def test_a_linear_teacher_tells_labels_from_inputs(files, here):
    base = ("measure", "transfer-risk", "--sets", "5", "--json", "--teacher")
    wide = frame("y").assign(z=X[:, 0])[["a", "b", "c", "y", "z"]]
    wide.to_csv("wide.csv", index=False)
    np.save("w5.npy", np.arange(1.0, 6))
    np.save("w4.npy", np.arange(1.0, 5))
    np.savez("w4b.npz", weight=np.arange(1.0, 5), bias=[0.5])
    assert json.loads(here(*base, "w4b.npz", "wide.csv")[1])["notes"] == ["Column 'y' holds labels and was left out."]
    code, _, err = here(*base, "w5.npy", "wide.csv")  # 5 inputs, or 4 and a bias
    assert code == 2 and "column 'y' may hold the labels: leave it out with --drop y, or rename it" in err
    assert json.loads(here(*base, "w4.npy", "wide.csv")[1])["dimensions"] == 4
