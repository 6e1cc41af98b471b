"""IB.X1: data that leave orthogonal separability, what a unit measures, and claims that can fail."""

import numpy as np
import pytest
import torch
import xarray as xr

from relulab import UserError
from relulab.lab.control import controlled
from relulab.lab.study import Unit
from relulab.nets.initial import balanced
from relulab.subjects.bias.instruments.max_margin import max_margin
from relulab.subjects.bias.studies.separability_limits.claims import sweep_of
from relulab.subjects.bias.studies.separability_limits.study import SeparabilityLimits
from relulab.subjects.bias.tools.broken_orthants import shifted, strayed
from relulab.subjects.bias.tools.neuron_flow import neurons

LEVELS = {"start": [1e-8, 0.1, 1.0], "shift": [0.0, 0.4, 1.0, 1.4], "stray": [0.0, 30.0, 60.0, 90.0]}


def pairs_of(data):
    """All pairs i ≤ j by loops: how many are broken, of how many, and the largest cosine with the wrong sign."""
    broken, wrong, count = 0, 0.0, 0
    for i in range(len(data.X)):
        for j in range(i, len(data.X)):
            cosine = float(data.X[i] @ data.X[j] / data.X[i].norm() / data.X[j].norm())
            same = bool(data.y[i] == data.y[j])
            broken += cosine <= 0 if same else cosine > 0
            wrong, count = max(wrong, -cosine if same else cosine), count + 1
    return broken / count, wrong


def test_a_unit_measures_directions_and_distances_of_its_data():
    study = SeparabilityLimits.configured("smoke")
    unit = Unit("one", {"sweep": "shift", "level": 1.0, "seeds": (0, 1)})
    result = study.measure(unit, lambda steps: None).sel(sweep="shift", level=1.0)
    for seed in (0, 1):
        data = study.data("shift", 1.0, seed)
        broken, wrong = pairs_of(data)
        one = result.sel(seed=seed)
        assert float(one.broken) == pytest.approx(broken) and float(one.wrong) == pytest.approx(wrong) and wrong > 0.3
        assert float(one.log_loss) <= -study.until and 0 < float(one["least"].sel(when="end")) < 0.99
        W, a = (t[0] for t in neurons(balanced((study.d, study.width, 1), [seed], size=min(study.sizes))))
        sides = max_margin(data.X, data.y)
        live = [j for j in range(study.width) if any(float(w @ W[j]) > 0 for w in data.X)]
        cosines = [float(torch.cosine_similarity(W[j], sides[0 if a[j] > 0 else 1].w, dim=0)) for j in live]
        start = one.sel(when="start")
        assert float(start["least"]) == pytest.approx(min(cosines)) and int(start.live) == len(live)
        assert float(start.share) == pytest.approx(np.mean([c >= 0.99 for c in cosines]))


def test_shifts_keep_a_linear_separator_and_turns_keep_lengths():
    study = SeparabilityLimits.configured("smoke")
    data = study.data("start", 1.0, 0)
    moved = shifted(data, 2.0)
    assert ((moved.X.sum(1) > 0) == (data.y > 0)).all() and pairs_of(data)[0] == 0 < pairs_of(moved)[0]
    turned = strayed(data, 40.0)
    changed = (turned.X != data.X).any(1).nonzero()[:, 0].tolist()
    assert len(changed) == 1 and data.y[changed[0]] > 0
    x, y = data.X[changed[0]], turned.X[changed[0]]
    assert float(y.norm()) == pytest.approx(float(x.norm()))
    assert float(torch.cosine_similarity(x, y, dim=0)) == pytest.approx(np.cos(np.deg2rad(40)))
    other = data.X[data.y < 0].mean(0)
    closer = [float(torch.cosine_similarity(v, other, dim=0)) for v in (x, y)]
    assert np.rad2deg(np.arccos(closer[0]) - np.arccos(closer[1])) == pytest.approx(40)
    with pytest.raises(UserError, match="angle from 0 to"):
        strayed(data, 179.9)


