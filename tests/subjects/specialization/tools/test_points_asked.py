"""The number of points that theorems 3 and 4 ask for, against points drawn one set after the other."""

import math

import numpy as np
import pytest
import torch

from relulab.subjects.specialization.tools.band_constants import band_constant
from relulab.subjects.specialization.tools.nodes import Nodes, regular
from relulab.subjects.specialization.tools.points_asked import points_asked


def some_nodes(K: int = 4, d: int = 4) -> Nodes:
    w = np.random.default_rng(3).standard_normal((K, d))
    return regular(Nodes(torch.from_numpy(w), torch.full((K,), -0.1, dtype=torch.float64)))


def test_points_drawn_one_by_one_have_the_same_counts_and_constants():
    """The points of the band are not drawn directly here but found among all points."""
    nodes, epsilon, gamma = some_nodes(), 0.9, 2.0
    asked = [points_asked(np.random.default_rng(s), nodes, 2, epsilon, gamma) for s in range(16)]
    n, width = asked[0].in_band, float(np.median([a.width for a in asked]))
    assert n == math.ceil(5 * 4 * 5)
    drawn, counts, N = [], [], 40_000
    for seed in range(16):
        x = torch.from_numpy(np.random.default_rng(100 + seed).standard_normal((N, 4)))
        z = x @ nodes.w.T + nodes.b
        k = 2 + int((z[z[:, 0].abs() < 0.05] > 0).double().mean(0)[2:].argmax())
        inside = x[(z[:, 0].abs() <= 3 * width) & (z[:, k] > 0)]
        counts.append(len(inside) / N / (3 * width))
        drawn.append(band_constant(inside[:n], nodes.w[0], float(nodes.b[0]), nodes.w[1:], 3 * width, 4, gamma))
    pairs = (
        (np.log(drawn), np.log([epsilon / a.width for a in asked])),  # max(M₁, M₂)
        (np.array(counts), np.array([a.in_band / a.points / a.width for a in asked])),  # points of the band per width
    )
    for one, other in pairs:
        error = math.sqrt((one.var(ddof=1) + other.var(ddof=1)) / 16)
        assert abs(one.mean() - other.mean()) < 4 * error < 0.3 * abs(one.mean())


def test_the_number_is_inverse_to_epsilon_and_its_square_at_a_corner():
    nodes = some_nodes(6, 5)
    plain, corner = (
        [points_asked(np.random.default_rng(0), nodes, 2, e, 2.0, corner=c).points for e in (0.4, 0.1)]
        for c in (False, True)
    )
    assert plain[1] / plain[0] == pytest.approx(4, rel=0.3) and corner[1] / corner[0] == pytest.approx(16, rel=0.5)
