"""Signs, the gain G and the closed-form sectors, against loops over points."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import binary_cross_entropy_with_logits

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.subjects.bias.instruments.sectors import G, extremal_sectors, sector, sector_gain
from relulab.subjects.bias.tools.orthants import OppositeOrthants


def random_set(seed, d=4, n=9):
    rng = stream(seed, Role.DEMONSTRATION, 9)
    X, W = torch.from_numpy(rng.standard_normal((n, d))), torch.from_numpy(rng.standard_normal((3, 5, d)))
    return W, X, torch.from_numpy(rng.choice([-1.0, 1.0], n))


def test_the_gain_is_the_slope_of_the_loss_of_a_small_unit():
    """A network a ρ(wᵀx) with a unit vector w changes the loss Σ ℓ_i at a = 0 by −G(w) for each a."""
    W, X, y = random_set(0)
    for w in W.reshape(-1, 4):
        a = torch.zeros((), dtype=torch.float64, requires_grad=True)
        output = a * (X @ (w / w.norm())).relu()
        binary_cross_entropy_with_logits(output, (y + 1) / 2, reduction="sum").backward()
        assert math.isclose(float(sector_gain(w, X, y)), -float(a.grad), rel_tol=1e-12)
    assert G is sector_gain


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 1000), st.floats(1e-3, 1e3))
def test_signs_and_gain_are_those_of_a_loop_and_know_no_length(seed, scale):
    W, X, y = random_set(seed)
    signs, gains = sector(scale * W, X), sector_gain(scale * W, X, y)
    for lane in range(3):
        for j in range(5):
            w = W[lane, j] / W[lane, j].norm()
            products = [float(w @ x) for x in X]
            assert signs[lane, j].tolist() == [math.copysign(1, p) for p in products]
            naive = sum(0.5 * float(label) * max(p, 0) for p, label in zip(products, y, strict=True))
            assert math.isclose(float(gains[lane, j]), naive, rel_tol=1e-10, abs_tol=1e-12)


def test_rounding_counts_as_zero_and_little_more_does_not():
    X = torch.tensor([[0.1, 0.2, 0.3]], dtype=torch.float64)
    across = torch.linalg.svd(X, full_matrices=True).Vh[1:]  # orthogonal but for rounding
    assert not sector(across, X).any() and not sector(1e8 * across, X).any()
    assert sector(across + 1e-14 * X, X).all() and not sector(across + 1e-14 * X, X, tolerance=1e-12).any()
    assert sector(torch.zeros(1, 3, dtype=torch.float64), X).tolist() == [[0]]


def naive_sectors(X, y):
    found = []
    for label in (1, -1):
        row = []
        for j in range(len(X)):
            against = [float(X[j] @ X[i]) < 0 for i in range(len(X)) if y[i] == label]
            row.append(1 if y[j] == label else -1 if any(against) else 0)
        found.append(row)
    return found


def test_closed_form_is_that_of_a_loop():
    """Whole numbers, so that products are exact and often 0."""
    seen = set()
    for seed in range(50):
        rng = stream(seed, Role.DEMONSTRATION, 9)
        X = torch.from_numpy(rng.integers(-1, 2, (6, 4))).double()
        y = torch.tensor([1, 1, 1, -1, -1, -1])
        found = [sigma.tolist() for sigma in extremal_sectors(X, y)]
        assert found == naive_sectors(X, y)
        seen |= {s for row in found for s in row}
    assert seen == {-1, 0, 1}


def test_closed_form_has_the_labels_in_opposite_orthants():
    data = OppositeOrthants(6).draw(stream(0, Role.DEMONSTRATION, 9), 20)
    closed = extremal_sectors(data.X, data.y)
    assert torch.equal(closed.positive, data.y.to(torch.int8)) and torch.equal(closed.negative, -closed.positive)


def test_what_cannot_be_asked():
    X, y = torch.eye(2), torch.tensor([1.0, -1.0])
    with pytest.raises(UserError, match="1 rows of weights are zero"):
        sector_gain(torch.tensor([[1.0, 0.0], [0.0, 0.0]]), X, y)
    with pytest.raises(UserError, match="expected labels −1 and 1"):
        sector_gain(X, X, torch.tensor([0, 1]))
    with pytest.raises(UserError, match="one label per point"):
        extremal_sectors(X, torch.ones(3))
    with pytest.raises(UserError, match="tolerance -1"):
        sector(X, X, tolerance=-1.0)


def test_arrays_and_lists_do_as_well_as_tensors_and_the_wider_type_wins():
    W, X, y = random_set(3)
    signs, gains, closed = sector(W, X), sector_gain(W, X, y), extremal_sectors(X, y)
    for kind in (torch.Tensor.numpy, torch.Tensor.tolist):
        assert torch.equal(sector(kind(W), kind(X)), signs)
        assert torch.equal(sector_gain(kind(W), kind(X), kind(y)), gains)
        assert torch.equal(sector_gain(W, kind(X), y.int().tolist()), gains)
        assert torch.equal(extremal_sectors(kind(X), kind(y)).positive, closed.positive)
    single = sector_gain(W.float(), X.float().numpy(), y)
    assert single.dtype == torch.float32 and sector_gain(W.float(), X, y).dtype == torch.float64
    torch.testing.assert_close(sector_gain(W.float(), X, y), gains, rtol=1e-6, atol=1e-6)
    assert torch.equal(sector(W.float(), X), signs)


@pytest.mark.parametrize(("W", "X", "says"), [
    ([[1.0, 2.0]], [1.0, 2.0], "points of shape \\(2,\\)"),
    (3.0 * torch.ones(()), [[1.0, 2.0]], "weights of shape \\(\\)"),
    ([[1.0, 2.0, 3.0]], [[1.0, 2.0]], "3 inputs, but the points have 2 columns"),
    ([[1.0], [1.0, 2.0]], [[1.0, 2.0]], "weights must be real numbers in rows"),
    ([[1.0, 2.0]], [["a", "b"]], "points must be real numbers in rows"),
])  # fmt: skip
def test_shapes_that_do_not_fit_are_said(W, X, says):
    with pytest.raises(UserError, match=says):
        sector(W, X)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_right_angles_of_integers_are_exact_at_any_scale(dtype):
    rng = np.random.default_rng(0)
    u, v = (torch.from_numpy(rng.integers(-9, 10, (300, 3))) for _ in range(2))
    w = torch.linalg.cross(u, v).to(dtype)  # orthogonal to both, and exact
    for scale in (2.0**-90, 1.0, 2.0**90):
        for i in range(300):
            points = torch.stack([u[i], v[i]]).to(dtype) / scale
            assert not sector(w[i : i + 1] * scale, points, tolerance=0).any()
