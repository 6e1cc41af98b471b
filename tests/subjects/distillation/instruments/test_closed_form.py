"""The closed form of a student, and transfer sets that are rejected."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from relulab import UserError
from relulab.subjects.distillation import distilled, from_labels, nested_students, soft_labels, transfer


def sets(n, d, seed=0, lanes=()):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((*lanes, n, d)), rng.standard_normal(d)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 9), st.integers(0, 10**6))
@settings(deadline=None, max_examples=60)
def test_the_student_is_the_pseudo_inverse_times_the_logits(n, d, rank, seed):
    X, w_star = sets(n, d, seed)
    if rank < min(n, d):  # dependent points too
        X = X[:, :rank] @ np.random.default_rng(seed + 1).standard_normal((min(rank, d), d)) if rank else X * 0
    student = distilled(X, w_star)
    naive = np.linalg.pinv(X) @ X @ w_star
    np.testing.assert_allclose(student.w.numpy(), naive, atol=1e-8)
    assert int(student.rank) == np.linalg.matrix_rank(X)


def test_enough_points_give_the_teacher_without_rounding():
    X, w_star = sets(12, 12)
    assert distilled(X, w_star).w.tolist() == w_star.tolist()


def test_the_span_does_not_depend_on_lengths():
    student = distilled([[1.0, 0.0], [0.0, 1e-17]], [1.0, 1.0])
    assert student.w.tolist() == [1, 1] and int(student.rank) == 2
    X, w_star = sets(3, 5)
    for scale in (1e-170, 1e170):
        np.testing.assert_allclose(nested_students(X, w_star * scale).angles(), nested_students(X, w_star).angles())


def test_many_sets_at_once_equal_each_alone():
    X, w_star = sets(4, 6, lanes=(3, 2))
    together = distilled(X, w_star)
    for i in np.ndindex(3, 2):
        np.testing.assert_allclose(together.w[i], distilled(X[i], w_star).w, atol=1e-14)


def test_soft_labels_determine_the_projection():
    X, w_star = sets(4, 6)
    y = soft_labels(torch.from_numpy(X), torch.from_numpy(w_star))
    np.testing.assert_allclose(y, 1 / (1 + np.exp(-X @ w_star)))
    np.testing.assert_allclose(from_labels(X, y).w_star, distilled(X, w_star).w, atol=1e-10)


@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 10**6))
@settings(deadline=None, max_examples=40)
def test_nested_students_equal_the_students_of_each_set(n, d, seed):
    rng = np.random.default_rng(seed)
    X, w_star = sets(n, d, seed, lanes=(2,))
    for k in range(1, n):  # some points repeat others, or are zero
        kind = rng.integers(4)
        X[0, k] = X[0, k] if kind < 2 else X[0, rng.integers(k)] * 3 if kind == 2 else 0
    nested = nested_students(X, w_star)
    for k in range(1, n + 1):
        alone = distilled(X[:, :k], w_star)
        np.testing.assert_allclose(nested.students()[:, k - 1], alone.w, atol=1e-7)
        assert nested.new[:, :k].sum(1).tolist() == alone.rank.tolist()
    cos = nested.students().norm(dim=-1) / np.linalg.norm(w_star)
    np.testing.assert_allclose(torch.cos(nested.angles()), cos.clamp(max=1), atol=1e-10)


def test_a_point_of_huge_or_tiny_size_counts_like_any_other():
    X, w_star = sets(3, 5)
    plain = nested_students(X, w_star).students()[-1]
    scaled = nested_students(X * np.array([[1e200], [1e-200], [1.0]]), w_star).students()[-1]
    np.testing.assert_allclose(scaled, plain, atol=1e-12)


@pytest.mark.parametrize("X, w, message", [
    ([[1.0, 2.0]], [0.0, 0.0], "the teacher is zero"),
    ([[1.0, 2.0]], [1.0], "1 weights, but points have 2 columns"),
    ([[1.0, 2.0]], [[1.0, 2.0], [1.0, 2.0]], "expected a teacher with 2 weights, got shape (2, 2)"),
    ([[1.0, float("nan")]], [1.0, 1.0], "1 of 2 entries of points are NaN"),
    ([[1.0, 2.0]], [1.0, float("inf")], "entries of the teacher are NaN or infinite"),
    (np.zeros((0, 2)), [1.0, 1.0], "n = 0"),
    (np.zeros((2, 0)), [1.0], "d = 0"),
    ([1.0, 2.0], [1.0, 2.0], "expected a matrix of points"),
    ([["a", "b"]], [1.0, 2.0], "points must be real numbers"),
    ([[1.0], [1.0, 2.0]], [1.0, 2.0], "rows of equal length"),
])  # fmt: skip
def test_invalid_transfer_sets_are_rejected_in_one_sentence(X, w, message):
    for function in (transfer, distilled, nested_students):
        with pytest.raises(UserError) as error:
            function(X, w)
        assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("y, message", [
    ([0.5, 1.0], "1 of 2 labels are outside (0, 1); the first is 1 in row 1"),
    ([0.0, -1.0], "2 of 2 labels are outside"),
    ([0.5, float("nan")], "entries of labels are NaN"),
    ([0.5], "one label per point"),
    ([0.3, 0.9], "no linear teacher gives these labels"),
])  # fmt: skip
def test_invalid_soft_labels_are_rejected(y, message):
    with pytest.raises(UserError) as error:
        from_labels([[1.0, 2.0], [2.0, 4.0]], y)
    assert message in str(error.value)
