"""Max-margin vectors: against nnls, all support sets, and known supports; their KKT conditions by hand."""

from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from relulab import UserError
from relulab.subjects.bias import max_margin
from relulab.subjects.bias.tools.orthants import OppositeOrthants, SpanningSupports


def by_nnls(A) -> np.ndarray:
    """The nearest point v of the convex hull to 0 from the dual: min ‖Aᵀα‖² + (Σα − 1)² over α ≥ 0; w = v/‖v‖²."""
    alpha, _ = nnls(np.vstack([A.T, np.ones(len(A))]), np.eye(A.shape[1] + 1)[-1], maxiter=100 * len(A))
    v = A.T @ alpha / alpha.sum()
    return v / (v @ v)


def by_all_sets(A) -> np.ndarray:
    """The shortest feasible w among the shortest solutions of A_S w = 1 for all sets S of at most d rows."""
    best = None
    for k in range(1, min(A.shape) + 1):
        for rows in combinations(range(len(A)), k):
            w = np.linalg.pinv(A[list(rows)]) @ np.ones(k)
            if (A @ w > 1 - 1e-9).all() and (best is None or w @ w < best @ best):
                best = w
    return best


def half(seed: int, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes, each in a half space of its own, of many lengths."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, d)), np.where(np.arange(n) % 2, 1, -1)
    X[:, 0] = np.abs(X[:, 0]) + 0.1
    X[y < 0] = X[y < 0] @ np.linalg.qr(rng.standard_normal((d, d)))[0]
    return X * rng.uniform(0.5, 20, (n, 1)), y


def check(side, X, rows) -> None:
    """The conditions of optimality, written out; together they are sufficient."""
    w, alpha = side.w.numpy(), side.multipliers.numpy()
    A = X[rows]
    assert (A @ w >= 1 - 1e-10).all() and (alpha >= 0).all() and not alpha[~rows].any()
    assert alpha @ X == pytest.approx(w, rel=1e-10, abs=1e-10 * np.linalg.norm(w))
    assert np.abs(alpha[rows] * (A @ w - 1)).max() <= 1e-10 * (w @ w) and alpha.sum() == pytest.approx(w @ w)
    near = np.flatnonzero(rows & (np.abs(X @ w - 1) <= 1e-9 * np.linalg.norm(w) * np.linalg.norm(X, axis=1)))
    assert side.supports.tolist() == near.tolist() and set(np.flatnonzero(alpha)) <= set(near)
    assert side.rank == np.linalg.matrix_rank(X[near]) and side.margin == pytest.approx(1 / np.linalg.norm(w))
    assert 0 <= side.residual <= 1e-10 and side.residual == max(side.kkt)


@pytest.mark.parametrize("seed, n, d", [(0, 30, 3), (1, 60, 10), (2, 15, 12), (3, 400, 20)])
def test_against_nnls(seed, n, d):
    X, y = half(seed, n, d)
    found = max_margin(X, y)
    for side, label in ((found.positive, 1), (found.negative, -1)):
        check(side, X, y == label)
        assert side.w.numpy() == pytest.approx(by_nnls(X[y == label]), rel=1e-6, abs=1e-6 * float(side.w.norm()))


@given(st.integers(0, 10_000), st.integers(4, 10), st.integers(1, 3))
@settings(max_examples=15, deadline=None)
def test_tiny_sets_against_all_support_sets(seed, n, d):
    X, y = half(seed, n, d)
    found = max_margin(X, y)
    for side, label in ((found.positive, 1), (found.negative, -1)):
        check(side, X, y == label)
        assert side.w.numpy() == pytest.approx(by_all_sets(X[y == label]), abs=1e-9 * float(side.w.norm()))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("d", [2, 20, 50])
def test_spanning_supports_are_all_found(seed, d):
    """d support examples by construction, some of small multipliers, at which looser tolerances left one out."""
    data = SpanningSupports(d).draw(np.random.default_rng(seed), 10 * d)
    found = max_margin(data.X, data.y)
    for side, label in ((found.positive, 1), (found.negative, -1)):
        rows = (data.y == label).numpy()
        check(side, data.X.numpy(), rows)
        assert side.spans and side.supports.tolist() == np.flatnonzero(rows)[:d].tolist()


def test_the_papers_own_data_do_not_span():
    data = OppositeOrthants(20).draw(np.random.default_rng(0), 500)
    found = max_margin(data.X, data.y)
    assert not found.positive.spans and found.positive.rank == len(found.positive.supports) < 20
    assert (data.of(-1) @ found.negative.w >= 1 - 1e-12).all(), "w₋ is positive on the negative class"


def test_supports_without_multipliers_and_twice_the_same_point():
    """A grid: w is fixed by one corner, copies of it and points of its plane touch too."""
    X = torch.tensor([[1.0, 1.0], [1.0, 1.0], [0.5, 1.5], [2.0, 2.0], [-1.0, 0.0]])
    side = max_margin(X, [1, 1, 1, 1, 0]).positive
    assert side.w.tolist() == pytest.approx([0.5, 0.5]) and side.supports.tolist() == [0, 1, 2] and side.spans
    check(side, X.numpy().astype(float), np.array([True] * 4 + [False]))


@given(st.integers(0, 10_000), st.floats(-6, 6))
@settings(max_examples=15, deadline=None)
def test_rotations_permutations_and_one_scale(seed, power):
    X, y = half(seed, 20, 4)
    rng = np.random.default_rng(seed)
    Q, order, scale = np.linalg.qr(rng.standard_normal((4, 4)))[0], rng.permutation(20), 10.0**power
    before, after = max_margin(X, y), max_margin(scale * (X @ Q)[order], y[order])
    for a, b in zip(before, after, strict=True):
        assert scale * b.w.numpy() == pytest.approx(a.w.numpy() @ Q, abs=1e-9 * float(a.w.norm()))
        assert set(order[b.supports.numpy()].tolist()) == set(a.supports.tolist()) and b.rank == a.rank
        assert scale**2 * b.multipliers.numpy() == pytest.approx(
            a.multipliers.numpy()[order], abs=1e-7 * float(a.multipliers.max())
        )


def test_the_other_class_does_not_matter_and_any_type_will_do():
    X, y = half(0, 30, 3)
    other = X.copy()
    other[y < 0] *= [[3.0, 1.0, 0.5]]
    a, b = max_margin(X, y).positive, max_margin(other, y).positive
    assert torch.equal(a.w, b.w) and torch.equal(a.supports, b.supports)
    single = max_margin(X.astype(np.float32), y > 0).positive
    assert single.w.dtype == torch.float64 and single.residual < 1e-10
    assert single.w.numpy() == pytest.approx(a.w.numpy(), rel=1e-4)


@pytest.mark.parametrize("margin", [1e-2, 1e-4])
def test_small_margins(margin):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 5))
    X[:, 0] = margin * (1 + rng.random(40))
    found = max_margin(np.concatenate([X, -X]), [1] * 40 + [-1] * 40)
    assert found.positive.residual < 1e-9 and found.positive.margin > margin / 2
    assert found.negative.w.numpy() == pytest.approx(-found.positive.w.numpy(), rel=1e-6)


@pytest.mark.parametrize(
    "X, y, says",
    [
        ([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [1, 1, 0], r"the 2 points with label \\+1 have no max-margin vector"),
        (
            [[0.0, 1.0], [1.0, 0.0], [-1.0, 0.5], [0.0, -1.0]],
            [1, 0, 0, 0],
            r"the 3 points with label -1 have no max-margin vector",
        ),
        ([[1.0, 0.0], [0.0, 0.0], [-1.0, 0.0]], [1, 1, 0], "row 1, with label \\\\+1, is the zero point"),
        ([[1e-150, 0.0], [-1.0, 0.0]], [1, 0], "row 0 has norm 1e-150"),
        ([[1.0, 1e-13], [-1.0, 1e-13], [0.0, 1.0]], [1, 1, 0], "millionth"),
        ([[1.0, 0.0], [2.0, 0.0]], [1, 1], "two classes"),
    ],
)
def test_classes_without_such_a_vector_are_refused(X, y, says):
    with pytest.raises(UserError, match=says.replace("\\\\", "\\")):
        max_margin(X, y)
