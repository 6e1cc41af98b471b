"""Lemmas D.1 to D.3, the rate of the loss and nearly balanced starts beyond their demonstrations."""

import numpy as np
import pytest
import torch

from relulab import UserError, Verdict
from relulab.subjects.distillation import (
    balanced_factors,
    close_vectors,
    induced_flow,
    loss_rate,
    nearly_balanced_student,
    student_in_span,
)
from relulab.subjects.distillation.theorems.close_vectors import tangent
from relulab.subjects.distillation.theorems.induced_flow import derivative, gap
from relulab.subjects.distillation.tools.distillation_loss import gradient
from relulab.subjects.distillation.tools.transfer import transfer

SCALES = [1e-100, 1.0, 1e100]


def case(n=3, d=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal(d)


@pytest.mark.parametrize("scale", SCALES)
def test_a_student_stays_in_the_span_at_any_scale_and_rotation(scale):
    X, w_star = case()
    Q = np.linalg.qr(np.random.default_rng(1).standard_normal((5, 5))).Q
    for points, teacher in ((X, w_star), (X @ Q, Q.T @ w_star), (X[[0, 1, 2, 2]], w_star)):
        points, teacher = points / scale, teacher * scale
        assert student_in_span(points, teacher, until=10).verdict is Verdict.HOLDS
        start = np.full(5, 0.1) * scale
        assert student_in_span(points, teacher, until=10, start=start, any_start=True).verdict is Verdict.REFUTED


def test_where_the_lemma_on_the_span_says_nothing():
    X, w_star = case(6, 4)
    finding = student_in_span(X, w_star)
    assert finding.verdict is Verdict.INCONCLUSIVE and "span all of the 4 dimensions" in str(finding)
    still = student_in_span([[1.0, 0.0]], [0.0, 1.0])
    assert still.verdict is Verdict.INCONCLUSIVE and "does not move" in str(still)
    with pytest.raises(UserError, match="positive until"):
        student_in_span(*case(), until=0)


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_the_derivative_of_the_product_is_that_of_a_small_step(depth):
    given = transfer(*case())
    rng = np.random.default_rng(depth)
    W = [torch.from_numpy(rng.standard_normal(s)) for s in [(3, 5), *[(3, 3)] * (depth - 2), (1, 3)]]
    leaves = [matrix.clone().requires_grad_() for matrix in W]
    w = torch.linalg.multi_dot(leaves[::-1])[0] if depth > 1 else leaves[0][0]
    u, z = given.X @ w, given.X @ given.w_star
    y = torch.sigmoid(z)
    (torch.nn.functional.softplus(u) - y * u).mean().backward()

    def moved(t):
        return torch.linalg.multi_dot([m.detach() - t * m.grad for m in leaves[::-1]])[0]

    numeric = (moved(1e-5) - moved(-1e-5)) / 2e-5
    exact = derivative(W, gradient(*given, w.detach()))
    assert torch.allclose(exact, numeric, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("scale", SCALES)
def test_the_induced_flow_at_any_scale(scale):
    X, w_star = case(2, 4)
    given = transfer(X / scale, w_star * scale)
    W = balanced_factors(torch.ones(4).double() * 0.1 * scale, np.random.default_rng(0), depth=2, widths=2)
    assert gap(given, W) < 1e-12 and gap(given, W, no_momentum=True) > 1e-3
    assert induced_flow(*given, start=W, steps=40).conclusion[0].holds


def test_the_induced_flow_of_an_exact_student_is_unknown():
    X, w_star = case(2, 4)
    w_hat = np.linalg.pinv(X) @ X @ w_star
    W = balanced_factors(torch.from_numpy(w_hat), np.random.default_rng(0), depth=2, widths=2)
    assert induced_flow(X, w_star, start=W).verdict is Verdict.INCONCLUSIVE
    with pytest.raises(UserError, match="at least 2 layers"):
        induced_flow(X, w_star, start=[w_hat[None]])


@pytest.mark.parametrize("scale", [1e-300, 1e-100, 1.0, 1e100, 1e300])
@pytest.mark.parametrize("ratio", [1e-9, 0.1, 0.5])
def test_tangent_vectors_are_turned_by_the_largest_angle(scale, ratio):
    rng = np.random.default_rng(0)
    w, direction = (torch.from_numpy(rng.standard_normal((20, 4))) for _ in range(2))
    v = tangent(w, direction, ratio)
    cos = (w * v).sum(-1) / (w.norm(dim=-1) * v.norm(dim=-1))
    assert torch.allclose(torch.arccos(cos.clamp(max=1)), torch.tensor(np.arcsin(ratio)), atol=1e-7)
    assert close_vectors(w * scale, v * scale).verdict is Verdict.HOLDS
    if ratio > 0.01:  # ε/‖w‖ and arcsin(ε/‖w‖) differ by ε³/6
        assert close_vectors(w * scale, v * scale, linear=True).verdict is Verdict.REFUTED


def test_one_pair_beyond_epsilon_is_enough_to_leave_the_lemma():
    w = np.eye(3)
    v = w + 0.1 * np.roll(w, 1, 0)
    assert close_vectors(w, v, epsilon=0.1).verdict is Verdict.HOLDS
    v[2] *= 1.4
    assert close_vectors(w, v, epsilon=0.1).verdict is Verdict.NOT_APPLICABLE
    assert close_vectors(w, w).verdict is Verdict.INCONCLUSIVE  # equal vectors show nothing
    with pytest.raises(UserError, match="of the same shape"):
        close_vectors(w, v[:2])


@pytest.mark.parametrize("scale", SCALES)
def test_the_rate_at_any_scale(scale):
    X, w_star = case(3, 5)
    finding = loss_rate(X / scale, w_star * scale / 2)
    assert finding.verdict is Verdict.HOLDS
    assert loss_rate(X / scale, w_star * scale / 2, steepest=True).verdict is Verdict.REFUTED


def test_the_rate_is_nearly_exact_where_the_curvature_hardly_changes():
    """One point with a label near ½: ℓ falls like e^{−t‖x‖²/2}, and 2μ is a little below this rate."""
    finding = loss_rate([[2.0, 0.0]], [0.01, 0.3])
    c = float(finding.conclusion[0].says.split("c = ")[1].split(" ")[0])
    assert finding.verdict is Verdict.HOLDS and 1.99 < c <= 2.0
    with pytest.raises(UserError, match="orthogonal to all points"):
        loss_rate([[1.0, 0.0]], [0.0, 1.0])


def test_almost_hard_labels_leave_no_rate():
    X, w_star = case(2, 3)
    assert loss_rate(X, 1000 * w_star, steps=200).verdict is not Verdict.REFUTED


def test_gaussian_starts_end_within_their_allowance():
    X, w_star = case(2, 4)
    for seed in range(1):
        finding = nearly_balanced_student(X, w_star, seed=seed, width=2, scale=0.03, epsilon=1.0)
        assert finding.verdict is Verdict.HOLDS
    assert nearly_balanced_student(X, w_star, seed=0, width=2, scale=0.03, epsilon=1.0, steps=5).verdict is (
        Verdict.INCONCLUSIVE
    )
    assert nearly_balanced_student(X, w_star, scale=1.0).verdict is Verdict.NOT_APPLICABLE
    with pytest.raises(UserError, match="positive scale"):
        nearly_balanced_student(X, w_star, scale=0.0)
