"""relulab measure batch-norm-bias: counts by hand, several files, pictures, and files without BatchNorm."""

import json
import math

import numpy as np
import pytest
import torch
from clear_figures import figure_problems
from torch import nn

from relulab import UserError
from relulab.lab.catalog import find_measurement
from relulab.subjects.specialization import active_share, batch_norm_biases, negative_share
from relulab.subjects.specialization.tools.layer_biases import biases_of, together, trend


def network(n: int = 4) -> nn.Sequential:
    net = nn.Sequential(nn.Linear(2, n), nn.BatchNorm1d(n), nn.ReLU(), nn.Linear(n, 3), nn.BatchNorm1d(3), nn.ReLU())
    net[1].bias.data = torch.linspace(-1, 1, n)
    net[1].weight.data = torch.linspace(-2, 2, n)
    net[4].bias.data = torch.tensor([-0.5, 0.0, -1.0])
    return net


@pytest.fixture
def files(tmp_path):
    torch.save(network().state_dict(), tmp_path / "a.pt")
    np.savez(tmp_path / "b.npz", **{name: t.numpy() for name, t in network(5).state_dict().items()})
    torch.save(nn.Linear(2, 3).state_dict(), tmp_path / "plain.pt")
    return tmp_path


def test_counts_by_hand(files, here):
    code, out, err = here("measure", "batch-norm-bias", "a.pt", "--json")
    (found,) = json.loads(out)["networks"]
    assert code == 0 and not err and (found["negative"], found["biases"]) == (4, 7)
    first, second = found["layers"]
    assert (first["negative"], first["share"], second["negative"]) == (2, 0.5, 2)
    assert second["share"] == pytest.approx(2 / 3) and first["place"] == "before a ReLU"
    # the interval of two of three, from the binomial distribution: P(X ≥ 2 | low) = P(X ≤ 2 | high) = 2.5%
    low, high = second["low"], second["high"]
    assert 3 * low**2 * (1 - low) + low**3 == pytest.approx(0.025, rel=1e-6)
    assert 1 - high**3 == pytest.approx(0.025, rel=1e-6)
    ratios = [b / abs(w) for b, w in zip(np.linspace(-1, 1, 4), np.linspace(-2, 2, 4), strict=True)]
    expected = np.mean([(1 + math.erf(r / math.sqrt(2))) / 2 for r in ratios])
    assert first["active"] == pytest.approx(expected, abs=1e-7) and found["trend"]["value"] is None


def test_several_files_as_text_with_pictures_and_arrays(files, here):
    code, out, _ = here("measure", "batch-norm-bias", "a.pt", "b.npz", "--out", "c.npz", "--figure", "c.png")
    assert code == 0 and "a.pt" in out and "4 of 7, 57%" in out and "fewer than five layers" in out
    assert (files / "c.png").stat().st_size > 1000
    with np.load(files / "c.npz") as arrays:
        assert arrays["b/1/c_1"].tolist() == pytest.approx(np.linspace(-1, 1, 5).tolist())
        assert set(arrays) == {f"{net}/{layer}/c_{i}" for net in "ab" for layer in (1, 4) for i in (0, 1)}


def test_the_picture_explains_itself(files):
    picture = find_measurement("batch-norm-bias").given(networks=[files / "a.pt", files / "b.npz"]).measure().picture
    assert picture is not None and figure_problems(picture()) == []


def test_a_file_without_batch_norm(files, here):
    code, out, err = here("measure", "batch-norm-bias", "a.pt", "plain.pt", "--out", "c.npz")
    assert code == 2 and not out and "plain.pt has no BatchNorm with biases" in err and err.count("\n") <= 3
    assert not (files / "c.npz").exists()
    with pytest.raises(UserError, match="Linear has no BatchNorm with biases"):
        batch_norm_biases(nn.Linear(2, 3))


def test_modules_and_files_agree(files):
    of_file, of_module = (batch_norm_biases(net) for net in (files / "a.pt", network()))
    assert [one.row() | {"told_by": ""} for one in of_file] == [one.row() | {"told_by": ""} for one in of_module]
    assert together(of_file) == (4, 7) and biases_of([one.layer for one in of_file], "a")[1].negative == 2


def test_active_shares_agree_with_samples_and_with_the_sign_of_the_bias():
    bias, weight = torch.tensor([-0.7, 0.3, -0.1, 0.4]).double(), torch.tensor([-1.5, 0.5, 2.0, 0.0]).double()
    normal = torch.from_numpy(np.random.default_rng(0).standard_normal((40_000, 4)))
    sampled = (weight * normal + bias > 0).double().mean(0)
    standard_error = 0.5 / 200
    assert ((active_share(bias, weight) - sampled).abs() < 5 * standard_error).all()
    assert ((active_share(bias, weight) < 0.5) == (bias < 0)).all() and float(negative_share(bias)) == 0.5


def test_the_interval_of_a_rank_correlation_covers():
    """Of independent shares and depths the interval contains zero in about 95% of cases, also of few layers."""
    rng = np.random.default_rng(0)
    for layers in (6, 16):
        found = [trend(rng.random(layers)) for _ in range(600)]
        covered = np.mean([one.low <= 0 <= one.high for one in found])
        assert 0.92 < covered < 0.99
    straight = trend(np.arange(8.0))
    assert straight.value == 1 and straight.low > 0.5 and straight.low < straight.high < 1
    assert math.isnan(trend([0.5] * 8).value) and math.isnan(trend([0.1, 0.2, 0.3, 0.4]).value)
