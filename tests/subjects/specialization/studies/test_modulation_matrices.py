"""LM.F11: how large a diagonal is, the claims on made-up results, and one measured unit."""

import numpy as np
import pytest
import torch
import xarray as xr

import relulab as rl
from relulab import Verdict
from relulab.lab.control import controlled
from relulab.subjects.specialization.studies.modulation_matrices.measures import (
    diagonal_ratio,
    drawn_entries,
    matched_layers,
    statistics,
)
from relulab.subjects.specialization.studies.modulation_matrices.study import STUDY


def copies(extra: int = 3) -> tuple[rl.MLP, rl.MLP]:
    """A student that has the teacher's nodes in reverse order in the hidden layer, and some random ones."""
    star = rl.torch_default((4, 5, 6), [0], dtype=torch.float64)
    net = rl.torch_default((4, 5 + extra, 6), [1], dtype=torch.float64)
    net.W[0].data[0, :, :5], net.b[0].data[0, 0, :5] = star.W[0].data[0].flip(1), star.b[0].data[0, 0].flip(0)
    net.W[1].data[0, :5] = star.W[1].data[0].flip(0)
    return star, net


def points() -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).standard_normal((300, 4)))


def test_copies_are_matched_and_have_a_diagonal():
    star, net = copies()
    (layer,) = matched_layers(star, net, points())
    assert layer.partner.tolist() == [4, 3, 2, 1, 0]
    found = statistics([layer], np.random.default_rng(0))
    assert found["rho"] == pytest.approx([1.0])
    assert found["ratio_H"][0] > found["ratio_beta"][0] > 0.5 and found["ranks"][0] > 0.1
    drawn = drawn_entries(layer)["H"]
    assert drawn.shape == (5, 5)  # too few other students for a second set
    torch.testing.assert_close(drawn, layer.matrices["H"][layer.partner].T.abs().float())
    second = drawn_entries(matched_layers(*copies(extra=6), points())[0])["beta"]
    assert second.shape == (5, 10)


def test_nodes_that_never_fire_are_left_out():
    star, net = copies()
    star.b[0].data[0, 0, 2] = -100
    (layer,) = matched_layers(star, net, points())
    assert layer.alive.tolist() == [True, True, False, True, True] and layer.partner.tolist() == [4, 3, 1, 0]
    assert np.isfinite(statistics([layer], np.random.default_rng(0))["ratio_H"][0])


def test_the_ratio_compares_the_mean_of_the_diagonal_with_the_mean_of_the_rest():
    matrix = torch.tensor([[1.0, 2.0], [8.0, -1.0], [0.0, 5.0]])
    # students 1 and 2 are matched: diagonal 8 and 5, others −1 and 0
    assert diagonal_ratio(matrix, torch.tensor([1, 2])) == pytest.approx(np.log2(6.5 / 0.5))


def made_up(growth=2.0, clearer=1.0, ranks=0.3, seeds=8):
    rng = np.random.default_rng(0)
    grid = {"over": [10], "seed": range(seeds), "epoch": [0, 12], "layer": [0, 1, 2, 3]}
    shape = tuple(map(len, grid.values()))
    end = np.array([0.0, 1.0])[None, None, :, None]

    def values(mean):
        return tuple(grid), mean + 0.2 * rng.standard_normal(shape)

    data = {
        "ratio_beta": values(growth * end), "ratio_H": values((growth + clearer) * end), "ranks": values(ranks * end),
        "ratio_beta_random": values(0.0), "ratio_H_random": values(0.0), "ranks_random": values(0.0),
    }  # fmt: skip
    data["loss"] = (("over", "seed", "epoch"), np.ones(shape[:3]))
    return xr.Dataset(data, coords=grid)


def verdicts(result):
    study = STUDY.configured("quick")
    claims = controlled(study.claims(result), study.controls(result), study.claims)
    assert all(c.control is not None for c in claims)
    return {c.id.removeprefix("LM.F11."): c.verdict for c in claims}


def test_claims_hold_and_are_refuted_where_they_should():
    assert verdicts(made_up()) == dict.fromkeys(("diagonal-H", "diagonal-beta", "clearer", "high-beta"), Verdict.HOLDS)
    assert set(verdicts(made_up(-2.0, -1.0, -0.3)).values()) == {Verdict.REFUTED}


def test_a_diverged_seed_is_not_left_out():
    result = made_up()
    result.loss[0, 3, 1] = np.nan
    assert set(verdicts(result).values()) == {Verdict.INCONCLUSIVE}


def test_units_measure_and_draw():
    study = STUDY.configured("smoke", {"seeds": 1, "epochs": 1, "steps": 20})
    (unit,) = study.units()
    result = study.measure(unit, lambda steps: None)
    assert result.ratio_H.dims == ("over", "epoch", "seed", "layer") and set(study.figures(result)) == {
        "matrices",
        "ratios",
    }
    assert result["H1"].sizes["teacher1"] <= 5
