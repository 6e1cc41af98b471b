"""η, μ and τ: against loops over all bands, and estimates on the right side of the truth."""

import math
from itertools import pairwise

import pytest
import torch

import relulab as rl
from relulab.subjects.specialization import Nodes


def draw(N: int, d: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(N, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def eta_along(t: list[float], scale: float, d: int) -> float:
    """The worst band across one direction: every pair of points as its ends."""
    t, best = sorted(t), 0.0
    for i in range(len(t)):
        for j in range(i, len(t)):
            best = max(best, (j - i + 1 - d - 1) / (max((t[j] - t[i]) / 2, scale) * len(t)))
    return best


@pytest.mark.parametrize("scale", [0.01, 0.1, 1.0])
def test_eta_on_a_line_is_that_of_all_bands(scale):
    x = draw(120, 1)
    truth = eta_along(x[:, 0].tolist(), scale, 1)
    low, high = rl.specialization.eta(x, scale)
    assert low == pytest.approx(truth) and high == pytest.approx(truth)


def test_eta_in_the_plane_lies_between_the_estimates():
    x, scale = draw(60, 2, 1), 0.2
    angles = [math.pi * i / 400 for i in range(400)]
    truth = max(eta_along((x @ torch.tensor([math.cos(a), math.sin(a)]).double()).tolist(), scale, 2) for a in angles)
    low, high = rl.specialization.eta(x, scale)
    assert low <= high and truth <= high and low >= 0.8 * truth and high <= 1.6 * truth


def test_eta_grows_as_bands_get_thin():
    x = draw(300, 2, 2)
    values = [rl.specialization.eta(x, scale).low for scale in (0.3, 0.03, 0.003)]
    assert all(a < b for a, b in pairwise(values))


def test_in_many_dimensions_the_upper_estimate_is_the_trivial_one():
    low, high = rl.specialization.eta(draw(500, 8), 0.1)
    assert high == pytest.approx((500 - 9) / (500 * 0.1)) and 0 < low < high


def test_mu_by_loops():
    x = draw(80, 1, 3)
    t = x[:, 0].abs().tolist()
    truth = max(a * a * sum(b >= a for b in t) / len(t) for a in t)
    low, high = rl.specialization.mu(x)
    assert low == pytest.approx(truth) and high == pytest.approx(float(x.square().mean()))
    low, high = rl.specialization.mu(draw(80, 5, 3))
    assert 0 < low <= high


def test_tau_by_loops():
    x, scale, widest = draw(50, 3, 4), 0.2, 1.0
    nodes = Nodes(draw(4, 3, 5), draw(4, 1, 6)[:, 0] / 4)
    u, c = rl.specialization.regular(nodes)
    slow = []
    for j in range(4):
        t = [abs(float(point @ u[j] + c[j])) for point in x]
        widths = [scale, widest, *(a for a in t if scale < a <= widest)]
        # just below each width: a point at it does not count yet
        counts = [(e, sum(a < e for a in t)) for e in widths if e != scale] + [(widest, sum(a <= widest for a in t))]
        slow.append(min(n / (e * len(t)) for e, n in counts))
    torch.testing.assert_close(rl.specialization.tau(nodes, x, scale, widest), torch.tensor(slow).double())


@pytest.mark.parametrize("call, sentence", [
    (lambda x: rl.specialization.eta(x[:3], 0.1), r"at least d \+ 1"),
    (lambda x: rl.specialization.eta(x, 0.0), "above 0"),
    (lambda x: rl.specialization.mu(x * torch.nan), "finite|NaN"),
    (lambda x: rl.specialization.tau(Nodes(torch.ones(1, 2).double(), torch.zeros(1).double()), x, 0.1, 1), "2 inputs"),
    (lambda x: rl.specialization.tau(Nodes(x[:1], x[:1, 0]), x, 2, 1), "scale ≤ widest"),
])  # fmt: skip
def test_errors(call, sentence):
    with pytest.raises(rl.UserError, match=sentence):
        call(draw(20, 3))


def test_few_points_many_directions_and_nodes_without_weights():
    assert rl.specialization.eta(draw(4, 3), 0.1) == (0.0, 0.0)
    low, high = rl.specialization.eta(draw(100, 3), 1e-4)  # no net is fine enough: the trivial bound
    assert low <= high == pytest.approx((100 - 4) / (100 * 1e-4))
    dead = Nodes(torch.zeros(1, 3).double(), torch.ones(1).double())
    assert float(rl.specialization.tau(dead, draw(20, 3), 0.1, 1.0)) == 0
