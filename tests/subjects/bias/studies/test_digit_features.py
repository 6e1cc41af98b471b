"""IB figures 3 and 4: on tiny made-up digits the whole way, on made-up results the claims, on MNIST where it is."""

import json
import os

import numpy as np
import pytest
import torch
import xarray as xr

from relulab import Local, UserError, find_study, run_study
from relulab.lab.control import controlled
from relulab.lab.run.engines.measured_unit import measured
from relulab.lab.study import Unit
from relulab.subjects.bias.studies.digit_features.claims import inner_products, sides
from relulab.subjects.bias.studies.digit_features.drawing import similarity
from relulab.subjects.bias.studies.digit_features.measures import (
    COSINE,
    LEVELS,
    course,
    neurons,
    similarities,
    singular_values,
)
from relulab.subjects.bias.tools.digit_net import digit_net, layer_features

TINY = {"seeds": 2, "n_train": 20, "n_held_out": 5, "epochs": 2, "batch": 10}


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """As a worker has it."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def made_up(made_up_digits, monkeypatch):
    monkeypatch.setenv("RELULAB_DATA", str(made_up_digits))


def test_a_run_from_files_to_claims(made_up, tmp_path, monkeypatch):
    monkeypatch.setattr("relulab.lab.run.job.FORMATS", ("svg",))
    study = find_study("IB.F3").configured("smoke", TINY)
    summary = run_study(study, runs=tmp_path, engine=Local(1))
    assert len(summary["claims"]) == 12 and {c["verdict"] for c in summary["claims"]} == {"NOT_JUDGED"}
    figures = json.loads((tmp_path / summary["run"] / "figures.json").read_text())
    assert (
        [row["figure"] for row in figures] == list(study.captions) == ["similarity", "cosines", "weights", "training"]
    )
    assert all(row["caption"] == study.captions[row["figure"]] for row in figures)
    result = xr.open_dataset(tmp_path / summary["run"] / "result.nc", engine="h5netcdf").load()
    assert not result.drop_vars("broken").isnull().any().to_array().any()
    ticks: list[int] = []
    again, _ = measured(study, study.units()[1], ticks.append)
    assert again == (tmp_path / summary["run"] / "units" / "seed1.safetensors").read_bytes()
    assert sum(ticks) == study.units()[1].seed_steps == 4
    for name in ("inner", "cosine"):
        np.testing.assert_allclose(result[name].sum(f"{name}_bin"), 1, rtol=1e-5)
    # the last epoch of the course is the end
    end = result.sel(when="end", side="after", layer=7)
    last = result.isel(epoch=-1)
    np.testing.assert_allclose(last.seventh_breaking, end.breaking, rtol=1e-12)
    np.testing.assert_allclose(last.seventh_cosine, end.cosine_quantile.sel(level=0.5), rtol=1e-9)


def test_one_seed_does_not_depend_on_others_and_is_drawn_from_its_files(made_up):
    study = find_study("IB.F3").configured("smoke", TINY)
    (x, y), (held_out, z) = study.digits(1)
    (more, _), _ = find_study("IB.F3").configured("smoke", {**TINY, "seeds": 5, "n_train": 30}).digits(1)
    assert torch.equal(x, more[:20]) and set(y.tolist()) == {0, 1} and z.tolist() == [0] * 5 + [1] * 5
    assert x.shape == (20, 1, 28, 28) and x.min() == -1 and x.max() == 1
    assert len(torch.unique(held_out.flatten(1), dim=0)) > 3
    other = find_study("IB.F3").configured("smoke", {**TINY, "background": 0}).digits(1)[0][0]
    torch.testing.assert_close(x, 2 * other - 1)
    assert study.units()[0] == Unit("seed0", {"seed": 0}, 4, study.units()[0].flops)


@pytest.mark.parametrize("given, sentence", [
    ({"n_train": 181}, "expected n_train ≤ 180, .* got n_train = 181"),
    ({"n_held_out": 13}, "expected n_held_out ≤ 12, .* got n_held_out = 13"),
])  # fmt: skip
def test_more_digits_than_there_are(made_up, tmp_path, given, sentence):
    with pytest.raises(UserError, match=sentence):
        run_study(find_study("IB.F3").configured("smoke", {**TINY, **given}), runs=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


@pytest.fixture(scope="module")
def look():
    """A network with weights large enough for units that are off on some of eight random pictures."""
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(8, 1, 28, 28, generator=generator) * 2 - 1
    y = torch.tensor([0] * 3 + [1] * 5)
    return digit_net(0, scale=50.0).requires_grad_(False), x, y


def test_similarities_against_loops(look):
    net, x, y = look
    found = similarities(net, x, y)
    features = {(0, "before"): x.flatten(1), (0, "after"): x.flatten(1)}
    for layer, before, after in layer_features(net, x):
        features |= {(layer, "before"): before, (layer, "after"): after}
    for (layer, side), f in features.items():
        f, here = f.double().numpy(), found.sel(layer=layer, side=side)
        rows = {"different": [], "both 0": [], "both 1": []}
        for i in range(8):
            for j in range(i):
                kind = f"both {int(y[i])}" if y[i] == y[j] else "different"
                inner = float((f[i] * f[j]).sum())
                size = np.sqrt((f[i] ** 2).sum() * (f[j] ** 2).sum())
                rows[kind].append((inner, inner / size if size else 0.0))
        scale = np.mean([(v**2).sum() for v in f])
        assert float(here.scale) == pytest.approx(scale, rel=1e-9)
        for kind, row in rows.items():
            inner, cosine = np.array(row).T
            one = here.sel(pair=kind)
            wrong = inner > 0 if kind == "different" else inner <= 0
            assert float(one.breaking) == pytest.approx(wrong.mean(), abs=1e-12)
            np.testing.assert_allclose(one.inner_quantile, np.quantile(inner / scale, LEVELS), rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(one.cosine_quantile, np.quantile(cosine, LEVELS), rtol=1e-6, atol=1e-9)
            if wrong.any():
                assert float(one.broken.sel(level=1)) == pytest.approx(abs(cosine[wrong]).max(), rel=1e-9)
            else:
                assert one.broken.isnull().all()
            high = one.cosine.where(one.cosine_bin > 0.5, drop=True).sum()
            near = np.abs(cosine[:, None] - COSINE).min() > 1e-9
            assert not near or float(high) == pytest.approx((cosine > 0.5).mean(), abs=1e-6)
    won = [np.mean([[p > q for q, _ in rows["different"]] for p, _ in rows[k]]) for k in ("both 0", "both 1")]
    np.testing.assert_allclose(here.alike, won, atol=1e-9)


def test_neurons_and_course_against_their_definitions(look):
    net, x, y = look
    found, W = neurons(net, x, y), net.fc7.weight.detach().double().numpy()
    values, vectors = np.linalg.eigh(W @ W.T)
    np.testing.assert_allclose(singular_values(net), np.sqrt(values[::-1]), rtol=1e-6)
    np.testing.assert_allclose((found.place**2).sum("neuron"), values[::-1][:2], rtol=1e-6)
    for k in (0, 1):
        np.testing.assert_allclose(abs(found.place.values[:, k]), abs(vectors[:, -1 - k]) * values[-1 - k] ** 0.5,
                                   rtol=1e-4, atol=1e-5)  # fmt: skip
    assert float((found.place.sel(axis=1) * found.outer).sum()) >= 0 and float(found.place.sel(axis=2).sum()) >= 0
    np.testing.assert_allclose(found.norm, np.sqrt((W**2).sum(1)))
    *_, (_, _, f) = layer_features(net, x)
    assert len(np.unique(found.active)) > 2  # on for some pictures and off for others
    assert float(found.active.sel(digit=1, neuron=4)) == np.mean([float(v) > 0 for v in f[3:, 3]])
    fit, rows = course(net, x, y)
    right = np.mean([(float(net(x[i : i + 1])) > 0) == bool(y[i]) for i in range(8)])
    assert fit.accuracy == pytest.approx(right)
    end = similarities(net, x, y).sel(layer=7, side="after")
    np.testing.assert_allclose(rows[0], end.cosine_quantile.sel(level=0.5), atol=1e-9)
    np.testing.assert_allclose(rows[1], end.breaking, atol=1e-9)


def made_result(good: bool, seeds: int = 6) -> xr.Dataset:
    """A result in which the paper is right in everything, or in nothing."""
    net = digit_net(0)
    x = torch.zeros(4, 1, 28, 28) + torch.arange(4)[:, None, None, None]
    y = torch.tensor([0, 0, 1, 1])
    one = xr.concat([similarities(net, x, y).merge(neurons(net, x, y))] * 2, xr.Variable("when", ["start", "end"]))
    sign, up = (1 if good else -1), np.arange(8) / 10
    equal = 0.2 + sign * up + (0 if good else 0.5)
    different = 0.9 - sign * up - (0 if good else 0.5)
    middle = xr.DataArray(np.stack([different, equal, equal], -1), dims=("layer", "pair"))
    hill = np.array([0.5, 0.6, 0.7, 0.8, 0.8, 0.7, 0.6, 0.5])  # no trend
    before = xr.DataArray(np.stack([hill / 2, hill, hill], -1), dims=("layer", "pair"))
    one["cosine_quantile"] = xr.where(one.when == "start", before, middle) + 0 * one.cosine_quantile
    one["inner_quantile"] = one.cosine_quantile
    one["scale"] = one.scale * 0 + 1
    better = xr.DataArray([0.5] + [0.9 if good else 0.1] * 7, dims="layer")
    one["alike"] = (one.alike * 0 + 0.5).where(one.when == "start", better)
    one["breaking"] = (one.breaking * 0 + 1.0).where(one.when == "start", 0.0 if good else 0.5)
    values = np.where(np.arange(128) < (6 if good else 40), 1.0, 0.01)
    one["singular"] = (("when", "rank"), np.stack([np.ones(128), values]))
    plus = np.arange(128) % 2 == 0
    spot = np.where(plus[:, None], [2.0, 0.3], [-1.0, 0.3])
    spot[60:] = 0.01  # near the origin, of both signs
    if not good:
        spot[:60] = np.random.default_rng(5).choice([-1.0, 1.0], (60, 1)) * [2.0, 0.3]
        spot[1:60:4], spot[3:60:4], spot[0:60:4], spot[2:60:4] = [2, 0], [-2, 0], [2, 0.1], [-2, 0.1]
        plus[60:] = True
    mixed = np.where((np.arange(128) // 2 % 2 == 0)[:, None], [2.0, 0.3], [-2.0, 0.3])
    one["place"].loc[{"when": "start"}], one["outer"].loc[{"when": "start"}] = mixed, np.where(plus, 1.0, -1.0)
    one["place"].loc[{"when": "end"}], one["outer"].loc[{"when": "end"}] = spot, np.where(plus, 1.0, -1.0)
    return xr.concat([one.expand_dims(seed=[s]) for s in range(seeds)], "seed").assign_coords(rank=range(1, 129))


@pytest.mark.parametrize("good", [True, False])
def test_claims_hold_where_they_are_true_and_only_there(good):
    result = made_result(good)
    study = find_study("IB.F3").configured("quick")
    claims = controlled(study.claims(result), study.controls(result), study.claims)
    verdicts = {c.id: c.verdict.name for c in claims}
    assert len(verdicts) == 12
    assert set(verdicts.values()) == {"HOLDS" if good else "REFUTED"}, verdicts
    assert all(c.control.verdict.name != "HOLDS" for c in claims)


def test_inner_products_are_those_of_the_features(look):
    net, x, y = look
    one = similarities(net, x, y).expand_dims(when=["end"], seed=[0])
    *_, (_, _, f) = layer_features(net, x)
    different = [float(f[i].double() @ f[j].double()) for i in range(3) for j in range(3, 8)]
    found = inner_products(one).sel(layer=7, pair="different").item()
    assert found == pytest.approx(np.median(different), rel=1e-6)


def test_sides_of_neurons_by_hand():
    place = np.array([[4.0, 0], [4, 1], [5, 0], [-4, 0], [-4, 1], [4, 0.5], [0.1, 0], [0, 0.2], [0, -0.3]])
    outer = np.array([1.0, 1, 1, -1, -1, -1, 1, -1, -1])
    one = xr.Dataset({"place": (("neuron", "axis"), place), "outer": ("neuron", outer)})
    own, rarer, cosine, near = sides(one)
    assert (own, near) == (5 / 6, 3) and rarer == pytest.approx(1 / 3) and cosine < 0
    alone = one.isel(neuron=[0, 1, 2, 3])  # a group of one has no others
    assert np.isnan(sides(alone)[0]) and np.isnan(sides(alone)[1])


def test_the_panels_are_those_of_the_figure():
    figure = similarity(made_result(True, 2))
    titles = [ax.get_title() for ax in figure.axes]
    assert titles[:8] == ["images", *(f"layer {l}" for l in range(1, 8))] and "before the ReLU" in titles[8]


def test_on_mnist():
    if not os.environ.get("RELULAB_DATA"):
        pytest.skip("needs MNIST below the folder RELULAB_DATA")
    study = find_study("IB.F4").configured("smoke")
    result = study.measure(study.units()[0], lambda steps: None)
    # Table and text: 12,665 digits to train on; pictures from −1 to 1 have inner products from 280 to 760.
    find_study("IB.F3").configured("paper").ready()
    with pytest.raises(UserError, match=r"expected n_train ≤ 12665, .* got n_train = 12666"):
        find_study("IB.F3").configured("paper", {"n_train": 12_666}).ready()
    first = result.sel(when="start", side="after", layer=0)
    middle = (first.inner_quantile.sel(level=0.5) * first.scale).mean("seed")
    assert 400 < float(middle.sel(pair="different")) < float(middle.sel(pair="both 0")) < 600
    assert 600 < float(middle.sel(pair="both 1")) < 750
