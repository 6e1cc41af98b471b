"""Theorems 5.1 and 5.2 beyond their demonstrations, which are tested together with all theorems."""

from functools import partial

import numpy as np
import pytest

from relulab.core.errors import UserError
from relulab.lab.theorem import Verdict
from relulab.subjects.distillation.theorems.deep_student import deep_student
from relulab.subjects.distillation.theorems.loss_rate import loss_rate
from relulab.subjects.distillation.theorems.shallow_student import shallow_student
from relulab.subjects.distillation.tools.balanced_start import balanced_start


def case(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal(d)


def test_an_unfinished_flow_is_inconclusive():
    finding = shallow_student(*case(5, 5), steps=10)
    assert finding.verdict is Verdict.INCONCLUSIVE and "step limit" in finding.conclusion[0].detail
    assert deep_student(*case(5, 5), steps=10).verdict is Verdict.INCONCLUSIVE


def test_repeated_points():
    X, w_star = case(3, 4)
    assert shallow_student(np.concatenate([X, X]), w_star).verdict is Verdict.HOLDS


@pytest.mark.parametrize("scale", [1e-100, 1e-6, 1.0, 1e6])
def test_points_of_lower_rank_are_not_in_general_position(scale):
    rng = np.random.default_rng(0)
    X, w_star = scale * rng.standard_normal((9, 2)) @ rng.standard_normal((2, 5)), rng.standard_normal(5) / scale
    for check in (shallow_student, partial(deep_student, epsilon=0.1 / scale)):
        finding = check(X, w_star)
        assert finding.verdict is Verdict.NOT_APPLICABLE and "span 2 of 5" in str(finding)
        twice = np.concatenate([X[:2], X[:2], X[:2]])  # as many points as dimensions, but only two different ones
        assert check(twice, w_star).verdict is Verdict.HOLDS
        lines = np.concatenate([X[:2], -3 * X[:2], 0 * X[:1]])  # two lines and the origin
        assert check(lines, w_star).verdict is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
@pytest.mark.parametrize("n", [2, 5])
def test_points_on_one_line_do_not_determine_the_teacher(n, scale):
    """With n ≥ d, the theorem claims that the student is w*, which is false here."""
    X, w_star = scale * np.outer(np.arange(1.0, n + 1), [1.0, 2.0]), np.array([1.0, -1.0]) / scale
    for check in (shallow_student, partial(deep_student, epsilon=0.1 / scale), loss_rate):
        assert check(X, w_star).verdict is Verdict.NOT_APPLICABLE
        assert check(np.repeat(X[:1], n, 0), w_star).verdict is Verdict.HOLDS


@pytest.mark.parametrize("check", [shallow_student, loss_rate])
@pytest.mark.parametrize("lengths", [[1e-110, 1e-103, 1e-100, 1e-93], [1e-150, 1e-80, 1.0, 1e70]])
def test_points_of_very_different_lengths_end_in_a_verdict(check, lengths):
    rng = np.random.default_rng(0)
    X, w_star = rng.standard_normal((4, 4)), rng.standard_normal(4) / max(lengths)
    X *= np.array(lengths)[:, None] / np.linalg.norm(X, axis=1, keepdims=True)
    assert check(X, w_star, steps=100).verdict is Verdict.INCONCLUSIVE


def test_losses_that_fall_to_1e_minus_160_do_not_refute_the_rate():
    """Then the rounding of w is above the distance at which the solver's loss is that small."""
    rng = np.random.default_rng(51)
    X, w_star = rng.standard_normal((7, 5)), rng.standard_normal(5)
    finding = loss_rate(X * 10.0 ** np.array([-6, 4, -2, 4, 5, -6, -4])[:, None], w_star)
    assert finding.verdict is Verdict.INCONCLUSIVE and finding.conclusion[2].measured < 1


def test_a_teacher_that_is_orthogonal_to_all_points_shows_nothing():
    X, w_star = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [-3.0, 6.0, -3.0]
    finding = shallow_student(X, w_star)
    assert finding.verdict is Verdict.INCONCLUSIVE and "does not move" in str(finding)
    with pytest.raises(UserError, match="orthogonal to all points"):
        deep_student(X, w_star)


def test_a_tiny_epsilon():
    finding = deep_student(*case(2, 30), depth=5, epsilon=1e-2, seed=3)
    assert finding.verdict is Verdict.HOLDS and finding.conditions[1].measured < 1e-9
    assert 0.9 < finding.conclusion[0].measured / 1e-2 < 1  # the bound is nearly sharp where points are few


def test_each_condition_by_itself():
    X, w_star = case(2, 6)
    W = balanced_start(X, w_star, np.random.default_rng(0), depth=2, norm=1e-4)
    holds = [[c.holds for c in deep_student(X, w_star, start=start, epsilon=0.5, steps=1).conditions]
             for start in (W, [10 * w for w in W], [W[0], -W[1]], [W[0], 1.5 * W[1]])]  # fmt: skip
    assert holds == [[True] * 4, [True] * 4, [True, True, False, True], [True, True, True, False]]
    assert deep_student(X, w_star, start=[100 * w for w in W], epsilon=0.5).conditions[1].holds is False


def test_wrong_arguments_raise_clear_errors():
    with pytest.raises(UserError, match=r"use T5\.T1"):
        deep_student(*case(2, 3), depth=1)
    with pytest.raises(UserError, match="orthogonal to all points"):
        deep_student([[1.0, 0.0]], [0.0, 1.0])
