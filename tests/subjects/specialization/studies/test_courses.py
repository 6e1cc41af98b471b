"""LM figures 8 and 10: what a unit stores against a naive measurement, and claims on results with a known answer."""

import numpy as np
import pytest
import torch
import xarray as xr

import relulab as rl
from relulab import Verdict
from relulab.subjects.specialization.studies.conv_courses import ConvCourses
from relulab.subjects.specialization.studies.courses import NORMED
from relulab.subjects.specialization.studies.rank_courses import RankCourses


def test_a_unit_of_convolutional_students_stores_what_a_naive_measurement_finds():
    study = ConvCourses.configured("smoke", {"sigma": 1})
    unit = next(unit for unit in study.units() if unit.values["arm"] == "finite set" + NORMED)
    data = study.measure(unit, lambda steps: None).squeeze()
    arm = study.arms()["finite set" + NORMED]
    assert (arm.fresh, arm.batch_norm, arm.lr) == (False, "after", study.lr)
    task = arm.task(unit.values["seeds"])
    student, (x, y) = arm.students(task, 3), task.held_out().of_lane(0)
    f_star, rho = list(rl.hidden(task.teacher, x).values()), {}
    for epoch in range(study.epochs + 1):
        if epoch:
            sizes = {"epochs": 1, "steps": study.steps, "batch": study.batch}
            rl.sgd(student, task, lr=study.lr, loss=rl.MSE(), resume=epoch > 1, **sizes)
        f = list(rl.hidden(student, x).values())
        with np.errstate(invalid="ignore"):  # channels that are never active
            both = [np.corrcoef(a.double().T, b.double().T) for a, b in zip(f_star, f, strict=True)]
        rho[epoch] = [c[: a.shape[1], a.shape[1] :] for c, a in zip(both, f_star, strict=True)]
        for l, correlations in enumerate(rho[epoch]):
            alive = f_star[l].amax(0) > f_star[l].amin(0)
            best = np.nan_to_num(correlations)[alive].max(1).mean()
            stored = data.sel(epoch=epoch, layer=l)
            assert float(stored.rho) == pytest.approx(best, abs=1e-4)
            assert int(stored.never_active) == int((~alive).sum())
        with torch.no_grad():
            loss = (student.eval()(x) - y).square().mean()
        student.train()
        assert float(data.loss.sel(epoch=epoch)) == pytest.approx(float(loss), rel=1e-3)
    assert float(data.mean_rank.sel(epoch=study.epochs).max()) == 0


def made_up(study, *, norm: float = 0.2, finite: float = 0.2, lowest: float = 0.3) -> xr.Dataset:
    """Six seeds in which every statement is true by as much as the arguments say."""
    rng, epochs, seeds, layers = np.random.default_rng(0), study.looks(), 6, 3
    arms = list(study.arms())
    rho, rank = np.zeros((2, len(arms), seeds, layers, len(epochs)))
    for i, arm in enumerate(arms):
        end = 0.3 + norm * (NORMED in arm) * (0.5 if "small" in arm else 1)
        for k, epoch in enumerate(epochs):
            share = (epoch / study.epochs) ** 0.5
            height = end * share - finite * ("finite" in arm) * max(0, epoch / study.epochs - 0.4)
            rho[i, :, :, k] = 0.1 + height + lowest * share * (np.arange(layers) == 0)
            rank[i, :, :, k] = 0.0 if epoch == study.epochs else 0.3 * (epoch == 0) + 0.05 * (1 - (NORMED in arm))
    rho += 0.002 * rng.standard_normal(rho.shape)
    rank += 0.001 * rng.random(rank.shape) * (rank > 0)
    dims = ("arm", "seed", "layer", "epoch")
    coords = {"arm": arms, "seed": range(seeds), "layer": range(layers), "epoch": list(epochs)}
    data = xr.Dataset({"rho": (dims, rho), "mean_rank": (dims, rank)}, coords)
    data["loss"] = xr.ones_like(data.rho.isel(layer=0, drop=True))
    return data.expand_dims(over=list(study.over))


def verdicts(study, result: xr.Dataset) -> dict[str, Verdict]:
    return {claim.id: claim.verdict for claim in study.claims(result)}


@pytest.mark.parametrize("kind", [RankCourses, ConvCourses])
def test_claims_hold_where_they_should_and_not_otherwise(kind):
    study = kind.configured("quick")
    found, prefix = verdicts(study, made_up(study)), kind.prefix
    expected = {f"{prefix}.{name}" for name in ("lowest", "early", "norm-rho", "norm-rank")}
    assert {id for id, verdict in found.items() if verdict is Verdict.HOLDS} >= expected
    assert verdicts(study, made_up(study, norm=-0.2))[f"{prefix}.norm-rho"] is Verdict.REFUTED
    assert verdicts(study, made_up(study, lowest=-0.2))[f"{prefix}.lowest"] is Verdict.REFUTED
    if kind is ConvCourses:
        assert found["LM.F10.cnn.stalls"] is Verdict.HOLDS
        assert verdicts(study, made_up(study, finite=-0.2))["LM.F10.cnn.stalls"] is Verdict.REFUTED
    else:
        assert found["LM.F10.norm"] is Verdict.HOLDS
        assert verdicts(study, made_up(study, norm=-0.2))["LM.F10.norm"] is Verdict.REFUTED


def test_a_seed_that_diverged_leaves_its_claims_undecided():
    study = RankCourses.configured("quick")
    result = made_up(study)
    result["loss"] = result.loss.where((result.seed != 2) | (result.arm != "large"))
    assert set(verdicts(study, result).values()) == {Verdict.INCONCLUSIVE}
