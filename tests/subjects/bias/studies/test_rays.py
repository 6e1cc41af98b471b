"""IB figures 1 and 2: what a unit measures, against plain computations, and that the claims can fail."""

import numpy as np
import pytest
import torch
import xarray as xr

from relulab.data.labeled_task import LabeledTask
from relulab.lab.control import controlled
from relulab.subjects.bias.instruments.max_margin import max_margin
from relulab.subjects.bias.studies.rays.residual_rays import ResidualRays
from relulab.subjects.bias.studies.rays.two_layer_rays import TwoLayerRays
from relulab.train.sgd import sgd

STUDIES = (TwoLayerRays, ResidualRays)


def measured(study):
    return study.measure(study.units()[0], lambda steps: None)


@pytest.fixture(scope="module", params=STUDIES, ids=lambda s: s.name)
def pair(request):
    study = request.param.configured("smoke")
    return study, measured(study)


def trained(study):
    seeds = tuple(range(study.seeds))
    data = [study.data(seed) for seed in seeds]
    net = study.start(seeds)
    sgd(net, LabeledTask(data, seeds=seeds), epochs=study.epochs, steps=study.n // study.batch, batch=study.batch,
        lr=study.lr)  # fmt: skip
    return data, net


def test_singular_values_and_correlations_are_those_of_the_trained_networks(pair):
    study, result = pair
    data, net = trained(study)
    for seed in result.seed.values:
        for layer in result.layer.values:
            W = net.W[layer - 1].data[seed].double().T
            s = torch.linalg.svdvals(W)
            end, start = (result.sel(when=when, seed=seed, layer=layer) for when in ("end", "start"))
            np.testing.assert_allclose(end.singular, s[:10], rtol=1e-9)
            before = study.start((0, 1)).W[layer - 1].data[seed].double().numpy()
            gram = np.linalg.eigvalsh(before @ before.T)[::-1][:10]
            np.testing.assert_allclose(start.singular, gram**0.5, rtol=1e-6)
            at = end.projected.values
            np.testing.assert_allclose(np.linalg.norm(at, axis=0), s[:2], rtol=1e-9)
        found = max_margin(data[seed].X, data[seed].y)
        W, a = net.W[0].data[seed].double().T, net.W[-1].data[seed, :, 0]
        for j in range(study.width):
            means = [data[seed].X[data[seed].y == label].mean(0) for label in (1, -1)]
            for name, vectors in (("correlation", [side.w for side in found]), ("with_mean", means)):
                both = [float(torch.cosine_similarity(W[j], v, dim=0)) for v in vectors]
                own = both[0 if a[j] > 0 else 1] if isinstance(study, TwoLayerRays) else max(both)
                assert float(result[name].sel(when="end", seed=seed)[j]) == pytest.approx(own, abs=1e-12)
        assert result.supports.sel(seed=seed).values.tolist() == [found.positive.rank, found.negative.rank]


def test_history_begins_at_the_start_and_ends_with_the_trained_network(pair):
    study, result = pair
    assert result.epoch.values.tolist()[0] == 0 and result.epoch.values.tolist()[-1] == study.epochs
    assert result.loss.sel(epoch=0).values == pytest.approx(np.log(2), abs=0.01)
    assert (result.loss.sel(epoch=study.epochs) < result.loss.sel(epoch=0)).all()
    share = (result.correlation > 0.9).mean("neuron")
    np.testing.assert_allclose(result.aligned.sel(epoch=study.epochs), share.sel(when="end"))
    np.testing.assert_allclose(result.aligned.sel(epoch=0), share.sel(when="start"))


def test_figures_and_claims_come_from_a_result(pair):
    study, result = pair
    assert set(study.figures(result)) == {"rays", "history"}
    claims = study.claims(result)
    assert len(claims) == 2 + 2 * result.sizes["layer"]
    assert {c.verdict.name for c in claims} == {"NOT_JUDGED"}  # two seeds give no verdict


def made(result, *, aligned: float, mean: float, singular: list[float]):
    """Six seeds with the same correlations and singular values after training; before, all are as in ``result``."""
    six = result.isel(seed=[0] * 6).assign_coords(seed=range(6)).copy(deep=True)
    end, noise = {"when": "end"}, xr.DataArray(1 + 1e-3 * np.arange(6), dims="seed")
    six["correlation"].loc[end] = aligned
    six["with_mean"].loc[end] = mean
    largest = six.singular.sel(when="start").max("rank")
    rows = largest * noise * xr.DataArray(singular, dims="rank")
    six["singular"].loc[end] = rows.transpose(*six.singular.sel(when="end").dims).values
    return six


def verdicts(study, result):
    return {c.verdict.name for c in controlled(study.claims(result), study.controls(result), study.claims)}


def test_claims_hold_where_they_are_true_and_for_no_control(pair):
    study, result = pair
    good = made(result, aligned=0.95, mean=0.9, singular=[9, 4, *np.linspace(1, 0.8, 8)])
    claims = controlled(study.claims(good), study.controls(good), study.claims)
    assert {c.verdict.name for c in claims} == {"HOLDS"}
    assert {c.control.verdict.name for c in claims} <= {"REFUTED", "INCONCLUSIVE"}
    ranks = [c.control for c in claims if "rank" in c.id or "aligned" in c.id]
    assert {reading.verdict.name for reading in ranks} == {"REFUTED"}


@pytest.mark.parametrize("singular", [
    [9, 1.5, *np.linspace(1, 0.8, 8)], [9, 4, 3.5, *np.linspace(1, 0.8, 7)],
], ids=["rank one", "rank three"])  # fmt: skip
def test_claims_are_refuted_by_what_contradicts_them(pair, singular):
    study, result = pair
    assert verdicts(study, made(result, aligned=0.5, mean=0.9, singular=singular)) == {"REFUTED"}


def test_a_network_that_diverged_gives_no_verdict(pair):
    study, result = pair
    bad = made(result, aligned=0.95, mean=0.9, singular=[9, 4, *np.linspace(1, 0.8, 8)])
    for name in ("correlation", "with_mean", "singular"):
        bad[name].loc[{"when": "end", "seed": 3}] = np.nan
    assert verdicts(study, bad) == {"INCONCLUSIVE"}


def test_what_is_added_to_the_start_has_rank_two():
    """So says the claim on ranks; here by the matrix itself, trained for longer."""
    study = TwoLayerRays.configured("smoke", {"epochs": 60, "n": 200})
    before, (_, net) = study.start((0, 1)).W[0].data.double(), trained(study)
    s = torch.linalg.svdvals(net.W[0].data.double() - before)
    assert (s[:, 2] < 0.15 * s[:, 1]).all() and (s[:, 1] > 3 * s[:, 2]).all()


def test_seeds_alone_and_together():
    study = TwoLayerRays.configured("smoke", {"lanes": 1})
    together = measured(TwoLayerRays.configured("smoke"))
    for unit, seed in zip(study.units(), (0, 1), strict=True):
        alone = study.measure(unit, lambda steps: None)
        np.testing.assert_allclose(alone.correlation.sel(seed=seed), together.correlation.sel(seed=seed), atol=1e-4)
