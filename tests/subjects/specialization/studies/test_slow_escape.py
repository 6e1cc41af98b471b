"""The study of escape times: claims on synthetic times, initial weights, and one measured seed."""

import math
import re

import numpy as np
import pytest
import xarray as xr

from relulab import UserError, Verdict
from relulab.subjects.specialization.studies.slow_escape import STUDY


def made_up(study, power: float) -> xr.Dataset:
    """Times that follow ϵ^power under every flow, with a little noise from seed to seed."""
    rng, epsilon = np.random.default_rng(0), np.array(study.epsilon)
    factor = rng.uniform(1, 2, (study.seeds, 3, 1)) * epsilon ** rng.normal(0, 0.005, (study.seeds, 3, 1))
    coords = {"seed": range(study.seeds), "flow": ["printed", "fixed norm", "gradient"], "epsilon": epsilon}
    trained = factor[:, :1] * epsilon**power * np.ones((len(study.fan_out), 1))
    return xr.Dataset(
        {"time": (tuple(coords), factor * epsilon**power), "trained": (("seed", "ratio", "epsilon"), trained)},
        coords=coords | {"ratio": list(study.fan_out)},
    )


def test_the_law_of_the_text_holds_where_it_is_followed_and_nowhere_else():
    study = STUDY.configured("quick")
    for power, verdict in ((-1.0, Verdict.HOLDS), (-2.0, Verdict.REFUTED), (-0.9, Verdict.REFUTED)):
        claims = {c.id.removeprefix("S0.T7.escape."): c for c in study.claims(made_up(study, power))}
        assert {claims[kind].verdict for kind in ("printed", "fixed-norm", "gradient")} == {verdict}
        match = re.search(r"The mean slope is (-[\d.]+\d)", claims["printed"].note)
        assert match and float(match[1]) == pytest.approx(power, abs=0.01)
        assert claims["log"].verdict is Verdict.REFUTED


def test_the_law_of_gradient_flow_is_distinguished_from_a_power():
    study = STUDY.configured("quick")
    result = made_up(study, -1.0)
    result.time[:] = 2 * np.log(1 + math.pi / result.epsilon) + 0.1 * result.seed
    by_kind = {c.id.removeprefix("S0.T7.escape."): c.verdict for c in study.claims(result)}
    assert by_kind["log"] is Verdict.HOLDS and by_kind["gradient"] is Verdict.REFUTED


def test_a_student_that_never_escapes_makes_the_claim_inconclusive():
    study = STUDY.configured("quick")
    result = made_up(study, -1.0)
    result.time[2, 0, 1] = np.nan
    first = study.claims(result)[0]
    assert first.verdict is Verdict.INCONCLUSIVE and "1 of 8 seeds" in first.note


def test_starts_are_where_they_should_be():
    study = STUDY()
    for seed in range(4):
        for epsilon in study.epsilon:
            w, w_star = study.opposite(seed, epsilon)
            across = w - w @ w_star * w_star
            assert math.atan2(np.linalg.norm(across), -w @ w_star) == pytest.approx(epsilon, rel=1e-6)
            assert 0.5 < np.linalg.norm(w) < 2 and np.linalg.norm(w_star) == pytest.approx(1)
        norms = [np.linalg.norm(study.opposite(seed, epsilon)[0]) for epsilon in study.epsilon]
        assert norms == pytest.approx([norms[0]] * len(norms))


def test_a_seed_by_closed_form_and_a_drawing():
    study = STUDY.configured("smoke", {"epsilon": (0.1, 0.01), "seeds": 1})
    ticks = []
    result = study.measure(study.units()[0], ticks.append)
    assert sum(ticks) == study.units()[0].seed_steps == 6 + 2 * len(study.fan_out)
    for epsilon in study.epsilon:
        norm = np.linalg.norm(study.opposite(0, epsilon)[0])
        time = float(result.time.sel(seed=0, flow="gradient", epsilon=epsilon))
        assert time == pytest.approx(2 * math.log(1 + math.pi * norm * math.cos(epsilon) / epsilon), rel=1e-5)
        pair = result.time.sel(seed=0, epsilon=epsilon)
        assert float(pair.sel(flow="fixed norm") / pair.sel(flow="printed")) == pytest.approx(norm, rel=1e-5)
    assert set(study.figures(result)) == {"escape", "fan-out"}


