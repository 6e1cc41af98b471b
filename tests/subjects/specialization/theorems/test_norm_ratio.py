"""S0.T7: the logarithms of norms by Euler's method, and verdicts on various flows."""

from functools import partial

import numpy as np
import pytest
import torch

from relulab import UserError, Verdict
from relulab.subjects.specialization import norm_ratio
from relulab.subjects.specialization.theorems.norm_ratio import THEOREM, agreement, common_residue


def start(n=4, d=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(d), 0.3 * rng.standard_normal((n, d)), rng.uniform(0.5, 1.5, n)


def swirl(W):
    """An arbitrary residue, different for each student, neither linear nor a gradient."""
    return np.sin(W @ np.triu(np.ones((W.shape[1],) * 2))) + 0.1 * np.arange(len(W))[:, None] - 0.2 * np.roll(W, 1, 0)


@pytest.mark.parametrize("demonstration", THEOREM.demonstrations, ids=lambda d: d.name)
def test_demonstrations_have_the_expected_verdicts(demonstration):
    assert demonstration.run().verdict is demonstration.expected


def test_both_sides_by_eulers_method():
    """Both sides of the theorem, ln‖w‖ and the sum of h, in small fixed steps without a solver."""
    w_star, W, a = start()
    r, steps, time = partial(common_residue, w_star, a, 0.2), 4000, 4.0
    begin, total = np.log(np.linalg.norm(W, axis=1)), np.zeros(len(W))
    for _ in range(steps):
        size = np.linalg.norm(W, axis=1)
        h = np.array([w @ residue / s for w, residue, s in zip(W, r(W), size, strict=True)])
        total += h * time / steps
        W = W + size[:, None] * r(W) * time / steps
    assert agreement(r, W) == pytest.approx([w @ x / np.linalg.norm(w) for w, x in zip(W, r(W), strict=True)])
    grown = np.log(np.linalg.norm(W, axis=1)) - begin
    assert (grown - grown[0])[1:] == pytest.approx((total - total[0])[1:], abs=5e-3)
    assert np.abs(grown[1:] - grown[0]).max() > 0.1


@pytest.mark.parametrize("seed", range(3))
def test_holds_for_arbitrary_residues(seed):
    _, W, _ = start(seed=seed)
    finding = norm_ratio(W, swirl, 3.0)
    assert finding.verdict is Verdict.HOLDS and finding.conclusion[0].error < 1e-5
    assert norm_ratio(torch.from_numpy(W), swirl, 3.0).conclusion[0].measured == finding.conclusion[0].measured


def test_false_variants_are_refuted():
    _, W, _ = start()
    assert norm_ratio(W, swirl, 5.0, projected=False).verdict is Verdict.REFUTED


@pytest.mark.parametrize("factor", [-1.0, 1.01])
def test_a_rule_with_another_sign_or_factor_does_not_pass(factor):
    """The flow is right, the residues in the rule are not: then the form is what fails."""
    _, W, _ = start()
    finding = norm_ratio(W, lambda W: factor * swirl(W), 5.0, velocity=_multiplied)
    assert finding.verdict is Verdict.NOT_APPLICABLE and finding.conclusion[0].holds is False


def _multiplied(W):
    return np.stack([np.sqrt((w**2).sum()) * residue for w, residue in zip(W, swirl(W), strict=True)])


def test_the_form_of_a_given_velocity_is_checked():
    _, W, _ = start()
    assert norm_ratio(W, swirl, 5.0, velocity=_multiplied).verdict is Verdict.HOLDS
    assert norm_ratio(W, swirl, 5.0, velocity=swirl).verdict is Verdict.NOT_APPLICABLE
    nearly = norm_ratio(W, swirl, 5.0, velocity=lambda W: _multiplied(W) * (1 + 1e-9))
    assert nearly.verdict is Verdict.NOT_APPLICABLE


def test_vanishing_norms_are_not_applicable():
    w_star, W, a = start()
    W[1] = 0
    assert norm_ratio(W, partial(common_residue, w_star, a, 0.0), 1.0).verdict is Verdict.NOT_APPLICABLE


def test_a_kink_reduces_accuracy_but_keeps_the_verdict():
    """Residues that jump at a plane: the error that is allowed grows, the false variant still stands out."""
    _, W, _ = start()

    def kinked(W):
        return swirl(W) + np.where(W[:, :1] > 0.1, 0.5, 0.0)

    smooth, rough = (norm_ratio(W, r, 2.0) for r in (swirl, kinked))
    assert smooth.verdict is rough.verdict is Verdict.HOLDS
    assert rough.conclusion[0].error > smooth.conclusion[0].error
    assert norm_ratio(W, kinked, 2.0, projected=False).verdict is Verdict.REFUTED


def test_wrong_arguments_raise_an_error():
    _, W, _ = start()
    with pytest.raises(UserError, match="1 students"):
        norm_ratio(W[:1], swirl, 1.0)
    with pytest.raises(UserError, match="a time of 0"):
        norm_ratio(W, swirl, 0.0)
    with pytest.raises(UserError, match=r"shape \(4,\)"):
        norm_ratio(W, lambda W: W[:, 0], 1.0)
    with pytest.raises(UserError, match="shorter time"):
        norm_ratio(W, lambda W: W * np.abs(W) ** 2 * 100, 100.0)


@pytest.mark.parametrize(("rate", "verdict"), [(-100, Verdict.INCONCLUSIVE), (-5, Verdict.HOLDS), (5, Verdict.HOLDS)])
def test_norms_below_the_accuracy_of_the_solver_refute_nothing(rate, verdict):
    """ẇ = −100 w falls to 8e-45 and the ratio stays what it was, but the solver does not resolve it."""
    W = np.array([[0.1, 0.02], [0.05, -0.01]])
    for scale in (1e-100, 1.0, 1e100):
        finding = norm_ratio(scale * W, lambda W: rate * W / np.linalg.norm(W, axis=1, keepdims=True), 1.0)
        assert finding.verdict is verdict


@pytest.mark.parametrize("time", [1e-8, 1e-4, 0.1])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e3])
def test_short_times_and_weights_of_any_scale(scale, time):
    """The change of ln(‖w_k‖/‖w_1‖) may be 1e-8, near the rounding of ‖w_k‖; few steps of the solver are needed."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        W, A = scale * rng.standard_normal((4, 3)), rng.standard_normal((4, 3))
        for r in (lambda W, A=A: A + 0 * W, lambda W, A=A: np.tile(A[0] - W.sum(0) / scale, (4, 1))):
            assert norm_ratio(W, r, time).verdict is Verdict.HOLDS
            assert norm_ratio(W, r, time, projected=False).verdict is Verdict.REFUTED


@pytest.mark.parametrize("projected", [True, False])
def test_students_that_do_not_move_show_nothing(projected):
    _, W, _ = start()
    for r in (lambda W: 0 * W, lambda W: 1e-15 + 0 * W):
        finding = norm_ratio(W, r, 1.0, projected=projected)
        assert finding.verdict is Verdict.INCONCLUSIVE and "change by at most" in str(finding)


def test_residues_that_are_rounding_refute_nothing():
    """r_k = (w* − Σ w_k)/1e-9 with Σ w_k = w*: what is left of the difference is rounding."""
    w_star, W, _ = start()
    W[-1] += w_star - W.sum(0)
    finding = norm_ratio(W, lambda W: np.tile(w_star - W.sum(0), (4, 1)) * 1e9, 1e-6)
    assert finding.verdict is not Verdict.REFUTED
