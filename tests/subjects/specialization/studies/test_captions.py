"""Captions and claims of the studies of specialization have all their parts."""

import pytest
import xarray as xr

from relulab import find_study

STUDIES = ("SS.F3", "SS.F5", "SS.F7", "SS.F8", "SS.F9", "SS.X1", "S0.T5.sim", "S0.T7.sim", "S0.T7.escape")
SMALL = {"SS.F9": {"seeds": 1, "points": (30,)}, "SS.X1": {"seeds": 1}, "S0.T7.sim": {"seeds": 1},
         "S0.T7.escape": {"seeds": 1, "epsilon": (0.1, 0.05)}}  # fmt: skip


@pytest.mark.parametrize("id", STUDIES)
def test_every_figure_has_a_caption_and_every_claim_a_statistic(id):
    study = find_study(id).configured("smoke", SMALL.get(id, {}))
    parts = [study.measure(unit, lambda steps: None) for unit in study.units()]
    result = xr.merge(parts, join="outer", compat="no_conflicts")
    assert set(study.captions) == {*study.figures(result), *study.animations(result)}
    claims = study.claims(result)
    assert claims and len({claim.id for claim in claims}) == len(claims)
    for claim in claims:
        assert claim.says[0].isupper() or claim.says[0].isdigit()
        assert claim.statistic and not claim.says.endswith(".") and not claim.statistic.endswith(".")
