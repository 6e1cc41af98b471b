"""LM.F7: what is measured, by loops; statements on made-up results; controls; the cost of the sizes."""

import numpy as np
import pytest
import torch
import xarray as xr

from relulab import Verdict, find_study
from relulab.subjects.specialization.studies.lucky_start.study import LuckyStart
from relulab.subjects.specialization.tools.observation import Observation

TINY = {"d": 4, "m": 2, "C": 3, "over": (2, 3), "p_W": (0.1, 4.0), "p_V": (0.1, 4.0), "seeds": 2, "epochs": 2,
        "steps": 5, "n_held_out": 20}  # fmt: skip


def test_it_is_figure_7_and_paper_is_the_full_grid():
    study = find_study("LM.F7").configured("paper")
    assert (study.d, study.m, study.C, study.over, study.seeds) == (10, 20, 30, (2, 5, 10), 32)
    lanes = sum(len(unit.values["seeds"]) * len(study.p_W) * len(study.p_V) for unit in study.units())
    assert lanes == 3 * 32 * 16


def test_norms_and_pairs_by_loops():
    fan_out = torch.tensor([[3.0, 1.0, 2.0, 0.5], [1.0, 2.0, 3.0, 4.0]])
    snapshot = Observation(torch.zeros(2, 2, 4), torch.tensor([0.1, torch.nan]), fan_out)
    read = {name: values for name, (_, values) in LuckyStart(**TINY).read(snapshot).items()}
    assert read["u"].tolist() == [2, 1.5] and read["r"].tolist() == [1.25, 3.5]
    assert read["larger"][0] == 3 / 4 and read["larger"][1].isnan()  # 1 is not larger than 2


def test_a_unit_has_every_start_and_equal_starts_of_a_seed_share_their_noise():
    study = LuckyStart(**TINY)
    parts = [study.measure(unit, lambda steps: None) for unit in study.units()]
    result = xr.merge(parts, join="outer", compat="no_conflicts")
    assert dict(result.u.sizes) == {"over": 2, "epoch": 3, "seed": 2, "p_W": 2, "p_V": 2}
    assert not result.u.isnull().any()
    start = result.sel(epoch=0)
    # fan-outs do not depend on p_W at the start, and the gap grows with p_V
    np.testing.assert_array_equal(start.u.isel(p_W=0), start.u.isel(p_W=1))
    assert ((start.u - start.r).isel(p_V=1) > (start.u - start.r).isel(p_V=0)).all()


def made_up(seeds: int = 6) -> xr.Dataset:
    """Sets that separate for a large p_W, from any start; for a small one the gap shrinks."""
    study = LuckyStart(**TINY | {"seeds": seeds})
    dims = ("seed", "over", "p_W", "p_V", "epoch")
    grid = np.meshgrid(range(seeds), study.over, study.p_W, study.p_V, (0, 1, 2), indexing="ij")
    noise, _, p_W, p_V, epoch = grid[0] * 1e-3, *grid[1:]
    far = p_W < 1
    u = 1 + 0.1 * p_V + np.where(far, -0.05, 0.2) * epoch + noise
    r = 1 - np.where(far, -0.05, 0.2) * epoch - 0.05 * np.log(p_W * p_V) * epoch
    larger = np.where(far, 0.6, 0.5 + 0.249 * epoch) + noise / 100
    data = {"u": (dims, u), "r": (dims, r), "larger": (dims, larger), "loss": (dims, 0 * u + 0.1)}
    coords = {"seed": range(seeds), "over": [*study.over], "p_W": [*study.p_W], "p_V": [*study.p_V], "epoch": [0, 1, 2]}
    return xr.Dataset(data, coords=coords)


def claims_of(result: xr.Dataset) -> dict:
    study = LuckyStart(**TINY | {"seeds": result.sizes["seed"]})
    return {claim.id.rpartition(".")[2]: claim for claim in study.claims(result)}


def test_claims_hold_on_sets_that_separate():
    assert {id: claim.verdict for id, claim in claims_of(made_up()).items()} == dict.fromkeys(
        ("separate", "widens", "small-p_W", "closer-weights", "closer-fan-outs"), Verdict.HOLDS
    )


def test_each_claim_is_refuted_where_its_statement_is_false():
    result = made_up()
    still = result.assign(u=result.u.sel(epoch=0).broadcast_like(result.u), r=result.r.sel(epoch=0) + 0 * result.r)
    assert claims_of(still)["closer-weights"].verdict is not Verdict.HOLDS
    assert claims_of(result.assign(r=-result.r))["closer-weights"].verdict is Verdict.REFUTED
    assert claims_of(result.assign(r=-result.r))["closer-fan-outs"].verdict is Verdict.REFUTED
    assert claims_of(result.assign(larger=result.larger - 0.2))["separate"].verdict is Verdict.REFUTED
    assert claims_of(result.assign(u=2 - result.u))["widens"].verdict is Verdict.REFUTED
    wider = result.assign(u=result.u + 0.5 * result.epoch)
    assert claims_of(wider)["small-p_W"].verdict is Verdict.REFUTED


def test_the_worst_p_V_counts():
    result = made_up()
    one_fails = result.larger.where((result.p_V > 1) | (result.p_W < 1) | (result.epoch < 2), 0.8)
    assert claims_of(result.assign(larger=one_fails))["separate"].verdict is Verdict.REFUTED


def test_a_diverged_seed_leaves_claims_undecided():
    result = made_up()
    lost = result.where(result.seed != 2)
    assert all(claim.verdict is Verdict.INCONCLUSIVE for claim in claims_of(lost).values())


def test_controls_lack_the_cause():
    result = made_up()
    study = LuckyStart(**TINY | {"seeds": 6})
    controls = study.controls(result)
    assert {id for control in controls for id in control.claims} == {claim.id for claim in study.claims(result)}
    for control in controls:
        found = {claim.id: claim.verdict for claim in study.claims(control.result)}
        assert all(found[id] is not Verdict.HOLDS for id in control.claims), control.name


@pytest.mark.parametrize("wrong", [{"over": (1,)}, {"p_W": (1.0,)}, {"p_V": (1.0, 1.0)}, {"p_W": (-1.0, 1.0)}])
def test_settings_that_make_no_sense_are_refused(wrong):
    from relulab import UserError

    with pytest.raises(UserError):
        LuckyStart(**wrong)
