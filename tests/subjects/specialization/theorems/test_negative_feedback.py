"""Eq. 68 of S0 by finite differences, the direction of r, and the final angles with w*."""

import numpy as np
import pytest

from relulab import UserError, Verdict
from relulab.subjects.specialization import negative_feedback
from relulab.subjects.specialization.theorems.negative_feedback import THEOREM


def start(scale=0.1, n=4, d=5, seed=0):
    rng = np.random.default_rng(seed)
    w_star = rng.standard_normal(d)
    w_star /= np.linalg.norm(w_star)
    return scale * (rng.standard_normal((n, d)) / np.sqrt(d) + w_star), w_star, rng.uniform(0.5, 1.5, n)


def euler(W, w_star, a, time, steps):
    """Every W on the way, in small steps of one size."""
    path = [W]
    for _ in range(steps):
        path.append(path[-1] + np.linalg.norm(path[-1], axis=1)[:, None] * (w_star - a @ path[-1]) * time / steps)
    return np.stack(path)


@pytest.mark.parametrize("demonstration", THEOREM.demonstrations, ids=lambda d: d.name)
def test_demonstrations_have_the_expected_verdicts(demonstration):
    assert demonstration.run().verdict is demonstration.expected


def test_eq_68_by_differences():
    W, w_star, a = start(1.0)
    steps, time = 4000, 0.4
    path = euler(W, w_star, a, time, steps)
    size = np.linalg.norm(path, axis=2)
    h = np.einsum("tkd,td->tk", path, w_star - np.einsum("k,tkd->td", a, path)) / size
    gap, S = h[:, 1] - h[:, 0], size @ a
    slope = np.diff(gap) * steps / time
    formula = -(gap * (h[:, 0] + h[:, 1] + S))[:-1]
    assert np.abs(formula).max() > 0.1 and slope == pytest.approx(formula, abs=2e-3)


def test_the_residue_keeps_its_direction_and_angles_end_at_the_predicted_values():
    """tan(β/2) of the angle β with r(0) falls by e^(−∫‖r‖dt): the angles in the end, from an integral by hand."""
    W, w_star, a = start()
    steps, time = 40_000, 20.0
    path = euler(W, w_star, a, time, steps)
    r = w_star - np.einsum("k,tkd->td", a, path)
    size = np.linalg.norm(r, axis=1)
    early = size > 1e-6
    assert r[early] / size[early, None] == pytest.approx(np.tile(r[0] / size[0], (early.sum(), 1)), abs=1e-6)

    def half_tangents(W):
        cos = W @ (r[0] / size[0]) / np.linalg.norm(W, axis=1)
        return np.sqrt((1 - cos) / (1 + cos))

    turned = np.exp(-size.sum() * time / steps)
    assert half_tangents(path[-1]) == pytest.approx(half_tangents(W) * turned, rel=1e-2)
    assert half_tangents(path[-1]).min() > 1e-2


@pytest.mark.parametrize("scale", [0.1, 0.01, 0.001])
def test_students_do_not_align_with_the_teacher_but_smaller_starts_end_closer(scale):
    finding = negative_feedback(*start(scale), 40.0, aligned=True)
    assert finding.verdict is Verdict.REFUTED and [c.holds for c in finding.conclusion] == [True, True, False]
    assert 0.1 * scale < finding.conclusion[-1].measured < 5 * scale
    assert negative_feedback(*start(scale), 40.0).verdict is Verdict.HOLDS


def test_aligned_students_stay_aligned():
    _, w_star, a = start()
    exact = np.outer([0.1, 0.2, 0.05, 0.3], w_star)
    assert negative_feedback(exact, w_star, a, 30.0, aligned=True).conclusion[-1].holds
    assert negative_feedback(exact + 1e-9, w_star, a, 30.0, aligned=True).conclusion[-1].holds is False


def test_angles_are_undecided_while_the_residue_is_large():
    """The turn that may be left is larger than the angles, so they may yet vanish."""
    finding = negative_feedback(*start(), 0.5, aligned=True)
    assert finding.conclusion[-1].holds is not False


def test_conditions():
    W, w_star, a = start()
    assert negative_feedback(-W, w_star, a, 5.0).verdict is Verdict.NOT_APPLICABLE
    assert negative_feedback(W, w_star, a - 2, 5.0).verdict is Verdict.NOT_APPLICABLE
    with pytest.raises(UserError, match="as many factors"):
        negative_feedback(W, w_star, a[:2], 5.0)
    with pytest.raises(UserError, match="zero or not finite"):
        negative_feedback(0 * W, w_star, a, 5.0)
