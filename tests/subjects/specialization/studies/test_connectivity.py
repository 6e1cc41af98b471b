"""The study of paths between students: its claims on synthetic results with controls, and one measured unit."""

import numpy as np
import xarray as xr

from relulab import Verdict
from relulab.lab.control import controlled
from relulab.subjects.specialization.studies.connectivity.study import STUDY


def made_up(seeds=8, path=1e-4, line=0.2):
    rng = np.random.default_rng(0)
    shape = (2, seeds)
    noise = 1 + 0.1 * rng.random(shape)
    by_case = {"path": path, "line": line, "random_path": 0.4, "own_line": 1e-4, "ends": 1e-5, "own_ends": 1e-5}
    exact = {"exact_path": 1e-31, "exact_line": 0.3, "exact_own_line": 1e-31}
    data = {name: (("case", "seed"), value * noise) for name, value in by_case.items()}
    data |= {name: ("seed", value * noise[0]) for name, value in exact.items()}
    data["recovered"] = (("case", "seed"), np.ones(shape))
    data |= {"teacher": ("case", [2, 5]), "student": ("case", [3, 25])}
    return xr.Dataset(data, coords={"case": ["3 nodes for 2", "25 nodes for 5"], "seed": range(seeds)})


def verdicts(result):
    study = STUDY.configured("quick")
    claims = controlled(study.claims(result), study.controls(result), study.claims)
    assert all(c.check or c.control is not None for c in claims)
    return {c.id.removeprefix("SS.E."): c.verdict for c in claims}


def test_claims_hold_on_low_paths_and_high_lines():
    assert set(verdicts(made_up()).values()) == {Verdict.HOLDS}


def test_claims_are_refuted_on_other_results():
    found = verdicts(made_up(path=0.3, line=1e-4))
    assert found["low"] is found["line"] is found["three"] is Verdict.REFUTED


def test_students_with_a_high_loss_do_not_make_the_line_high():
    result = made_up(line=0.5)
    assert verdicts(result.assign(ends=result.line - 1e-4))["line"] is Verdict.REFUTED


def test_a_control_that_holds_as_well_makes_a_claim_inconclusive():
    result = made_up()
    assert verdicts(result.assign(random_path=result.path))["low"] is Verdict.INCONCLUSIVE


def test_pairs_that_did_not_recover_their_teacher_are_left_out():
    result = made_up()
    result.path[0, 0], result.recovered[0, 0] = 0.9, 0.5
    assert verdicts(result)["three"] is Verdict.HOLDS


def test_units_measure_and_draw():
    study = STUDY.configured("smoke", {"seeds": 1, "epochs": 1, "steps": 50})
    result = xr.merge(
        [study.measure(unit, lambda steps: None) for unit in study.units()], join="outer", compat="no_conflicts"
    )
    assert float(result.exact_path.max()) < 1e-20 < 0.01 < float(result.exact_line.min())
    assert result.sizes["case"] == 2 and bool((result.path >= result.ends).all())
    assert set(study.figures(result)) == {"losses"}
