"""The study of teacher-aware data: its claims on synthetic results, and one measured unit."""

import numpy as np
import pytest
import torch
import xarray as xr

from relulab import UserError, Verdict
from relulab.subjects.specialization.studies.teacher_aware.study import STUDY

SEEDS = 6


def made_up(study, sign: int, share: float = 1e-3) -> xr.Dataset:
    """Losses of teacher-aware students a tenth, or tenfold, of the others'; both explain all but ``share``."""
    rng = np.random.default_rng(0)
    dims = {"over": list(study.over), "points": list(study.points), "seed": range(SEEDS), "data": ["aware", "agnostic"]}
    shape = tuple(map(len, dims.values()))

    def loss() -> np.ndarray:
        return share * np.array([10.0**-sign, 1.0]) * np.exp(0.05 * rng.normal(size=shape))

    data = {
        "train": loss() / 2,
        "evaluation": loss(),
        "train_variance": np.ones(shape),
        "evaluation_variance": np.ones(shape),
    }
    return xr.Dataset({name: (tuple(dims), values) for name, values in data.items()}, coords=dims)


@pytest.fixture
def study():
    return STUDY.configured("paper", {"seeds": SEEDS})


def verdicts(study, result) -> dict[str, str]:
    return {c.id.removeprefix("SS.F9."): c.verdict.name for c in study.claims(result)}


def test_claims_hold_where_they_are_true(study):
    assert set(verdicts(study, made_up(study, 1)).values()) == {"HOLDS"}
    few = study.claims(made_up(study, 1))[0]
    assert few.measured == pytest.approx(-1, abs=0.1) and "do not overlap" in few.note and "-4.0" in few.note


def test_claims_are_refuted_where_the_opposite_is_true(study):
    assert set(verdicts(study, made_up(study, -1, share=0.3)).values()) == {"REFUTED"}


def test_sizes_at_which_the_agnostic_are_ahead_are_named(study):
    result = made_up(study, 1)
    aware = (result.data == "aware") & (result.points >= 810)
    result["evaluation"] = result.evaluation.where(~aware, 0.005)
    few, sizes, each = study.claims(result)[:3]
    assert few.verdict is sizes.verdict is Verdict.HOLDS
    assert each.id == "SS.F9.each-size" and each.verdict is Verdict.REFUTED and "10 points are the worst" in each.note
    assert sizes.note == "Teacher-agnostic data lead to a lower loss at 810, 1110 points."


def test_a_single_sample_size_has_no_claim_over_all_sizes():
    single = STUDY.configured("paper", {"seeds": SEEDS, "points": [30]})
    assert not {"sizes", "each-size"} & verdicts(single, made_up(single, 1)).keys()


def test_diverged_students_make_claims_inconclusive(study):
    result = made_up(study, 1)
    result.evaluation[0, 0, 0, 0] = np.nan
    by_id = {c.id: c for c in study.claims(result)}
    assert by_id["SS.F9.few"].verdict is Verdict.INCONCLUSIVE and "1 of 6 seeds" in by_id["SS.F9.few"].note
    assert by_id["SS.F9.train-aware"].verdict is Verdict.HOLDS


def test_units_cover_the_authors_sweep_once():
    units = STUDY.configured("paper").units()
    assert len(units) == len({u.name for u in units}) == 4 * 20
    assert sorted({u.values["N"] for u in units}) == [
        30, 45, 60, 75, 90, 105, 120, 135, 150, 165, 180, 195, 210, 270, 330, 390, 510, 630, 810, 1110,
    ]  # fmt: skip
    assert sum(u.seed_steps for u in units) == 80 * 3 * 10 * 20 * 5000


def test_a_unit_measures_what_its_students_do():
    study = STUDY.configured("smoke", {"seeds": 1, "steps": 300, "dtype": "float64"})
    parts = [study.measure(unit, lambda steps: None) for unit in study.units()]
    result = xr.merge(parts, join="outer", compat="no_conflicts")
    assert result.sizes == {"over": 1, "points": 2, "seed": 1, "data": 3, "node": 5}
    points = study.task(30).train()
    variance = result.train_variance.sel(points=30, seed=0)
    for lane, kind in enumerate(["aware", "agnostic"]):
        y = points.Y[lane]
        expected = float((y - y.mean(0)).square().mean())
        assert float(variance.sel(data=kind).squeeze()) == pytest.approx(expected, rel=1e-12)
    assert bool((result.train < result.train_variance).all()) and float(result.best.max()) <= 1
    assert bool((result.train_before > 0.99 * result.train_variance).all())  # a student starts with outputs near zero
    assert set(study.figures(result)) == {"losses"}


def test_the_students_of_a_seed_differ_in_their_training_points_only():
    task = STUDY.configured("smoke").task(30)
    assert task.seeds == (0, 0, 0, 1, 1, 1) and torch.equal(task.teacher.W[1].data[0], task.teacher.W[1].data[1])
    aware, agnostic = (task.train().of_lane(lane)[0].norm(dim=1) for lane in (0, 1))
    torch.testing.assert_close(aware, torch.full((30,), 1.5 * 20**0.5))
    assert float(agnostic.std()) > 0.1
    held_out = task.held_out()
    assert torch.equal(held_out.Y[0], held_out.Y[1]) and not torch.equal(held_out.Y[0], held_out.Y[3])


def test_the_control_has_other_points_of_the_same_law():
    task = STUDY.configured("smoke").task(3000)
    agnostic, other = (task.train().of_lane(lane)[0] for lane in (1, 2))
    assert not {*agnostic[:, 0].tolist()} & {*other[:, 0].tolist()}
    assert float(other.std()) == pytest.approx(1.5, rel=0.02) and torch.equal(*(task.held_out().Y[i] for i in (1, 2)))


def test_distances_in_the_wrong_order_are_refused():
    with pytest.raises(UserError, match="near = 5 is larger than far = 4"):
        STUDY.configured("smoke", {"near": 5})
