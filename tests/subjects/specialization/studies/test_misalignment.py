"""The study of misalignment: its claims on synthetic results, a snapshot by loops, and one measured unit."""

import numpy as np
import pytest
import torch
import xarray as xr

import relulab as rl
from relulab import Verdict
from relulab.subjects.specialization.studies.misalignment import STUDY, _look


def made_up(study, power: float, weak: float) -> xr.Dataset:
    """ε_j = ε^power times a factor that grows as nodes get weaker, or shrinks, with a little noise.

    The gradients of even seeds are a fourth of those of odd seeds.
    """
    rng = np.random.default_rng(0)
    looks, nodes, seeds = study.looks, np.arange(1, study.m + 1), range(study.seeds)
    gradient = np.geomspace(0.3, 1e-3, len(looks)) * np.where(np.arange(study.seeds) % 2, 2, 0.5)[:, None]
    noise = np.exp(0.05 * rng.normal(size=(study.seeds, len(looks), study.m)))
    return xr.Dataset(
        {
            "gradient": (("seed", "epoch"), gradient),
            "epsilon": (("seed", "epoch", "node"), 0.3 * gradient[..., None] ** power * nodes**weak * noise),
            "alpha": (("seed", "epoch", "node"), np.ones_like(noise)),
            "strength": (("seed", "node"), np.tile(1 / nodes, (study.seeds, 1))),
        },
        coords={"seed": list(seeds), "epoch": looks, "node": nodes},
    )


def verdicts(study, result) -> list[Verdict]:
    return [c.verdict for c in study.claims(result)]


def test_claims_follow_the_results():
    study = STUDY.configured("quick")
    claims = study.claims(made_up(study, 1.0, 0.5))
    assert [c.verdict for c in claims] == [Verdict.HOLDS] * 2 and claims[0].measured == pytest.approx(1, abs=0.05)
    assert verdicts(study, made_up(study, -0.2, -0.5)) == [Verdict.REFUTED] * 2


def test_errors_that_only_fall_with_time_show_nothing():
    study = STUDY.configured("quick")
    result = made_up(study, 1.0, 0.5)
    result["epsilon"] = result.epsilon.mean("seed").expand_dims(seed=result.seed) * (1 + 0 * result.epsilon)
    assert study.claims(result)[0].verdict is Verdict.REFUTED  # though the slope over time is 1


def test_the_gradients_of_another_seed_do_not_explain_the_errors():
    study = STUDY.configured("quick")
    for control in study.controls(made_up(study, 1.0, 0.5)):
        held = [c.id for c in study.claims(control.result) if control.covers(c) and c.verdict is Verdict.HOLDS]
        assert not held, control.name


def test_students_that_diverged_give_no_slope():
    study = STUDY.configured("quick")
    result = made_up(study, 1.0, 0.5)
    result.epsilon[2, -1] = np.nan
    assert study.claims(result)[0].verdict is Verdict.INCONCLUSIVE


def test_a_snapshot_by_loops():
    star = rl.specialization.teacher((4, 3, 2), seeds=[1])
    net = rl.torch_default((4, 5, 2), seeds=[2], dtype=torch.float64)
    x = torch.randn(30, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    gradient, epsilon, alpha = _look(star, net, x)
    v, v_star = net.W[1].data[0], star.W[1].data[0]
    slow = 0.0
    for point in x:
        gap = (star(point[None]) - net(point[None]))[0, 0].detach()
        for k in range(5):
            if point @ net.W[0].data[0, :, k] + net.b[0].data[0, 0, k] > 0:
                slow = max(slow, abs(float(gap @ v[k])))
    assert float(gradient) == pytest.approx(slow)
    for j in range(3):
        assert float(alpha[j]) == pytest.approx(max(abs(float(v[k] @ v_star[j])) for k in range(5)))
    assert epsilon.shape == (3,) and float(epsilon.min()) > 0


def test_a_unit_and_its_figure():
    study = STUDY.configured("smoke")
    result = study.measure(study.units()[0], lambda steps: None)
    assert dict(result.sizes) == {"epoch": 3, "seed": 2, "node": 3} and bool(np.isfinite(result.gradient).all())
    assert set(study.figures(result)) == {"misalignment", "same-time"}
