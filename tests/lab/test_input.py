"""Inputs: options are converted and loaded, and errors are one sentence."""

from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import pytest
from annotated_types import Ge
from pydantic import model_validator

from relulab import MLP, UserError, find_theorem, save, torch_default
from relulab.lab.input import Input
from relulab.lab.inputs.labeled_table import LabeledTable, TableAndStart, TrainedOnTable
from relulab.lab.inputs.one_network import OneNetwork
from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.inputs.two_networks import TwoNetworks


class Pair(Input):
    """Two numbers."""

    title: ClassVar = "two numbers"
    arguments: ClassVar = ("first",)

    first: Annotated[int, Ge(1)]
    """A number from 1."""
    second: float = 2.0
    """Another."""

    @model_validator(mode="after")
    def _different(self) -> "Pair":
        if self.first == self.second:
            raise UserError("both numbers are the same: give two")
        return self

    def load(self) -> tuple[int, float]:
        return self.first, self.second


def test_text_is_converted_to_values():
    assert Pair.given(first="3", second="0.5").load() == (3, 0.5) and Pair.required() == ["first"]


@pytest.mark.parametrize("options, sentence", [
    ({"first": "0"}, "FIRST: expected a value greater than or equal to 1, got 0"),
    ({"first": "many"}, "FIRST: expected a valid integer, got many"),
    ({"first": "1", "second": "nan"}, "--second: expected a finite number, got nan"),
    ({}, "FIRST is missing: add it"),
    ({"first": "1", "secnd": "3"}, "unknown option --secnd: did you mean 'second'?"),
    ({"first": "2"}, "both numbers are the same: give two"),
])  # fmt: skip
def test_errors_are_one_sentence(options, sentence):
    with pytest.raises(UserError) as error:
        Pair.given(**options)
    assert str(error.value) == sentence


@pytest.fixture
def files(tmp_path) -> Path:
    save(torch_default((3, 4, 2), seeds=[0]), tmp_path / "a.safetensors")
    np.save(tmp_path / "x.npy", np.ones((5, 3)))
    np.savez(tmp_path / "table.npz", X=np.eye(4), y=[0, 1, 0, 1])
    return tmp_path


def test_every_input_loads_its_files(files):
    net, x, table = files / "a.safetensors", files / "x.npy", files / "table.npz"
    (one, points), (a, b, _) = OneNetwork(network=net, data=x).load(), TwoNetworks(a=net, b=net, data=x).load()
    teacher, student, _ = TeacherStudent(teacher=net, student=net, data=x, slope=0.1).load()
    assert all(isinstance(found, MLP) for found in (one, a, b, teacher, student)) and points.shape == (5, 3)
    assert teacher.slope == 0.1
    (data,) = LabeledTable(data=table).load()
    assert data.y.tolist() == [-1, 1, -1, 1]
    assert TableAndStart(data=table).load()[1] is None and isinstance(
        TableAndStart(data=table, start=net).load()[1], MLP
    )
    assert [type(part).__name__ for part in TrainedOnTable(data=table, network=net).load()] == [
        "Labeled", "MLP", "NoneType",
    ]  # fmt: skip


def test_settings_cannot_be_combined_with_a_trained_network(files):
    given = TrainedOnTable(data=files / "table.npz", network=files / "a.safetensors")
    with pytest.raises(UserError, match="leave out --set or --network"):
        given.allow({"width": 3})
    given.allow({})
    TrainedOnTable(data=files / "table.npz").allow({"width": 3})


def test_a_theorem_selects_the_input_by_the_given_options(files):
    theorem = find_theorem("IB.L4")
    table = str(files / "table.npz")
    with pytest.raises(UserError, match=r"IB\.L4 on files needs --data \(optional: .*--label.*\); got --label"):
        theorem.check_files({"label": "y"}, {})
    with pytest.raises(UserError, match="leave out --student"):
        theorem.check_files({"data": table, "student": "b.pt"}, {})
    with pytest.raises(UserError, match="has no setting 'sums'"):  # a false variant
        theorem.check_files({"data": table}, {"sums": True})
    assert theorem.check_files({"data": table}, {"width": 5, "steps": 20}).conditions
