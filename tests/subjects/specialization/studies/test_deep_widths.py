"""LM figure 12: what a unit stores against a naive measurement, and claims on results with a known answer."""

from itertools import pairwise

import numpy as np
import pytest
import torch
import xarray as xr

import relulab as rl
from relulab import Verdict
from relulab.core.products import has_faster_products
from relulab.subjects.specialization.studies.deep_widths import DeepWidths


@pytest.fixture(scope="module")
def study() -> DeepWidths:
    found = DeepWidths.configured("smoke", {"over": (1, 10)})
    assert isinstance(found, DeepWidths)
    return found


def test_a_unit_stores_what_a_naive_measurement_finds(study):
    unit = study.units()[-1]
    data = study.measure(unit, lambda steps: None)
    task = study.task(unit.values["seeds"])
    student = study.students(task, 10)
    points, seen = task.held_out(), {}
    for epoch in range(study.epochs + 1):
        if epoch:
            rl.sgd(student, task, epochs=1, steps=study.steps, batch=study.batch, lr=study.lr, first_epoch=epoch - 1)
        if epoch in study.looks():
            seen[epoch] = [
                rl.specialization.layer_correlations(task.teacher.lane(i), student.lane(i), points.of_lane(i)[0])
                for i in range(task.lanes)
            ]
    assert sorted(seen) == data.epoch.values.tolist()
    for i, seed in enumerate(task.seeds):
        final = seen[study.epochs][i]
        for l, name in enumerate(final):
            f = task.teacher.lane(i).layers(points.of_lane(i)[0].double())[l][0].detach()
            alive = [j for j in range(f.shape[1]) if float(f[:, j].max()) > float(f[:, j].min())]
            stored = data.sel(over=10, seed=seed, layer=l)
            assert int(stored.never_active) == f.shape[1] - len(alive)
            for epoch, by_lane in seen.items():
                rho = by_lane[i][name][0]
                best = np.mean([float(rho[j].max()) for j in alive])
                ranks = [int((rho[j] > rho[j, final[name][0][j].argmax()]).sum()) / (rho.shape[1] - 1) for j in alive]
                at = stored.sel(epoch=epoch)
                assert float(at.rho) == pytest.approx(best, abs=1e-5)
                assert float(at.mean_rank) == pytest.approx(np.mean(ranks), abs=0.02)  # rounding may swap two ranks
                assert float(at.median_rank) == pytest.approx(np.median(ranks), abs=0.05)


def made_up(slow: float = 0.1, gain: float = 0.2) -> xr.Dataset:
    """Eight teachers; ρ̄ rises with the width by ``gain``, and more slowly by ``slow`` for the widest students."""
    rng, over, seeds = np.random.default_rng(0), [1, 2, 10, 50], range(8)
    study = DeepWidths.configured("quick")
    assert isinstance(study, DeepWidths)
    epochs = study.looks()
    rho = np.zeros((4, 8, 2, len(epochs)))
    for i, width in enumerate(over):
        spread = 0.1 / (i + 1) * rng.choice([-1, 1], 8)[:, None]
        end = 0.5 + gain * min(i, 2) / 2
        for k, epoch in enumerate(epochs):
            rise = epoch / study.epochs * (end - 0.2) - (slow if width == 50 and epoch else 0)
            rho[i, :, :, k] = 0.2 + rise + spread * (epoch > 0) + 0.001 * rng.standard_normal((8, 2))
    coords = {"over": over, "seed": seeds, "layer": [0, 1], "epoch": list(epochs)}
    loss = xr.DataArray(np.ones((4, 8, len(epochs))), dims=("over", "seed", "epoch"))
    return xr.Dataset({"rho": (("over", "seed", "layer", "epoch"), rho), "loss": loss}, coords)


def verdicts(result: xr.Dataset) -> dict[str, Verdict]:
    return {claim.id: claim.verdict for claim in DeepWidths.configured("quick").claims(result)}


def test_claims_hold_where_they_should_and_not_otherwise():
    assert set(verdicts(made_up()).values()) == {Verdict.HOLDS}
    assert verdicts(made_up(slow=-0.3))["LM.F12.slow-50"] is Verdict.REFUTED
    assert verdicts(made_up(gain=-0.2))["LM.F12.higher"] is Verdict.REFUTED


def test_wider_units_have_fewer_lanes_and_cost_as_much_as_they_compute():
    study = DeepWidths.configured("paper")
    lanes = {unit.values["over"]: len(unit.values["seeds"]) for unit in study.units()[::-1]}
    assert lanes[1] >= lanes[10] >= lanes[50] == 1
    widest = next(unit for unit in study.units() if unit.values["over"] == 50)
    widths = study.widths(50)
    first, weights = widths[0] * widths[1], sum(a * b for a, b in pairwise(widths))
    flops = 10 * 1562 * (2 * 64 * (3 * weights - first))
    share = 0.5 if has_faster_products() else 1.0  # of the time that PyTorch's own products take
    assert widest.flops == pytest.approx(share * flops, rel=0.02)
    assert torch.equal(study.task((3,)).teacher.W[0][0], study.task((1, 3)).teacher.W[0][1])
