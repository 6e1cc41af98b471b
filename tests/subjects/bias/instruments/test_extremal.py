"""Extremal directions against an enumeration of all faces of the arrangement, and by definition on the sphere.

The enumeration shares nothing with the library: faces are compositions of rays, and D ≤ 0 is tested on the rays of the
local arrangement (where a function that is linear on cones has its extremes), not by multipliers.
"""

from itertools import combinations
from math import comb

import numpy as np
import pytest
import torch

from relulab.core.errors import UserError
from relulab.subjects.bias.instruments.extremal import extremal_directions
from relulab.subjects.bias.instruments.sectors import extremal_sectors, sector_gain

TINY = 1e-9


def gain(W, X, y):
    W = W / np.linalg.norm(W, axis=-1, keepdims=True)
    return 0.5 * np.maximum(W @ X.T, 0) @ y


def rays(X):
    """Both unit normals of every hyperplane that rows of X span."""
    r = X.shape[1]
    if r == 1:
        return np.array([[1.0], [-1.0]])
    subsets = np.array(list(combinations(range(len(X)), r - 1)))
    _, s, V = np.linalg.svd(X[subsets], full_matrices=True)
    normals = V[s[:, -1] > TINY, -1]
    return np.concatenate([normals, -normals])


def signs(W, X):
    products = W @ X.T
    return np.where(np.abs(products) < TINY, 0, np.sign(products)).astype(np.int8)


def all_faces(X):
    """Sign vectors of all faces: compositions of those of rays, σ where it is not 0 and else τ (X spans its space).

    A sign vector is kept as a whole number, its positive entries in the first n bits and its negative ones in the next.
    """
    n = len(X)
    bits, low = 1 << np.arange(n), (1 << n) - 1
    ends = signs(rays(X), X)
    ends = np.unique((ends > 0) @ bits + ((ends < 0) @ bits << n))
    seen = np.zeros(4**n, dtype=bool)
    new = ends
    for _ in range(X.shape[1] - 1):  # as many rays as dimensions are enough
        zero = ~(new | new >> n) & low
        seen[new[:, None] | (ends & (zero | zero << n)[:, None])] = True
        new = np.flatnonzero(seen)
    faces = np.union1d(ends, new)[:, None]
    return ((faces & bits > 0).astype(np.int8) - (faces >> n & bits > 0)).astype(np.int8)


def stationary(faces, X, y):
    """Directions w with P_Z g_A parallel to w: the only one of each face, rays among them."""
    g = (faces > 0) * y @ X / 2
    flats, which = np.unique(faces == 0, axis=0, return_inverse=True)
    masked = X * flats[:, :, None]
    off = np.eye(X.shape[1]) - np.linalg.pinv(masked, rcond=TINY) @ masked
    p = np.einsum("kij,kj->ki", off[which.ravel()], g)
    size = np.linalg.norm(p, axis=1)
    w = p[size > TINY] / size[size > TINY, None]
    w = w[(signs(w, X) == faces[size > TINY]).all(1)]
    both = np.concatenate([w, rays(X)])
    return both[np.unique(both.round(8) + 0.0, axis=0, return_index=True)[1]]


def slopes(w, v, X, y):
    """D(v), the slope of G at w along v, of each row v."""
    sigma = signs(w, X)
    products = v @ X.T
    return 0.5 * (products * (sigma > 0) + np.maximum(products, 0) * (sigma == 0)) @ y


def local_rays(w, X):
    """Directions orthogonal to w in which a cone of the arrangement near w has its edges; none if nothing is zero."""
    Z = X[signs(w, X) == 0]
    if not len(Z):
        return np.zeros((0, len(w)))
    _, s, V = np.linalg.svd(Z)
    basis = V[: (s > TINY).sum()].T
    return rays(Z @ basis) @ basis.T


def brute_force(X, y):
    """All strict local maxima and all strict local minima of G on the sphere."""
    _, s, V = np.linalg.svd(X, full_matrices=False)
    V = V[s > TINY * s[0]].T
    norms = np.linalg.norm(X, axis=1)
    X = X / norms[:, None] @ V
    faces = all_faces(X)
    # lengths of points go into y
    return [maxima(faces, X, sign * y * norms, whole=len(V) == V.shape[1]) @ V.T for sign in (1, -1)]


