"""Studies of T5: measurements are compared with plain computations, and claims can fail."""

import math
import os

import numpy as np
import pytest
import xarray as xr

from relulab import Local, UserError, find_study, run_study
from relulab.core.seeds import Role, stream
from relulab.subjects.distillation.tools.angle_laws import Angular, PolynomialAngles


def combined(study) -> xr.Dataset:
    return xr.combine_by_coords([study.measure(unit, lambda steps: None) for unit in study.units()])


def verdicts(study, result) -> dict[str, str]:
    return {claim.id: claim.verdict.name for claim in study.claims(result)}


def test_alignment_students_are_projections_with_the_right_risk():
    study = find_study("T5.F3").configured("smoke", {"n_held_out": 2000})
    result = combined(study)
    X = Angular(40, PolynomialAngles(2.0)).draw(stream(0, Role.TRAIN, 3, 2, 2_000_000), 5)
    w = np.linalg.pinv(X) @ X[:, 0]
    student = result.sel(kappa=2.0, seed=3)
    assert float(student.angle) == pytest.approx(math.acos(w[0] / np.linalg.norm(w)), abs=1e-7)
    gap = abs(result.counted - result.risk)
    assert bool((gap < 5 * np.sqrt(result.risk.clip(1e-3) / 2000)).all())
    assert verdicts(study, result) == {"T5.F3.alignment": "HOLDS"}
    turned = result.assign(risk=1 - result.risk)
    assert verdicts(study, turned) == {"T5.F3.alignment": "REFUTED"}
    assert len(study.figures(result)["alignment"].axes) == 2


def test_monotone_learners_use_the_same_sets():
    study = find_study("T5.F5").configured("smoke")
    result = combined(study)
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
    names = verdicts(study, result)
    assert names["T5.F5.fresh"] == names["T5.F5.same"] == names["T5.F5.hard"] == "HOLDS"
    assert names["T5.F5.soft"] == "INCONCLUSIVE"  # 50 of 50 sets have a lower limit of 0.93
    assert verdicts(study.model_copy(update={"sets": 200}), result)["T5.F5.soft"] == "HOLDS"
    wrong = verdicts(study, result.assign(monotonicity=1 - result.monotonicity))
    assert {wrong[f"T5.F5.{name}"] for name in ("fresh", "same", "soft")} == {"REFUTED"}
    assert len(study.figures(result)["monotonicity"].axes) == 2


def test_bounds_hold_and_violations_are_refuted():
    study = find_study("T5.T3.n").configured("smoke")
    result = combined(study)
    assert result.sizes == {"seed": 5, "law": 4, "n": len(study.n), "task": 5}
    assert study.n[0] == 1 and study.n[-2:] == [19, 20] and float(result.risk.sel(n=20).max()) == 0
    names = verdicts(study, result)
    assert names["T5.T3.n.curves"] == names["T5.T3.n.perfect"] == "HOLDS"
    assert names["T5.T3.n.tasks"] == "INCONCLUSIVE"  # 25 of 25 tasks have a lower limit of 0.86
    many = result.isel(task=[0, 1, 2, 3, 4] * 20)
    assert verdicts(study, many)["T5.T3.n.tasks"] == "HOLDS"
    high = result.assign(risk=result.risk + 1, task_low=result.task_bound + 0.1, left=result.left + 1)
    assert {verdicts(study, high)[f"T5.T3.n.{name}"] for name in ("tasks", "curves", "perfect")} == {"REFUTED"}
    bounds = study.bounds()
    assert bool((bounds.tight <= bounds.theorem + 1e-12).all())
    assert bool((bounds.theorem <= bounds.corollary + 1e-9).all())
    figures = study.figures(result)
    assert len(figures["curves"].axes) == 4 and len(figures["tasks"].axes) == 1
    assert {id for id in verdicts(study, result) if "rate" in id} == {f"T5.C2.rate-{k}" for k in ("0.5", "1", "2")}


def test_there_is_no_claim_on_a_slope_without_two_numbers_of_points():
    study = find_study("T5.T3.n").configured("smoke", {"d": 8, "tasks": 1, "task_sets": 5, "sets": 2})
    assert not [id for id in verdicts(study, combined(study)) if "rate" in id]


def test_optimization_bias_from_files_to_claims(made_up_digits, monkeypatch, tmp_path):
    monkeypatch.setenv("RELULAB_DATA", str(made_up_digits))
    monkeypatch.setattr("relulab.lab.run.job.FORMATS", ("svg",))
    study = find_study("T5.F4").configured("smoke", {"n_teacher": 20, "n": 8, "delta": (0, 3, 300), "draws": 4})
    study.ready()
    run_study(study, preset="smoke", runs=tmp_path, engine=Local(1))
    result = combined(study)
    assert result.wrong.sizes == {"seed": 5, "delta": 3, "point": 24}
    # For δ = 0 every draw gives the same student; for a large δ its angle is close to π/2.
    assert set(np.unique(result.wrong.sel(delta=0))) <= {0.0, 1.0}
    assert float(result.angle.sel(delta=300).min()) > 1.5 > float(result.angle.sel(delta=0).max())
    assert verdicts(study, result)["T5.F4.ends"] == "HOLDS"
    assert verdicts(study, result.assign(wrong=1 - result.wrong))["T5.F4.ends"] == "REFUTED"
    with pytest.raises(UserError, match="n_teacher = 600 digits each, but the MNIST training file has 180 zeros"):
        find_study("T5.F4").configured("paper").ready()


def test_no_two_seeds_of_the_optimization_bias_share_a_training_digit(made_up_digits, monkeypatch):
    monkeypatch.setenv("RELULAB_DATA", str(made_up_digits))
    study = find_study("T5.F4").configured("smoke", {"n_teacher": 20, "n": 8, "delta": (0, 3), "draws": 1})
    module, used = type(study).__module__, []

    def kept(X, y, **options):
        used.append(X)
        return np.ones(X.shape[1])

    monkeypatch.setattr(f"{module}._rows", lambda digits: (np.arange(180.0)[:, None] + 1, np.arange(180) % 2))
    monkeypatch.setattr(f"{module}.logistic_regression", kept)
    for unit in study.units():
        study.measure(unit, lambda steps: None)
    digits = [frozenset(X[:, 0]) for X in used[::2]]  # each teacher is also trained on shuffled labels
    assert len(digits) == 5 and len(frozenset.union(*digits)) == 5 * 20


def test_on_mnist():
    if not os.environ.get("RELULAB_DATA"):
        pytest.skip("needs MNIST below the folder RELULAB_DATA")
    study = find_study("T5.F4").configured("quick", {"seeds": 1, "n_teacher": 1000, "delta": (0, 90), "draws": 5})
    result = study.measure(study.units()[0], lambda steps: None)
    assert float(result.accuracy.min()) > 0.99
    assert float(result.wrong.sel(delta=0).mean()) < 0.01 and float(result.wrong.sel(delta=90).mean()) > 0.2
