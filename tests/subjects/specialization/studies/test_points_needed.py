"""Claims on powers of known sizes, their controls, and a small run."""

import numpy as np
import pytest
import xarray as xr

from relulab import Verdict
from relulab.lab.control import controlled
from relulab.subjects.specialization.studies.points_needed.claims import alternatives, growth
from relulab.subjects.specialization.studies.points_needed.drawing import needed
from relulab.subjects.specialization.studies.points_needed.study import STUDY

SEEDS = 6


def printed(K: float = 2.5, d: tuple[float, float] = (1.9, 0.9), epsilon: float = 1.0) -> xr.Dataset:
    """Numbers of points with given powers, and students that are aligned from N = 10 d/ε on."""
    noise = 1 + 0.01 * np.random.default_rng(0).standard_normal(SEEDS)
    coords = {
        "seed": range(SEEDS), "theorem": ["SS.T3", "SS.T4"], "K": [6, 12, 24, 48], "d": [8, 16, 32],
        "trained": [False, True], "epsilon": [0.4, 0.2, 0.1], "m": [2, 4, 8], "input": [2, 4, 8],
        "N": [32, 64, 128, 256, 512, 1024, 2048],
    }  # fmt: skip
    c = xr.Dataset(coords=coords)
    seed, both = xr.DataArray(noise, dims="seed"), xr.DataArray([1.0, 1.0], dims="theorem")
    after = xr.DataArray([np.nan, 1.0], dims="trained")
    error = (10 * c.input / c.N * after).fillna(0.9) * xr.ones_like(seed)
    return c.assign(
        asked_K=seed * both * c.K**K,
        asked_d=seed * c.d ** xr.DataArray(list(d), dims="theorem"),
        asked_epsilon=seed * both * c.epsilon**-epsilon,
        corner=seed * both * c.epsilon**-2,
        error_inputs=error,
        error_m=error.isel(input=1, drop=True) * xr.ones_like(c.m, dtype=float),
    )


def verdicts(result: xr.Dataset) -> dict[str, str]:
    claims = controlled(growth(result), alternatives(result), growth)
    assert all(c.control is not None and c.control.verdict is not Verdict.HOLDS for c in claims)
    return {c.id: c.verdict.name for c in claims}


def test_printed_powers_hold_and_no_control_does():
    found = verdicts(printed())
    assert len(found) == 6 and set(found.values()) == {"HOLDS"}


@pytest.mark.parametrize(("change", "refuted"), [
    ({"K": 2.8}, {"SS.T3.n.K", "SS.T4.n.K"}),
    ({"d": (2.4, 0.9)}, {"SS.T3.n.d"}),
    ({"d": (1.9, 1.5)}, {"SS.T4.n.d"}),
    ({"epsilon": 1.5}, {"SS.T3.n.epsilon", "SS.T4.n.epsilon"}),
])  # fmt: skip
def test_larger_powers_are_refuted(change, refuted):
    assert {id for id, verdict in verdicts(printed(**change)).items() if verdict != "HOLDS"} == refuted


def test_needed_is_after_the_last_failure_and_needs_a_fit():
    error = xr.DataArray(
        [[0.5, 0.05, 0.3, 0.01], [0.5, np.nan, 0.01, np.nan], [0.5, 0.5, 0.5, 0.5], [np.nan] * 4],
        dims=("seed", "N"), coords={"N": [1, 2, 4, 8]},
    )  # fmt: skip
    np.testing.assert_array_equal(needed(error, 0.1), [8, 4, np.nan, np.nan])


def test_a_small_run_and_its_figures():
    study = STUDY.configured("smoke")
    ticks = []
    result = study.measure(study.units()[0], ticks.append)
    assert sum(ticks) == study.units()[0].seed_steps
    # trained and untrained students differ, and theorem 4 asks for fewer points
    assert float(result.error_m.sel(trained=True, N=256).max()) < 0.05 < float(result.error_m.sel(trained=False).min())
    assert (result.asked_d.sel(theorem="SS.T4") < result.asked_d.sel(theorem="SS.T3")).all()
    assert {c.verdict for c in study.claims(result)} == {Verdict.NOT_JUDGED}
    assert set(study.figures(result)) == set(study.captions)
