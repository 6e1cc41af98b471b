"""Intervals for seeds that share their test points, in a simulation with a known truth."""

import numpy as np
from scipy.stats import norm

from relulab.lab.claim import claim
from relulab.subjects.distillation.tools.shared_points import shared_error

SEEDS, POINTS, ROUNDS = 12, 150, 150
EASY, HARD = 1.6, 0.5  # the student errs where difficulty, seed and chance, in sum, exceed these limits
SPREAD = np.array([1.0, 0.15, 0.3])  # of the points, the seeds, and single answers


def difference(risks):
    return risks[..., 1] - risks[..., 0]


def answers(rng):
    point, seed = rng.standard_normal(POINTS), rng.standard_normal((SEEDS, 1))
    total = SPREAD[0] * point + SPREAD[1] * seed + SPREAD[2] * rng.standard_normal((SEEDS, POINTS))
    return np.stack([total > EASY, total > HARD], 1).astype(float)


def test_only_the_widened_interval_covers_the_truth():
    rng, size = np.random.default_rng(0), np.linalg.norm(SPREAD)
    truth = norm.sf(HARD / size) - norm.sf(EASY / size)
    covered = {True: 0, False: 0}
    for _ in range(ROUNDS):
        wrong = answers(rng)
        for widened in covered:
            shared = shared_error(wrong, difference, rng) if widened else 0.0
            judged = claim("X.1", "A difference", difference(wrong.mean(-1)), ">", 0, shared=shared)
            covered[widened] += judged.low <= truth <= judged.high
    # 95% of 150 intervals are 142.5 ± 2.7; the widened one may be a little too wide, the other is much too narrow.
    assert covered[True] >= 142.5 - 4 * 2.7
    assert covered[False] < 0.8 * ROUNDS


def test_the_bootstrap_agrees_with_the_formula_for_a_mean():
    wrong = answers(np.random.default_rng(1))
    by_point = (wrong[:, 1] - wrong[:, 0]).mean(0)
    expected = by_point.std(ddof=1) / np.sqrt(POINTS)
    found = shared_error(wrong, difference, np.random.default_rng(2))
    assert abs(found / expected - 1) < 4 / np.sqrt(2 * 200)  # four standard errors of a standard deviation of 200 draws


def test_a_shared_error_widens_the_interval_of_a_claim():
    values = [0.9, 1.0, 1.1, 0.8, 1.2]
    plain, wide = (claim("X.1", "A difference", values, ">", 0, shared=s) for s in (0.0, 0.4))
    assert wide.measured == plain.measured and plain.verdict.name == "HOLDS"
    half = np.hypot(plain.high - plain.measured, 1.959964 * 0.4)
    assert abs(wide.high - wide.measured - half) < 1e-6
    assert claim("X.1", "A difference", values, ">", 0, shared=1.0).verdict.name == "INCONCLUSIVE"