def maxima(faces, X, y, whole):
    found = []
    rough = np.concatenate([np.random.default_rng(0).standard_normal((40, X.shape[1])), X, -X])
    for w in stationary(faces, X, y):
        if slopes(w, rough - np.outer(rough @ w, w), X, y).max() > TINY:
            continue
        edges = local_rays(w, X)
        steepest = slopes(w, edges, X, y).max(initial=-np.inf if len(edges) else 0)
        pinned = whole and len(edges) and np.linalg.matrix_rank(edges, tol=TINY) == X.shape[1] - 1
        if steepest <= TINY and (gain(w, X, y) > TINY or (steepest < -TINY and pinned)):
            found.append(w)
    return np.array(found).reshape(-1, X.shape[1])


def greedy_separable(rng):
    """An orthogonally separable set grown point by point: Gaussian, or of small whole numbers with many exact zeros."""
    d, n, whole = rng.integers(2, 5), rng.integers(3, 13), rng.random() < 0.5
    while True:
        X, y = np.zeros((0, d)), np.zeros(0)
        for _ in range(60):
            x = (rng.integers(-2, 3, d) if whole else rng.standard_normal(d)).astype(float)
            label = rng.choice([-1.0, 1.0])
            products = X @ x * y * label
            if x.any() and (np.where(y == label, products > 0, products >= 0)).all() and len(X) < n:
                X, y = np.r_[X, x[None]], np.r_[y, label]
        if len(set(y)) == 2:
            return X, y


def random_set(seed, d, n):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], n)


def tensors(X, y):
    return torch.from_numpy(X), torch.from_numpy(y)


def assert_same(found, expected):
    for sign, w in zip((1, -1), expected, strict=True):
        distance = np.linalg.norm(found.of(sign).w.numpy()[:, None] - w[None], axis=-1)
        assert len(distance) == len(w), sign
        assert (distance.min(0, initial=2) < 1e-7).all() and (distance.min(1, initial=2) < 1e-7).all(), sign


@pytest.mark.parametrize(("d", "n"), [(2, 7), (3, 9), (4, 12)])
def test_the_enumeration_has_as_many_open_sectors_as_an_arrangement_has_regions(d, n):
    """2 Σ_{k<d} C(n − 1, k) for points in general position."""
    faces = all_faces(random_set(0, d, n)[0])
    assert (faces != 0).all(1).sum() == 2 * sum(comb(n - 1, k) for k in range(d))
    assert len(np.unique(faces, axis=0)) == len(faces)


@pytest.fixture(scope="module")
def separable():
    return [greedy_separable(np.random.default_rng(seed)) for seed in range(200)]


def test_orthogonally_separable_sets_have_one_of_each_in_the_sectors_of_the_closed_form(separable):
    for X, y in separable:
        expected = brute_force(X, y)
        assert [len(w) for w in expected] == [1, 1]
        found = extremal_directions(*tensors(X, y), starts=32)
        assert_same(found, expected)
        closed = extremal_sectors(*tensors(X, y))
        assert torch.equal(found.sigma, torch.stack(closed))
        unit = X / np.linalg.norm(X, axis=1)[:, None]
        assert (signs(np.concatenate(expected), unit) == torch.stack(closed).numpy()).all()


def test_many_of_those_sets_have_points_orthogonal_to_the_other_class(separable):
    zeros = [(np.stack(extremal_sectors(*tensors(X, y))) == 0).any() for X, y in separable]
    angles = [((X @ X.T == 0) & (y[:, None] != y)).any() for X, y in separable]
    assert sum(zeros) >= 10 and sum(angles) >= 30


# Sets found by trying seeds: more than two directions, and some whose G has the sign of the other kind.
@pytest.mark.parametrize(
    ("seed", "d", "n", "counts", "far"),
    [(31, 4, 10, (5, 9), 5), (34, 3, 12, (5, 5), 4), (30, 3, 6, (5, 4), 2), (53, 2, 11, (4, 4), 3)],
)
def test_other_sets_have_more_and_all_are_found(seed, d, n, counts, far):
    X, y = random_set(seed, d, n)
    expected = brute_force(X, y)
    assert tuple(len(w) for w in expected) == counts
    found = extremal_directions(*tensors(X, y))
    assert_same(found, expected)
    assert int((found.G * found.sign < 0).sum()) == far
    assert int(found.reached[found.sign > 0].sum() + found.off[0] + found.lost[0]) == 512


