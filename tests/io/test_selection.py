"""Selections of columns and classes: names separated by commas, labels that are the same in every format."""

import numpy as np
import pytest

from relulab import UserError
from relulab.io.selection import Selection, class_rows, plain_labels


def test_names_are_separated_by_commas_or_given_one_by_one():
    assert Selection.of(drop='id, "a, b",3').drop == ("id", "a, b", "3")
    assert Selection.of(1, ["id", 3], (0, 1.0)) == Selection("1", ("id", "3"), ("0", "1.0"))
    assert Selection.of() == Selection() and not Selection().needs_labels and Selection.of("y").needs_labels
    for wrong in ("", "a,,b", ",", ["a", ""]):
        with pytest.raises(UserError, match="--classes: expected names or numbers separated by commas, got"):
            Selection.of(classes=wrong)


@pytest.mark.parametrize("labels", [
    np.array([0, 1, 7]), np.array([0, 1, 7.0]), np.array([0, 1, 7], np.uint8), np.array([0, 1, 7], object) + 0.0,
])  # fmt: skip
@pytest.mark.parametrize("names", [("7", "0"), ("7.0", "0e0")])
def test_numbers_are_compared_as_numbers(labels, names):
    seven, zero = class_rows("x.csv", plain_labels(np.asarray(labels.tolist())), names)
    assert seven.tolist() == [False, False, True] and zero.tolist() == [True, False, False]


def test_booleans_and_text():
    for labels in (np.array([True, False]), np.array([True, False], object)):
        assert plain_labels(labels).dtype == bool
        for yes in ("True", "true", "1"):
            assert class_rows("x.csv", plain_labels(labels), (yes,))[0].tolist() == [True, False]
    assert class_rows("x.csv", np.array(["1", "01"]), ("1",))[0].tolist() == [True, False]
    assert plain_labels(np.array([0.5, 1])).tolist() == [0.5, 1] and plain_labels(np.array([1e300])).dtype == np.float64


@pytest.mark.parametrize("classes, says", [
    (("0", "3"), "x.csv has no points of class '3' (--classes): its classes are 0, 1, 2"),
    (("red", "0"), "no points of class 'red'"), (("1", "1.0"), "expected different classes, got 1,1.0"),
])  # fmt: skip
def test_classes_that_are_refused(classes, says):
    with pytest.raises(UserError) as refusal:
        class_rows("x.csv", np.array([0, 1, 2, 1]), classes)
    assert says in str(refusal.value)


def test_long_lists_of_classes_are_cut():
    with pytest.raises(UserError, match=r"its classes are 0, 1, .*, 11, …$"):
        class_rows("x.csv", np.arange(100), ("-1",))
