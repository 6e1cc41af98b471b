"""The study of alignment at zero gradient: its claims on synthetic results, and one measured unit."""

import numpy as np
import pytest
import torch
import xarray as xr

from relulab import Verdict, torch_default
from relulab.subjects.specialization.studies.zero_gradient.study import STUDY, share_of


def made_up(study, power: float, gradient: float = 1e-12, lost: float = 1e-4) -> xr.Dataset:
    """Results in which ε falls as N^power and merging at ε changes outputs by 2 ε, with a little noise."""
    rng = np.random.default_rng(0)
    overs, N, seeds = [study.over, study.wide], list(study.points), range(study.seeds)
    merged = 10.0 ** np.arange(-8, 0)
    shape = (len(overs), len(N), len(seeds))
    noise = np.exp(0.1 * rng.normal(size=(*shape, study.m)))
    return xr.Dataset(
        {
            "gradient": (("over", "points", "seed"), np.full(shape, gradient)),
            "epsilon": (("over", "points", "seed", "node"), noise * (np.array(N) ** power)[None, :, None, None]),
            "change": (("over", "points", "seed", "merged"), 2 * merged * noise[..., :1]),
            "left": (("over", "points", "seed", "merged"), np.full((*shape, 8), 7.0)),
            "residual": (("over", "points", "seed"), np.full(shape, 1e-9)),
            "spare": (("over", "points", "seed"), noise[..., 0] * (np.array(N) ** (2 * power))[None, :, None]),
            "lost": (("over", "points", "seed", "kept"), lost * (1 + 0.1 * rng.random((*shape, len(study.kept))))),
        },
        coords={
            "over": overs,
            "points": N,
            "seed": list(seeds),
            "node": range(1, study.m + 1),
            "merged": merged,
            "kept": list(study.kept),
        },
    )


def verdicts(study, result) -> dict[str, Verdict]:
    return {c.id.removeprefix("SS.X1."): c.verdict for c in study.claims(result)}


def test_claims_hold_on_results_as_in_the_theorem():
    study = STUDY.configured("quick")
    claims = {c.id: c for c in study.claims(made_up(study, -1.0))}
    assert all(c.verdict is Verdict.HOLDS for c in claims.values())
    assert claims["SS.X1.slope"].measured == pytest.approx(-1, abs=0.05)
    assert claims["SS.X1.spare"].measured == pytest.approx(-2 * np.log10(40), abs=0.1)


def test_claims_are_refuted_on_other_results():
    study = STUDY.configured("quick")
    result = made_up(study, 0.5, lost=0.3)
    by_id = verdicts(study, result)
    assert by_id["slope"] is by_id["cut"] is by_id["spare"] is Verdict.REFUTED


def test_students_with_a_gradient_make_claims_inconclusive():
    study = STUDY.configured("quick")
    result = made_up(study, -1.0)
    result.gradient[:, -1, 0] = 1e-6
    claims = {c.id.removeprefix("SS.X1."): c for c in study.claims(result)}
    assert claims["slope"].verdict is Verdict.INCONCLUSIVE and "1 of 8 seeds" in claims["slope"].note
    assert claims["cut"].verdict is Verdict.HOLDS


def test_inactive_students_make_claims_inconclusive():
    study = STUDY.configured("quick")
    result = made_up(study, -1.0)
    result.residual[:, 0, 3] = 10.0  # no gradient, for no node is active
    claims = {c.id.removeprefix("SS.X1."): c for c in study.claims(result)}
    assert claims["slope"].verdict is claims["spare"].verdict is Verdict.INCONCLUSIVE


def test_what_some_nodes_add_by_loops():
    net = torch_default((3, 4, 2), seeds=[0], dtype=torch.float64)
    x = torch.randn(20, 3, dtype=torch.float64)
    gone = torch.tensor([True, False, True, False])
    y = net(x)[0].detach()
    added = torch.zeros_like(y)
    for i, point in enumerate(x):
        for k in (0, 2):
            added[i] += (point @ net.W[0].data[0, :, k] + net.b[0].data[0, 0, k]).clamp(min=0) * net.W[1].data[0, k]
    share = (added - added.mean(0)).square().sum() / (y - y.mean(0)).square().sum()
    assert share_of(net, gone, x) == pytest.approx(float(share))


def test_a_unit_reaches_zero_gradient_and_draws():
    study = STUDY.configured("smoke", {"seeds": 1})
    parts = [study.measure(unit, lambda steps: None) for unit in study.units()]
    result = xr.merge(parts, join="outer", compat="no_conflicts")
    assert float(result.gradient.max()) < 1e-10 and float(result.epsilon.min()) >= 0
    assert set(study.figures(result)) == {"alignment", "merging", "pruning"}


def test_units_cover_every_size_and_the_wide_students_once():
    study = STUDY.configured("paper")
    kinds = [(u.values["over"], u.values["N"], u.values["seed"]) for u in study.units()]
    assert len(set(kinds)) == len(kinds) == 5 * 16