@pytest.mark.parametrize("seed", range(8))
def test_points_of_whole_numbers_agree_with_the_enumeration_too(seed):
    """Many parallel, dependent and orthogonal points: here zeros are the rule, and P need not be empty."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (10, 3)).astype(float)
    X = X[X.any(1)]
    y = rng.choice([-1.0, 1.0], len(X))
    assert_same(extremal_directions(*tensors(X, y), rounds=60), brute_force(X, y))


@pytest.mark.parametrize(("seed", "d", "n"), [(31, 4, 10), (30, 3, 6)])
def test_by_definition_they_are_strict_local_extrema(seed, d, n):
    X, y = random_set(seed, d, n)
    rng = np.random.default_rng(0)
    found = extremal_directions(*tensors(X, y))
    assert torch.allclose(found.G, sector_gain(found.w, *tensors(X, y)))
    for w, sign in zip(found.w.numpy(), found.sign.numpy(), strict=True):
        for radius in (1e-3, 1e-4, 1e-5):
            around = w + radius * rng.standard_normal((20_000, d))
            away = np.linalg.norm(around / np.linalg.norm(around, axis=1)[:, None] - w, axis=1) > radius / 10
            assert (sign * gain(around[away], X, y) < sign * gain(w, X, y)).all()


def test_starts_come_from_the_stream_that_is_given():
    X, y = tensors(*random_set(31, 4, 10))
    first, again, other = (extremal_directions(X, y, rng=np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert torch.equal(first.reached, again.reached) and not torch.equal(first.reached, other.reached)
    assert torch.allclose(first.w, other.w)


def test_a_kink_with_the_wrong_label_is_no_maximum():
    """x₁ᵀx₂ = 0, both positive: at w = x₁ the slope toward x₂ is ½‖x₂‖², so only their sum is a maximum."""
    X, y = torch.eye(3).double()[:2], torch.ones(2).double()
    found = extremal_directions(torch.cat([X, -X[:1] - X[1:]]), torch.cat([y, -y[:1]]))
    assert torch.allclose(found.of(1).w, torch.tensor([[0.5, 0.5, 0]]).double().sqrt())


def test_a_pinned_direction_counts_and_a_flat_one_does_not():
    """Negative points only: (±1, 0) pin w = (0, ±1), where G is 0 and −½; without (1, 0) G is 0 on a quadrant."""
    pinned = torch.tensor([[1, 0], [-1, 0], [0, -1]]).double()
    found = extremal_directions(pinned, -torch.ones(3), rounds=30).of(1)
    assert torch.allclose(found.w, torch.tensor([[0, 1], [0, -1]]).double()) and found.G.tolist() == [0, -0.5]
    flat = extremal_directions(pinned[1:], -torch.ones(2))
    assert not len(flat.of(1).G) and flat.off[0] == 512


def test_what_cannot_be_asked():
    X = torch.eye(2)
    with pytest.raises(UserError, match="expected labels −1 and 1"):
        extremal_directions(X, torch.tensor([0, 1]))
    with pytest.raises(UserError, match="1 columns"):
        extremal_directions(X[:, :1], torch.tensor([-1, 1]))
    with pytest.raises(UserError, match="starts of at least 1"):
        extremal_directions(X, torch.tensor([-1, 1]), starts=0)
    with pytest.raises(UserError, match="finite"):
        extremal_directions(X / 0, torch.tensor([-1, 1]))


def test_arrays_and_lists_do_as_well_as_tensors():
    X, y = np.array([[2.0, 0.0, 1.0], [0.0, -4.0, 0.5], [1.0, 1.0, -3.0]]), np.array([1, -1, 1])
    expected = extremal_directions(torch.from_numpy(X), torch.from_numpy(y), starts=32)
    for given in ((X, y), (X.tolist(), y.tolist())):
        assert all(map(torch.equal, extremal_directions(*given, starts=32), expected))
    assert extremal_directions(X.astype(np.float32), y, starts=4).w.dtype == torch.float32
    with pytest.raises(UserError, match="points must be real numbers in rows"):
        extremal_directions([[1.0, 2.0], [1.0]], y)
    with pytest.raises(UserError, match="one label per point"):
        extremal_directions(X, [1, -1])
