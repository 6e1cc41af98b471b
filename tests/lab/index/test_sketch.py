"""Sketches report mistakes in the words of the class itself, and let everything pass that the class would accept."""

from pathlib import Path
from typing import Annotated, Any

import pytest
from annotated_types import Ge

from relulab import UserError
from relulab.lab.catalog import find_measurement, find_study
from relulab.lab.index import entries, entry
from relulab.lab.index.sketch import _type, check_files, input_sketch, study_sketch
from relulab.lab.run.settings import changes


@pytest.mark.parametrize("name", [one.name for one in entries("study")])
def test_a_sketch_accepts_all_presets_and_defaults_of_its_study(name):
    study, sketch = find_study(name), study_sketch(entry(name, "study"))
    for preset in (*study.presets, "paper"):
        made = sketch.configured(preset)
        assert made.model_dump(mode="json") == study.configured(preset).model_dump(mode="json")


@pytest.mark.parametrize("preset, assignment", [
    ("quik", "seeds=3"), ("smoke", "sedes=3"), ("smoke", "seeds=many"), ("smoke", "seeds=0"), ("smoke", "seeds=1.5"),
    ("smoke", "lr=-1"), ("smoke", "root=-1"), ("smoke", "dtype=float16"),
])  # fmt: skip
def test_a_sketch_of_a_study_has_the_words_of_the_study(preset, assignment):
    said = []
    for kind in (study_sketch(entry("SS.F7", "study")), find_study("SS.F7")):
        with pytest.raises(UserError) as error:
            kind.configured(preset, changes(kind, None, [assignment]))
        said.append(str(error.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("name, options", [
    ("prune", {"student": "a.pt"}), ("prune", {"student": "a", "data": "b", "epsilon": "big"}),
    ("prune", {"student": "a", "data": "b", "fine_tune": "2.5"}), ("prune", {"student": "a", "data": "b", "kep": "2"}),
    ("prune", {"student": "a", "data": "b", "by": "size"}),
    ("transfer-risk", {"data": "a", "sets": "1"}), ("strength", {"teacher": "a", "checkpoints": "b"}),
])  # fmt: skip
def test_a_sketch_of_a_measurement_has_the_words_of_the_measurement(name, options):
    listed, said = entry(name, "measurement"), []
    for kind in (
        input_sketch(listed.details["options"], arguments=listed.details["arguments"]),
        find_measurement(name),
    ):
        with pytest.raises(UserError) as error:
            kind.given(**options)
        said.append(str(error.value))
    assert said[0] == said[1]


def test_types_that_are_not_known_are_left_to_the_class():
    accepted = input_sketch(entry("prune", "measurement").details["options"]).given(
        student="a", data="b", fine_tune="3"
    )
    assert (accepted.fine_tune, accepted.student) == (3, Path("a"))
    for text in ("Widths", "dict[str, int]", "int | Norm", "tuple[int, int]", "Annotated[Norm, Ge(2)][0]"):
        assert _type(text) is Any
    assert _type("tuple[Norm, ...]") == tuple[Any, ...] and _type("list[int]") == list[int]
    assert _type("Annotated[int, Ge(2), Le(RIGHT), AfterValidator(f)]") == Annotated[int, Ge(2)]


def test_files_are_checked_but_folders_are_left_to_the_class(tmp_path):
    (tmp_path / "full").write_text("x")
    (tmp_path / "empty").touch()
    kind = input_sketch(entry("strength", "measurement").details["options"])

    def check(name: str) -> None:
        check_files(
            kind.given(teacher=tmp_path, data=tmp_path / "full", checkpoints=[tmp_path / "full", tmp_path / name])
        )

    check("full")
    for name, sentence in (("missing", "No such file or directory"), ("empty", "is empty: write it again")):
        with pytest.raises(UserError, match=sentence):
            check(name)