def test_two_times_fit_any_line_and_support_no_logarithm():
    study = STUDY.configured("quick", {"epsilon": (0.1, 0.01)})
    ids = {c.id.removeprefix("S0.T7.escape.") for c in study.claims(made_up(study, -1.0))}
    assert "trained-1" in ids and not ids & {"trained-1.25", "trained-2"}


def test_the_three_phases_of_a_trained_fan_out():
    study = STUDY.configured("quick")
    by_power = {
        power: {c.id.removeprefix("S0.T7.escape.trained-"): c.verdict for c in study.claims(made_up(study, power))}
        for power in (-1.0, -4.0)
    }
    hold = {
        power: {id for id, verdict in claims.items() if verdict is Verdict.HOLDS} for power, claims in by_power.items()
    }
    assert hold[-1.0] & {"0.5", "0.8", "1", "1.25", "2"} == {"1"} and hold[-4.0] & {"0.5", "0.8", "1", "2"} == {
        "0.5",
        "0.8",
    }
    result = made_up(study, -1.0)
    result.trained[:] = 3 * np.log(1 / result.epsilon) + 0.1 * result.seed
    logarithmic = {c.id.removeprefix("S0.T7.escape.trained-"): c.verdict for c in study.claims(result)}
    assert logarithmic["2"] is logarithmic["1.25"] is Verdict.HOLDS and logarithmic["1"] is Verdict.REFUTED


@pytest.mark.parametrize(
    ("norm", "v", "epsilon"), [(1.0, 1.0, 0.1), (0.7, 1.4, 1e-3), (1.5, 3.0, 0.5), (1.0, 0.7, 0.8)]
)
def test_the_time_with_a_trained_fan_out_by_the_flow_of_all_weights(norm, v, epsilon):
    from relulab.flow.adaptive import flow
    from relulab.subjects.specialization.tools.escape import gradient
    from relulab.subjects.specialization.tools.escape_with_fan_out import escape_time_with_fan_out

    w_star = np.array([1.0, 0.0, 0.0])

    def velocity(state):
        w, v = state[:, :3], state[:, 3:]
        g = gradient(w_star, w) + w / 2 - v * w / 2  # E[x z (f* − v σ(wᵀx))]
        return np.concatenate([v * g, (w * g).sum(1, keepdims=True)], 1)

    start = np.array([[-norm * math.cos(epsilon), norm * math.sin(epsilon), 0.0, v]])
    path = flow(velocity, start, 1e4, rtol=1e-9, until=lambda state: float(-state[0, 0]))
    assert path.reached and path.times[-1] == pytest.approx(escape_time_with_fan_out(norm, v, epsilon), rel=1e-5)


def test_small_fan_outs_follow_their_law_from_both_sides_of_the_shortcut():
    from relulab.subjects.specialization.tools.escape_with_fan_out import escape_time_with_fan_out

    for norm, ratio in ((1.0, 0.5), (2.0, 0.9), (0.5, 0.8)):
        epsilon = np.geomspace(1e-1, 1e-4, 13)
        times = np.array([escape_time_with_fan_out(norm, ratio * norm, e) for e in epsilon])
        law = 1.5 * math.pi**2 * norm**2 * (1 - ratio**2) / epsilon**4
        assert times[-1] / law[-1] == pytest.approx(1, abs=0.01)
        assert (np.diff(times / law) > 0).all()  # smooth where the beginning is no longer integrated
    nearly_balanced = escape_time_with_fan_out(1.0, 0.9999, 1e-2)  # it turns before v has fallen
    assert nearly_balanced == pytest.approx(escape_time_with_fan_out(1.0, 1.0, 1e-2), rel=0.1)


@pytest.mark.parametrize("given, sentence", [
    ({"epsilon": (0.1, 0.1)}, "appears twice"),
    ({"epsilon": (0.1, 2.0)}, "less than 1.57"),
    ({"theta_0": 3.0}, "less than or equal to 1.57"),
])  # fmt: skip
def test_mistakes_are_one_sentence(given, sentence):
    with pytest.raises(UserError, match=sentence):
        STUDY.configured("quick", given)