def made(good: bool, seeds: int = 6) -> xr.Dataset:
    """A result in which all claims are true, or none."""
    rng, parts = np.random.default_rng(0), []
    for sweep, levels in LEVELS.items():
        rank = np.arange(len(levels)) if good else np.arange(len(levels))[::-1]
        share = np.where(rank < 2, 1.0, 0.1)
        wrong = np.array({"start": [0.0] * 3, "shift": [0, 0.1, 0.6, 0.8], "stray": [0, 0.05, 0.5, 0.9]}[sweep])
        broken = np.array({"start": [0.0] * 3, "shift": [0, 0.2, 0.4, 0.45], "stray": [0, 0.01, 0.02, 0.03]}[sweep])
        least = (1 - wrong if good else 1 - broken) + 0 * wrong
        end = np.stack([share, least], -1)[:, None] + np.zeros((1, seeds, 1))
        drawn = rng.uniform(-1, 0, (len(levels), seeds // 2))
        before = np.concatenate([drawn, -1 - drawn], 1)  # in half of the seeds in reversed order, so without any trend
        start = np.stack([0 * before, before], -1)
        values = np.stack([start, end])
        dims = ("when", "level", "seed")
        part = xr.Dataset({"share": (dims, values[..., 0]), "least": (dims, values[..., 1])})
        for name, column in (("broken", broken), ("wrong", wrong), ("log_loss", wrong - 100)):
            part[name] = (("level", "seed"), np.repeat(column[:, None], seeds, 1))
        part["live"] = part.share * 0 + 200
        part = part.assign_coords(when=["start", "end"], level=levels, seed=range(seeds))
        parts.append(part.expand_dims(sweep=[sweep]))
    return xr.merge(parts, join="outer", compat="no_conflicts")


@pytest.mark.parametrize("good", [True, False])
def test_claims_hold_where_they_are_true_and_only_there(good):
    study, result = SeparabilityLimits.configured("quick"), made(good)
    claims = controlled(study.claims(result), study.controls(result), study.claims)
    assert len(claims) == 6 and {c.verdict.name for c in claims} == {"HOLDS" if good else "REFUTED"}
    if good:
        assert all(c.control is not None and c.control.verdict.name != "HOLDS" for c in claims)


def test_equal_shares_of_few_neurons_do_not_show_a_share_above_99_percent():
    """In each of six seeds all 20 live neurons: 120 of 120 have a lower limit of 0.970."""
    study, result = SeparabilityLimits.configured("quick"), made(True)
    result["live"] = result.live * 0 + 20
    claims = {c.id: c for c in study.claims(result)}
    assert claims["IB.X1.small-start"].verdict.name == claims["IB.X1.small-shift"].verdict.name == "INCONCLUSIVE"
    assert round(claims["IB.X1.small-start"].low, 3) == 0.97 and claims["IB.X1.large-start"].verdict.name == "HOLDS"


def test_without_a_slight_violation_there_is_no_verdict():
    study, result = SeparabilityLimits.configured("quick"), made(True)
    result["wrong"] = result.wrong.where(result.wrong != 0.1, 0.3)
    verdicts = {c.id: c.verdict.name for c in study.claims(result)}
    assert verdicts["IB.X1.small-shift"] == "INCONCLUSIVE"


def test_the_figure_shows_every_network():
    result = made(True)
    figure = SeparabilityLimits.configured("quick").figures(result)["limits"]
    shown = [line.get_xdata() for ax in figure.axes[1:3] for line in ax.lines if line.get_linestyle() == "None"]
    assert [len(x) for x in shown] == [24, 24, 24, 24] and len(sweep_of(result, "start").level) == 3


def test_levels_are_checked():
    with pytest.raises(UserError, match="appears twice"):
        SeparabilityLimits.configured("smoke", {"shifts": (0.0, 0.0)})
    with pytest.raises(UserError, match="d"):
        SeparabilityLimits.configured("smoke", {"d": 5})
