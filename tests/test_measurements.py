"""One battery for all measurements: scale-free numbers do not feel scales, rotations, orders and repetitions."""

import pytest
from measurement_battery import cases, different, missing, tried
from theorem_battery import KINDS

from relulab.lab.index import entries

TRIALS = [
    pytest.param(name, case, change, id=f"{name}, {case.what}, {change.name}")
    for name, of in cases().items()
    for case in of
    for change in case.changes
]


def test_every_measurement_brings_its_case():
    assert not missing(), missing()


def test_a_measurement_without_a_case_is_named(monkeypatch):
    one = entries("measurement")[0]
    monkeypatch.setattr("measurement_battery.cases", dict)
    assert f"the measurement {one.name} has no case: add one to CASES" in missing()


@pytest.mark.parametrize("name", cases())
def test_every_kind_of_change_is_tried_or_there_is_a_reason(name):
    for case in cases()[name]:
        untried = {kind for kind in KINDS if not any(change.name.startswith(kind) for change in case.changes)}
        assert untried == set(case.without) and all(case.without.values()), case.what


@pytest.mark.parametrize(("name", "case", "change"), TRIALS)
def test_scale_free_numbers_stay_the_same(name, case, change, tmp_path):
    assert not tried(name, case, change, 0, tmp_path)


def test_other_numbers_are_found():
    before = {"rho": [0.5, 0.25], "holds": True, "count": 3, "angle": 1e-100}
    assert not different(before, before | {"rho": [0.5 + 1e-12, 0.25]})
    assert different(before, before | {"rho": [0.5, 0.2501]}) and different(before, before | {"holds": False})
    assert different(before, before | {"angle": 2e-100}) and different(before, before | {"rho": [0.5]})


def test_a_number_that_depends_on_the_scale_is_found(tmp_path):
    """The margin of max-margin vectors is not scale-free: the battery says so."""
    from dataclasses import replace

    case = cases()["max-margin"][0]
    change = next(change for change in case.changes if change.name == "scaled 1e+06")
    margin = replace(case, numbers=lambda document: {"margin": document["positive"]["margin"]})
    assert tried("max-margin", margin, change, 0, tmp_path).startswith("margin was")
