"""SS figure 6: units against PyTorch's own training, and claims on results with a known answer."""

import numpy as np
import pytest
import torch
import xarray as xr
from torch import nn

from relulab import Verdict
from relulab.lab.run.answers import claims_of
from relulab.subjects.specialization.studies.sample_complexity.study import SampleComplexity


def configured(preset: str = "quick", **changes) -> SampleComplexity:
    found = SampleComplexity.configured(preset, changes)
    assert isinstance(found, SampleComplexity)
    return found


@pytest.mark.parametrize("loss", ["mse", "cross-entropy"])
@pytest.mark.parametrize("equal", [False, True])
def test_a_unit_trains_and_measures_as_the_release_does(loss, equal):
    study = configured("smoke", equal_steps=equal, samples=(20, 60), batch=10)
    unit = next(unit for unit in study.units() if unit.values["loss"] == loss)
    data = study.measure(unit, lambda steps: None).sel(loss=loss, over=2, points=20)
    task = study.task(unit.values["seeds"], 20)
    parts, i = 3 if equal else 1, 1
    net = study.students(task, 2).module(i)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.2)
    criterion = nn.MSELoss() if loss == "mse" else nn.CrossEntropyLoss()

    def labels(Y):
        return Y if loss == "mse" else Y.argmax(1)

    (x, y), held_out = task.train().of_lane(i), task.held_out().of_lane(i)
    for epoch in range(4 * parts):
        optimizer.param_groups[0]["lr"] = 0.2 if epoch < 2 * parts else 0.1
        for batch in task.batches(epoch, 2, 10)[i]:
            optimizer.zero_grad()
            criterion(net(x[batch]), labels(y[batch])).backward()
            optimizer.step()
    with torch.no_grad():
        value = float(criterion(net(held_out[0]), labels(held_out[1])))
        f_star = [f[0].numpy() for f in task.teacher.lane(i).layers(held_out[0].double())[:-1]]
        f = [net[: 2 * l + 2](held_out[0]).numpy() for l in range(2)]
    end = data.sel(epoch=4).isel(seed=i)
    assert float(end.evaluation) == pytest.approx(value, rel=1e-4)
    assert float(data.sel(epoch=0).isel(seed=i).evaluation) != pytest.approx(value, rel=0.01)
    for l, (a, b) in enumerate(zip(f_star, f, strict=True)):
        b = b[:, b.std(0) > 0]  # nodes that are never active follow none
        rho = np.corrcoef(a.T, b.T)[: a.shape[1], a.shape[1] :]
        assert float(end.rho.sel(layer=l)) == pytest.approx(rho.max(1).mean(), abs=1e-4)


def made_up(study: SampleComplexity, *, gain: float = 0.3, lowest: float = 0.2, growth: float = 0.1, mse: float = 0.1):
    """Six seeds in which every statement is true by as much as the arguments say."""
    rng, points = np.random.default_rng(0), study.sizes("cross-entropy")
    rho = np.zeros((2, 1, len(points), 2, 6, 4))
    evaluation = np.ones(rho.shape[:-1])
    for k, loss in enumerate(study.losses):
        for n, N in enumerate(points):
            share, first = n / (len(points) - 1), np.arange(4) == 0
            rho[k, 0, n, 1] = 0.3 + gain * share + first * (lowest + growth * share + mse * (loss == "mse"))
            evaluation[k, 0, n, 1] = 0.8 - gain * share
            if N not in study.sizes(loss):
                rho[k, 0, n] = evaluation[k, 0, n] = np.nan
    rho += 0.001 * rng.standard_normal(rho.shape)
    dims = ("loss", "over", "points", "epoch", "seed", "layer")
    coords = {"loss": list(study.losses), "over": [2], "points": points, "epoch": [0, study.epochs],
              "seed": range(6), "layer": range(4)}  # fmt: skip
    return xr.Dataset({"rho": (dims, rho), "evaluation": (dims[:-1], evaluation)}, coords)


def verdicts(study: SampleComplexity, result: xr.Dataset) -> dict[str, Verdict]:
    return {claim.id: claim.verdict for claim in study.claims(result)}


def test_claims_hold_where_they_should_and_not_otherwise():
    study = configured()
    claims = claims_of(study, made_up(study))
    assert {c.id: c.verdict for c in claims} == dict.fromkeys((c.id for c in claims), Verdict.HOLDS)
    assert len(claims) == 8
    readings = [c.control for c in claims]
    assert all(reading is not None and reading.verdict is not Verdict.HOLDS for reading in readings)
    worse = verdicts(study, made_up(study, gain=-0.2, growth=-0.1, mse=-0.1))
    assert worse == {c.id: Verdict.HOLDS if c.id.endswith(".lowest") else Verdict.REFUTED for c in claims}
    upper = verdicts(study, made_up(study, lowest=-0.4))
    assert {id for id, verdict in upper.items() if verdict is Verdict.REFUTED} == {
        "SS.F6.mse.lowest", "SS.F6.cross-entropy.lowest",
    }  # fmt: skip


def test_a_lowest_layer_that_is_only_ahead_from_the_start_is_no_finding():
    study = configured()
    result = made_up(study)
    ahead = result.rho.where((result.layer > 0) | (result.epoch > 0), 0.89)
    found = verdicts(study, result.assign(rho=ahead))
    assert found["SS.F6.mse.lowest"] is found["SS.F6.cross-entropy.lowest"] is Verdict.INCONCLUSIVE


def test_a_seed_that_diverged_leaves_its_claims_undecided():
    study = configured()
    result = made_up(study)
    result["evaluation"] = result.evaluation.where((result.seed != 2) | (result.points != 1000))
    assert set(verdicts(study, result).values()) == {Verdict.INCONCLUSIVE}


def test_with_one_loss_or_one_size_only_what_can_be_compared_is_claimed():
    study = configured(losses=("mse",))
    assert set(verdicts(study, made_up(configured()).sel(loss=["mse"]))) == {
        f"SS.F6.mse.{name}" for name in ("lowest", "loss", "rho")
    }
    single = configured("smoke", samples=(20,), losses=("mse",), seeds=5)
    data = xr.merge([single.measure(unit, lambda steps: None) for unit in single.units()])
    assert set(verdicts(single, data)) == {"SS.F6.mse.lowest"}
    assert set(single.figures(data)) == {"samples"}


def test_an_epoch_is_a_pass_or_all_make_equally_many_steps():
    study, equal = configured("paper"), configured("paper", equal_steps=True)
    steps = {unit.values["N"]: unit.seed_steps / len(unit.values["seeds"]) for unit in study.units()}
    assert steps[5000] == 200 * (5000 // 64) and steps[2_000_000] == 200 * (2_000_000 // 64)
    equally = [unit.seed_steps / len(unit.values["seeds"]) for unit in equal.units() if unit.values["loss"] == "mse"]
    assert max(equally) / min(equally) == pytest.approx(1, abs=0.02)
    assert max(len(unit.values["seeds"]) for unit in study.units() if unit.values["N"] == 2_000_000) == 1
