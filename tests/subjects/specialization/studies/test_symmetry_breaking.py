"""The study of symmetry breaking: claims on synthetic results, and paths compared with fixed steps."""

import numpy as np
import pytest
import xarray as xr

from relulab import UserError, Verdict
from relulab.subjects.specialization.studies.symmetry_breaking.study import STUDY

IDS = ("constant", "align", "small-start", "break", "rate", "for-ever")


def made_up(study, *, halts: bool) -> xr.Dataset:
    """Results as the text has them, or, with ``halts``, angles that stop and a lead that falls again."""
    rng = np.random.default_rng(0)
    moment, start, extra = np.linspace(0, 1, 161), np.array(study.start), np.array(study.extra)
    shape = (study.seeds, len(start), 161, study.n)
    noise = rng.uniform(0.5, 1.5, shape[:2])[..., None, None] * rng.uniform(0.5, 1.5, (1, 1, 1, study.n))
    fall = np.exp(-20 * moment)[:, None]
    left = start[:, None, None] if halts else 0.0
    lead = np.where(moment < 0.3, moment, 0.6 - moment) if halts else moment
    rate = (extra if not halts else -extra) * rng.uniform(0.5, 1.5, (study.seeds, 1))
    return xr.Dataset(
        {
            "log_norm": (("seed", "start", "moment", "student"), noise * (1 - fall)),
            "angle": (("seed", "start", "moment", "student"), noise * (fall * start[:, None, None] ** 0.5 + left)),
            "lead": (("seed", "extra", "moment"), rng.uniform(1, 2, (study.seeds, len(extra), 1)) * lead),
            "rate": (("seed", "extra"), rate),
        },
        coords={"seed": range(study.seeds), "start": start, "extra": extra, "moment": moment,
                "student": range(1, study.n + 1)},
    )  # fmt: skip


def verdicts(study, result) -> dict[str, Verdict]:
    return {c.id.removeprefix("S0.T7."): c.verdict for c in study.claims(result)}


def test_claims_hold_on_results_as_in_the_paper():
    study = STUDY.configured("quick")
    by_id = verdicts(study, made_up(study, halts=False))
    assert tuple(by_id) == IDS and set(by_id.values()) == {Verdict.HOLDS}


def test_claims_are_refuted_on_other_results():
    study = STUDY.configured("quick")
    by_id = verdicts(study, made_up(study, halts=True))
    assert {key for key, v in by_id.items() if v is Verdict.REFUTED} == {"align", "break", "rate", "for-ever"}


@pytest.fixture(scope="module")
def measured() -> tuple:
    study = STUDY.configured("smoke", {"extra": (0.03, 0.1), "start": (0.1, 0.01)})
    parts = [study.measure(unit, lambda steps: None) for unit in study.units()]
    return study, xr.merge(parts, join="outer", compat="no_conflicts")


def test_paths_by_fixed_steps(measured):
    """Runge–Kutta of order four for t = 0 … 10, one student at a time."""
    study, result = measured
    w_star, W, a = study.students(1)
    W, h = study.start[0] * W, 0.01

    def velocity(W):
        r = w_star - sum(a_k * w for a_k, w in zip(a, W, strict=True))
        return np.stack([np.sqrt(w @ w) * r for w in W])

    for _ in range(1000):
        k1 = velocity(W)
        k2 = velocity(W + h / 2 * k1)
        k3 = velocity(W + h / 2 * k2)
        W = W + h / 6 * (k1 + 2 * k2 + 2 * k3 + velocity(W + h * k3))
    here = result.sel(seed=1, start=study.start[0], moment=10 / study.time)
    assert here.log_norm.values == pytest.approx(np.log(np.linalg.norm(W, axis=1)), abs=1e-6)
    cos = W @ w_star / np.linalg.norm(W, axis=1)
    assert here.angle.values == pytest.approx(np.arccos(cos), abs=1e-6)


def test_a_lead_grows_as_its_advantage_and_then_falls(measured):
    study, result = measured
    least = result.sel(extra=min(study.extra))
    assert (least.rate / min(study.extra)).values == pytest.approx(1, abs=0.3)
    peak = result.lead.max("moment")
    assert (peak > result.lead.isel(moment=0) + 1).all() and (result.lead.isel(moment=-1) < peak - 0.3).all()


def test_a_figure_is_drawn(measured):
    study, result = measured
    assert set(study.figures(result)) == {"ratios"}
    assert {c.verdict for c in study.claims(result)} == {Verdict.NOT_JUDGED}  # two seeds


def test_starts_are_on_the_side_of_the_teacher():
    study = STUDY()
    for seed in range(5):
        w_star, W, a = study.students(seed)
        size = np.linalg.norm(W, axis=1)
        assert (W @ w_star > 0).all() and np.linalg.norm(w_star) == pytest.approx(1)
        assert (abs(size - 1) < 0.5).all() and (abs(a - 1) < 0.5).all()


@pytest.mark.parametrize("given, sentence", [
    ({"extra": (0.1, 0.1)}, "appears twice"),
    ({"start": (0.1,)}, "at least 2 items"),
    ({"n": 1}, "greater than or equal to 2"),
])  # fmt: skip
def test_mistakes_are_one_sentence(given, sentence):
    with pytest.raises(UserError, match=sentence):
        STUDY.configured("quick", given)
