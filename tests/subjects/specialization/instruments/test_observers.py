"""Observers on boxes against a linear-programming solver and dense sampling; counts against loops."""

import numpy as np
import pytest
import torch
from scipy.optimize import linprog

from relulab import UserError
from relulab.subjects.specialization import Nodes, band_counts, kappa, observers
from relulab.subjects.specialization.instruments.observers import active_on, sight


def draw(rng, d: int, m: int = 3, n: int = 4, holes: float = 0.0):
    """Nodes j, nodes k and a box; some weights are exactly zero when ``holes`` says so."""
    w, w_k = rng.normal(size=(m, d)), rng.normal(size=(n, d))
    w[rng.random(w.shape) < holes], w_k[rng.random(w_k.shape) < holes] = 0, 0
    arrays = (w, 1.5 * rng.normal(size=m), w_k, rng.normal(size=n), -rng.random(d), rng.random(d))
    w, b, w_k, b_k, low, high = map(torch.from_numpy, arrays)
    return Nodes(w, b), Nodes(w_k, b_k), low, high


@pytest.mark.parametrize("holes", [0.0, 0.3])
@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_the_largest_input_on_a_boundary_is_that_of_a_linear_program(d, holes):
    rng = np.random.default_rng(d)
    for _ in range(10):
        (w, b), (w_k, b_k), low, high = case = draw(rng, d, holes=holes)
        largest = sight(*case)
        for j in range(3):
            for k in range(4):
                bounds = torch.stack([low, high], 1).tolist()
                program = linprog(-w_k[k].numpy(), A_eq=w[j][None].numpy(), b_eq=[-float(b[j])], bounds=bounds)
                expected = -program.fun + float(b_k[k]) if program.status == 0 else -np.inf
                assert float(largest[j, k]) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("d", [2, 3])
def test_observers_are_those_that_dense_sampling_sees(d):
    """200 cases: every sampled observer is reported; others are reported only where samples miss a small corner."""
    rng, corners, seen = np.random.default_rng(10 + d), 0, 0
    for _ in range(100):
        (w, b), (w_k, b_k), low, high = case = draw(rng, d, m=1, n=1)
        x = low + (high - low) * torch.from_numpy(rng.random((20_000, d)))
        on = x - ((x @ w[0] + b[0]) / w[0].square().sum())[:, None] * w[0]  # dropped onto the boundary
        on = on[((on >= low) & (on <= high)).all(1)]
        shown = bool((on @ w_k[0] + b_k[0] > 0).any())
        observed = bool(observers(*case)[0, 0])
        assert observed or not shown
        corners += observed and not shown
        seen += observed
    assert 10 < seen < 90 and corners <= 5


def test_a_node_without_weights_and_a_boundary_off_the_box_have_no_observers():
    eye, zero, box = torch.eye(2).double(), torch.zeros(2).double(), torch.ones(2).double()
    everywhere = Nodes(eye, zero + 5)
    assert not observers(Nodes(eye, zero + 2), everywhere, -box, box).any()
    assert not observers(Nodes(0 * eye, zero + 1), everywhere, -box, box).any()
    with pytest.raises(UserError, match="low ≤ high"):
        observers(everywhere, everywhere, box, -box)


def test_counts_equal_loops():
    rng = np.random.default_rng(0)
    (w, b), (w_k, b_k), *_ = draw(rng, 3)
    x = torch.from_numpy(rng.normal(size=(400, 3)))
    counts, shares = band_counts(Nodes(w, b), x, 0.3), kappa(Nodes(w, b), Nodes(w_k, b_k), x, 0.3)
    for j in range(3):
        band = [p for p in x if abs(float(p @ w[j] + b[j])) <= 0.3 * float(w[j].norm())]
        assert int(counts[j]) == len(band) > 0
        for k in range(4):
            active = sum(float(p @ w_k[k] + b_k[k]) > 0 for p in band)
            assert float(shares[j, k]) == pytest.approx(active / len(band))


def test_an_empty_band_has_no_share():
    far = Nodes(torch.ones(1, 1, dtype=torch.float64), torch.full((1,), 100.0, dtype=torch.float64))
    assert kappa(far, far, torch.zeros(5, 1, dtype=torch.float64), 0.1).item() == 0


@pytest.mark.parametrize("holes", [0.0, 0.4])
@pytest.mark.parametrize("d", [1, 2, 3, 8, 40])
def test_the_quick_decision_is_that_of_the_linear_program(d, holes):
    """Pairs that the products decide, and pairs that they leave to the linear program, at several levels."""
    rng, outcomes = np.random.default_rng(20 + d), set()
    for _ in range(20):
        case = draw(rng, d, m=6, n=7, holes=holes)
        exact = sight(*case)
        for above in (-0.5, 0.0, 0.3, float(exact[exact.isfinite()].median()) if exact.isfinite().any() else 1.0):
            decided = active_on(*case, above=above)
            settled = (exact - above).abs() > 1e-9  # exact ties are a matter of rounding
            assert torch.equal(decided[settled], (exact > above)[settled])
            outcomes |= set(decided.flatten().tolist())
    assert outcomes == {True, False}


def test_a_node_is_no_observer_of_its_own_boundary():
    rng = np.random.default_rng(7)
    nodes = Nodes(torch.from_numpy(rng.normal(size=(30, 20))), torch.from_numpy(rng.normal(size=30)))
    box = torch.ones(20, dtype=torch.float64)
    own = active_on(nodes, nodes, -box, box, above=1e-12).diagonal()
    assert not own.any() and sight(nodes, nodes, -box, box).diagonal().abs().max() < 1e-12
