"""LM.T2.dynamics: the claims on made-up results, the comparison of velocities, and one measured unit."""

import numpy as np
import pytest
import torch
import xarray as xr

import relulab as rl
from relulab import Verdict
from relulab.lab.control import controlled
from relulab.subjects.specialization.studies.dynamics_beside_sgd.measures import along, compared
from relulab.subjects.specialization.studies.dynamics_beside_sgd.study import STUDY
from relulab.subjects.specialization.tools.mean_dynamics import flat_weights
from relulab.subjects.specialization.tools.separable_pairs import open_pair


def made_up(cosine=0.5, loss=0.01, rho=0.9, distance=0.5, seeds=8):
    rng = np.random.default_rng(0)
    arms, noise = ["mean", "exact", "other", "sgd"], lambda *shape: 1 + 0.1 * rng.random(shape)
    start_end = np.array([0.0, 1.0])

    def by_arm(start, ends):
        values = [start + (end - start) * start_end[:, None] for end in ends]
        return ("arm", "time", "seed"), np.stack(values) * noise(4, 2, seeds)

    data = {"loss": by_arm(1.0, (loss, 0.01, 2.0, 0.01)), "distance": by_arm(0.0, (distance, 0.1, 3.0, 0.0))}
    _, values = by_arm(0.4, (rho, 0.9, 0.3, 0.9))
    data["rho"] = (("arm", "time", "seed", "layer"), values[..., None] * noise(4, 2, seeds, 2))
    layered = ("time", "seed", "layer")
    data["cosine"] = (layered, cosine * noise(2, seeds, 2))
    data["cosine_other"] = (layered, 0.1 * rng.standard_normal((2, seeds, 2)))
    return xr.Dataset(data, coords={"arm": arms, "time": [0.0, 40.0], "seed": range(seeds), "layer": [1, 2]})


def verdicts(result):
    study = STUDY.configured("quick")
    claims = controlled(study.claims(result), study.controls(result), study.claims)
    assert all(c.control is not None for c in claims)
    return {c.id.removeprefix("LM.T2.dynamics."): c.verdict for c in claims}


def test_claims_hold_and_are_refuted_where_they_should():
    assert verdicts(made_up()) == dict.fromkeys(("direction", "loss", "match", "near"), Verdict.HOLDS)
    assert set(verdicts(made_up(-0.5, 3.0, 0.1, 2.0)).values()) == {Verdict.REFUTED}


def test_velocities_agree_where_expectations_separate():
    star, net, x = open_pair(np.random.default_rng(0))
    other = rl.torch_default((4, 3, 5, 2), [0], dtype=torch.float64)
    found = compared(net, star, other, flat_weights(net)[None], x[None])
    np.testing.assert_allclose(found["cosine"], 1, atol=1e-12)
    np.testing.assert_allclose(found["gap"], 0, atol=1e-10)
    assert found["cosine_other"].shape == (1, 1, 2) and (found["cosine_other"] < 0.999).all()
    same = along(star, star, flat_weights(star)[None], x[None])
    assert same["loss"].item() == 0 and same["rho"].squeeze().tolist() == pytest.approx([1, 1])


def test_units_measure_and_draw():
    study = STUDY.configured("smoke", {"seeds": 1, "steps": 10})
    (unit,) = study.units()
    result = study.measure(unit, lambda steps: None)
    distance = result.distance.isel(time=-1, seed=0)
    assert float(distance.sel(arm="sgd")) == 0 < float(distance.sel(arm="mean"))
    start = result.loss.sel(time=0).isel(seed=0)
    np.testing.assert_allclose(start, float(start.sel(arm="sgd")))  # all arms start alike
    assert set(study.figures(result)) == {"dynamics"}
