"""Gradient flow to the max-margin directions: what a unit measures, and that the claims can fail."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr

from relulab.lab.control import controlled
from relulab.lab.show.animation import animated
from relulab.nets.initial import balanced
from relulab.subjects.bias.instruments.max_margin import max_margin
from relulab.subjects.bias.studies.max_margin_limit.claims import decided, last, powers
from relulab.subjects.bias.studies.max_margin_limit.study import MaxMarginLimit


@pytest.fixture(scope="module")
def pair():
    study = MaxMarginLimit.configured("smoke")
    parts = [study.measure(unit, lambda steps: None) for unit in study.units()]
    return study, xr.merge(parts, join="outer", compat="no_conflicts")


def test_every_path_goes_from_undecided_to_two_directions(pair):
    study, result = pair
    for kind in study.kinds:
        here = result.sel(kind=kind)
        end = last(here)
        assert (end.log_loss <= -study.until).all() and (end.cosine > 0.9).all()
        counts = here["count"].transpose("seed", "look", "place")
        assert (
            counts.sum("place").where(here.log_loss.notnull()).isin([study.width, np.nan]) | here.log_loss.isnull()
        ).all()
        assert (counts.isel(look=0).sel(place="undecided") > 0).all() and not end["count"].sel(place="undecided").any()
        assert (here.halving < 0.01).all()
    assert (result.supports.sel(kind="spanning") == study.d).all()


def test_supports_and_the_plane_are_those_of_the_data(pair):
    study, result = pair
    data = study.data("paper", 1)
    found = max_margin(data.X, data.y)
    one = last(result.sel(kind="paper")).sel(seed=1)
    assert one.supports.values.tolist() == [found.positive.rank, found.negative.rank]
    toward = one.plane.values[one.sign.values > 0]
    assert (toward[:, 0] > 0.95 * np.linalg.norm(toward, axis=1)).all()
    assert np.linalg.norm(one.plane.values, axis=1).max() == pytest.approx(1, abs=0.05)
    cos = float(torch.cosine_similarity(found.positive.w, found.negative.w, dim=0))
    others = one.plane.values[one.sign.values < 0]
    assert others[:, 0] / np.linalg.norm(others, axis=1) == pytest.approx(cos, abs=0.1)


def test_figure_animation_and_claims_come_from_a_result(pair):
    study, result = pair
    assert set(study.figures(result)) == {"directions"}
    moving = study.animations(result)
    assert set(moving) == {"turning-paper", "turning-spanning"}
    assert animated(replace(moving["turning-paper"], frames=3)).gif.startswith(b"GIF89a")
    assert len(study.claims(result)) == 9


def test_claims_are_refuted_by_what_contradicts_them(pair):
    study, result = pair
    five = result.isel(seed=[0] * 5).assign_coords(seed=range(5)).copy(deep=True)
    for name, value in (("cosine", 0.5), ("beyond", 0.1), ("halving", 0.5)):
        five[name] = five[name] * 0 + value
    five["first"] = abs(five.log_loss) ** -2.0
    # one neuron is undecided until the loss has fallen to a twentieth
    undecided = (five["count"].place == "undecided") & (five.log_loss > -3)
    five["count"] = five["count"].where(~undecided, 1)
    verdicts = {c.id: c.verdict.name for c in study.claims(five)}
    assert set(verdicts.values()) == {"REFUTED"}, verdicts


def test_no_control_holds_where_the_claims_do(pair):
    study, result = pair
    six = result.isel(seed=[0, 1] * 3).assign_coords(seed=range(6)).copy(deep=True)
    six["halving"] = six.halving * 0
    six["cosine"], six["beyond"] = six.cosine * 0 + 1, six.beyond.where(six.log_loss > -1, 1e-9)
    steps = xr.DataArray([-0.5, -1.0], dims="kind", coords={"kind": ["paper", "spanning"]})
    six["first"] = abs(six.log_loss) ** steps
    claims = controlled(study.claims(six), study.controls(six), study.claims)
    assert {c.verdict.name for c in claims} == {"HOLDS"}
    assert [c.id for c in claims if c.control is None] == [c.id for c in claims if c.check]
    verdicts = {c.id: c.control.verdict.name for c in claims if c.control}
    assert len(verdicts) == 7 and "HOLDS" not in verdicts.values(), verdicts
    assert {verdicts[f"IB.T1.flow.{name}"] for name in ("cosine-paper", "rank-spanning", "rate-paper")} == {"REFUTED"}


def test_cosines_with_class_means_at_the_start(pair):
    study, result = pair
    data = study.data("paper", 0)
    net = balanced((study.d, study.width, 1), [0], size=study.size)
    W, a = net.W[0].data[0].T, net.W[1].data[0, :, 0]
    means = {sign: data.X[data.y == sign].mean(0) for sign in (1, -1)}
    live = [j for j in range(study.width) if (data.X @ W[j] > 0).any()]
    least = min(float(torch.cosine_similarity(W[j], means[1 if a[j] > 0 else -1], dim=0)) for j in live)
    assert float(result.with_mean.sel(kind="paper", seed=0, look=0)) == pytest.approx(least)


def test_a_neuron_that_stays_undecided_counts_as_never_decided(pair):
    _, result = pair
    here = result.sel(kind="paper").copy(deep=True)
    here["count"].loc[{"place": "undecided", "seed": 0}] = 1
    shares = decided(here)
    assert shares[0] == 0 and shares[1] > 0.5


def test_powers_are_those_of_a_law(pair):
    _, result = pair
    here = result.sel(kind="paper").copy(deep=True)
    here["first"] = 3 * abs(here.log_loss) ** -0.7
    assert powers(here) == pytest.approx([-0.7, -0.7])


def test_a_repeated_kind_is_an_error():
    from relulab.core.errors import UserError

    with pytest.raises(UserError, match="appears twice"):
        MaxMarginLimit.configured("smoke", {"kinds": ("paper", "paper")})
