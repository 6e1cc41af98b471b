"""Studies of T5: what a unit measures, against plain computations, and that the claims can fail."""

import math
import os

import numpy as np
import pytest
import xarray as xr

from relulab import Local, UserError, find_study, run_study
from relulab.core.seeds import Role, stream
from relulab.subjects.distillation.tools.angle_laws import Angular, PolynomialAngles


def whole(study) -> xr.Dataset:
    return xr.combine_by_coords([study.measure(unit, lambda steps: None) for unit in study.units()])


def verdicts(study, result) -> dict[str, str]:
    return {claim.id: claim.verdict.name for claim in study.claims(result)}


def test_alignment_students_are_projections_and_their_risk_is_right():
    study = find_study("T5.F3").configured("smoke", {"n_held_out": 2000})
    result = whole(study)
    X = Angular(40, PolynomialAngles(2.0)).draw(stream(0, Role.TRAIN, 3, 2, 2_000_000), 5)
    w = np.linalg.pinv(X) @ X[:, 0]
    one = result.sel(kappa=2.0, seed=3)
    assert float(one.angle) == pytest.approx(math.acos(w[0] / np.linalg.norm(w)), abs=1e-7)
    gap = abs(result.counted - result.risk)
    assert bool((gap < 5 * np.sqrt(result.risk.clip(1e-3) / 2000)).all())
    assert verdicts(study, result) == {"T5.F3.alignment": "HOLDS"}
    turned = result.assign(risk=1 - result.risk)
    assert verdicts(study, turned) == {"T5.F3.alignment": "REFUTED"}
    assert len(study.figures(result)["alignment"].axes) == 2


def test_monotone_learners_come_from_the_same_sets():
    study = find_study("T5.F5").configured("smoke")
    result = whole(study)
    X = Angular(20, PolynomialAngles(1.0)).draw(stream(0, Role.TRAIN, 2), 60).reshape(10, 6, 20)
    gains = 0
    for x in X:
        cosines = []
        for k in (5, 6):
            w = np.linalg.pinv(x[:k]) @ x[:k, 0]
            cosines.append(w[0] / np.linalg.norm(w))
        gains += cosines[1] > cosines[0]
    soft = result.sel(seed=2, learner="gradient descent")
    assert soft.monotonicity.values.tolist() == [gains / 10, gains / 10]
    assert (result.risk.sel(q="fresh", learner="hard target") == result.risk.sel(q="same", learner="hard target")).all()
    found = verdicts(study, result)
    assert found["T5.F5.fresh"] == found["T5.F5.same"] == found["T5.F5.soft"] == found["T5.F5.hard"] == "HOLDS"
    wrong = verdicts(study, result.assign(monotonicity=1 - result.monotonicity))
    assert {wrong[f"T5.F5.{name}"] for name in ("fresh", "same", "soft")} == {"REFUTED"}
    assert len(study.figures(result)["monotonicity"].axes) == 2


def test_bounds_are_above_and_would_be_found_out_if_not():
    study = find_study("T5.T3.n").configured("smoke")
    result = whole(study)
    assert result.sizes == {"seed": 5, "law": 4, "n": len(study.n), "task": 5}
    assert study.n[0] == 1 and study.n[-2:] == [19, 20] and float(result.risk.sel(n=20).max()) == 0
    found = verdicts(study, result)
    assert all(found[f"T5.T3.n.{name}"] == "HOLDS" for name in ("tasks", "curves", "perfect"))
    high = result.assign(risk=result.risk + 1, task_low=result.task_bound + 0.1, left=result.left + 1)
    assert {verdicts(study, high)[f"T5.T3.n.{name}"] for name in ("tasks", "curves", "perfect")} == {"REFUTED"}
    bounds = study.bounds()
    assert bool((bounds.tight <= bounds.theorem + 1e-12).all())
    assert bool((bounds.theorem <= bounds.corollary + 1e-9).all())
    figures = study.figures(result)
    assert len(figures["curves"].axes) == 4 and len(figures["tasks"].axes) == 1


def test_optimization_bias_from_files_to_claims(made_up_digits, monkeypatch, tmp_path):
    monkeypatch.setenv("RELULAB_DATA", str(made_up_digits))
    monkeypatch.setattr("relulab.lab.run.runner.FORMATS", ("svg",))
    study = find_study("T5.F4").configured("smoke", {"n_teacher": 20, "n": 8, "delta": (0, 3, 300), "draws": 4})
    run_study(study, preset="smoke", runs=tmp_path, engine=Local(1))
    result = whole(study)
    assert result.risk.sizes == {"seed": 5, "draw": 4, "delta": 3}
    # without its random part every draw is the same student, with a large one its angle is nearly right
    assert bool((result.risk.sel(delta=0) == result.risk.sel(delta=0, draw=0)).all())
    assert float(result.angle.sel(delta=300).min()) > 1.5 > float(result.angle.sel(delta=0).max())
    assert verdicts(study, result)["T5.F4.ends"] == "HOLDS"
    assert verdicts(study, result.assign(risk=1 - result.risk))["T5.F4.ends"] == "REFUTED"
    with pytest.raises(UserError, match="n_teacher = 6100: the training file of MNIST has 40 zeros and ones"):
        find_study("T5.F4").configured("paper").ready()


def test_on_mnist():
    if not os.environ.get("RELULAB_DATA"):
        pytest.skip("needs MNIST below the folder RELULAB_DATA")
    study = find_study("T5.F4").configured("quick", {"seeds": 1, "n_teacher": 1000, "delta": (0, 90), "draws": 5})
    result = study.measure(study.units()[0], lambda steps: None)
    assert float(result.accuracy.min()) > 0.99
    assert float(result.risk.sel(delta=0).mean()) < 0.01 and float(result.risk.sel(delta=90).mean()) > 0.2
