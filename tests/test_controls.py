"""Every claim of every study has a negative control on which it does not hold, or is marked as a check of the code."""

import math

import pytest
import xarray as xr
from plain_words import unexplained

from relulab.lab.catalog import studies
from relulab.lab.run.answers import claims_of
from relulab.lab.theorem import Verdict

SEEDS = 6  # the fewest of which a share of all seeds may be judged
SMALL = {
    "slow-escape": {"epsilon": (0.1, 0.05, 0.02)}, "digit-features": {"n_held_out": 6},
    "connectivity": {"epochs": 8, "steps": 1000}, "optimization-bias": {"n_teacher": 20, "n": 10},
    "zero-gradient": {"points": (100, 200), "epochs": 1},
}  # fmt: skip


@pytest.mark.parametrize("name", studies())
def test_no_claim_holds_for_its_control(name, made_up_data, monkeypatch):
    monkeypatch.setenv("RELULAB_DATA", str(made_up_data))
    seeds = {"seeds": SEEDS} if "seeds" in studies()[name].model_fields else {}
    study = studies()[name].configured("smoke", {**seeds, **SMALL.get(name, {})})
    parts = [study.measure(unit, lambda steps: None) for unit in study.units()]
    claims = claims_of(study, xr.merge(parts, join="outer", compat="no_conflicts"))
    bare = [c.id for c in claims if c.control is None and not c.check]
    assert not bare, f"claims without a control: {bare}; add them to controls() of the study"
    readings = {c.id: c.control for c in claims if c.control is not None}
    assert [id for id, reading in readings.items() if reading.verdict is Verdict.HOLDS] == []
    known = {c.id for c in claims if math.isfinite(c.measured)}  # others need larger networks
    assert [id for id in known & readings.keys() if not math.isfinite(readings[id].measured)] == []
    names = {reading.name for reading in readings.values()}
    assert unexplained(study.ids[0], study.symbols, sorted(names)) == []
