"""Overlaps of nodes: closed forms against samples, ratios and constants against brute force."""

import math

import numpy as np
import pytest
import torch

from relulab import UserError
from relulab.subjects.specialization import (
    Nodes,
    fall_off,
    lipschitz_constants,
    overlap_ratios,
    overlaps,
    sampled_overlaps,
)
from relulab.subjects.specialization.tools.pair_overlap import pair_overlap


def random_nodes(n: int, d: int = 4, seed: int = 0, lowest: float = -2.0) -> Nodes:
    rng = np.random.default_rng(seed)
    return Nodes(torch.from_numpy(rng.standard_normal((n, d))), torch.from_numpy(rng.uniform(lowest, 1, n)))


def activations(nodes: Nodes, x: torch.Tensor) -> torch.Tensor:
    return (x @ nodes.w.T + nodes.b).relu()


@pytest.mark.parametrize("std", [1.0, 2.0])
def test_closed_forms_agree_with_samples_within_their_standard_errors(std):
    star, nodes = random_nodes(3), random_nodes(5, seed=1)
    exact = overlaps(star, nodes, std=std)
    x = std * torch.from_numpy(np.random.default_rng(2).standard_normal((100_000, 4)))
    D, L, D_error, L_error = sampled_overlaps(activations(star, x), activations(nodes, x))
    assert ((D - exact.D).abs() < 4.5 * D_error).all() and ((L - exact.L).abs() < 4.5 * L_error).all()
    assert (D_error < 2e-3).all() and (L_error < 0.1 * exact.L.max()).all()


def test_samples_by_loops():
    rng = np.random.default_rng(3)
    f_star, f = (torch.from_numpy(rng.standard_normal((60, n))).relu() for n in (2, 3))
    sampled = sampled_overlaps(f_star, f)
    for j in range(2):
        for k in range(3):
            both = [float(a > 0 and b > 0) for a, b in zip(f_star[:, j], f[:, k], strict=True)]
            product = [float(a * b) for a, b in zip(f_star[:, j], f[:, k], strict=True)]
            for values, mean, error in ((both, sampled.D, sampled.D_error), (product, sampled.L, sampled.L_error)):
                assert mean[j, k].item() == pytest.approx(np.mean(values))
                assert error[j, k].item() == pytest.approx(np.std(values, ddof=1) / math.sqrt(60))


def test_overlaps_scale_with_weights_and_inputs():
    star, nodes = random_nodes(3), random_nodes(2, seed=1)
    D, L = overlaps(star, nodes)
    scaled = overlaps(Nodes(3 * star.w, 3 * star.b), Nodes(nodes.w / 2, nodes.b), std=2.0)
    torch.testing.assert_close(scaled.D, overlaps(Nodes(2 * star.w, star.b), nodes).D)
    torch.testing.assert_close(overlaps(Nodes(3 * star.w, 3 * star.b), nodes).L, 3 * L)
    torch.testing.assert_close(overlaps(Nodes(star.w / 5, star.b), Nodes(nodes.w / 5, nodes.b), std=5.0).D, D)
    torch.testing.assert_close(overlaps(Nodes(star.w / 5, star.b), Nodes(nodes.w / 5, nodes.b), std=5.0).L, L)


def test_ratios_by_loops_and_of_nodes_that_point_away_from_each_other():
    nodes = random_nodes(5)
    unit = Nodes(nodes.w / nodes.w.norm(dim=1, keepdim=True), nodes.b / nodes.w.norm(dim=1))
    D, L = overlaps(unit, unit)
    for matrix, ratio in zip((D, L), overlap_ratios(nodes), strict=True):
        expected = max(float(matrix[j, k] / matrix[j, j]) for j in range(5) for k in range(5) if j != k)
        assert ratio.item() == pytest.approx(expected)
    away = Nodes(torch.tensor([[1.0, 0.0], [-0.5, 0.8]]).double(), torch.tensor([-1.0, -1.0]).double())
    assert 0 < overlap_ratios(away).epsilon_d < torch.special.ndtr(torch.tensor(-1.0))
    assert overlap_ratios(random_nodes(1)).epsilon_d == 0


def largest_ratios(nodes: Nodes, angle: float) -> np.ndarray:
    """The largest |ψ(θ_1) − ψ(θ_2)| / (ψ(θ_1) ‖w_1 − w_2‖) of any pair of nodes, by search over two angles.

    w is turned by up to ``angle``, and w_1, w_2 differ by up to ``angle``, one of them being the node.
    """
    unit = Nodes(nodes.w / nodes.w.norm(dim=1, keepdim=True), nodes.b / nodes.w.norm(dim=1))
    best, turns = np.zeros(2), torch.linspace(-1, 1, 41, dtype=torch.float64) * angle
    for i in range(len(unit.b)):
        for j in range(len(unit.b)):
            theta = float((unit.w[i] @ unit.w[j]).clamp(-1, 1).arccos()) if i != j else 0.0
            node = (theta + turns).abs().clamp(max=math.pi)[:, None]
            other = (node + turns).abs().clamp(max=math.pi)
            apart = 2 * ((node - other).abs() / 2).sin()
            values = [pair_overlap(unit.b[i], unit.b[j], angles) for angles in (node.expand_as(other), other)]
            for k in (0, 1):
                a, b = (value[k] for value in values)
                ratio = (a - b).abs() / (torch.minimum(a, b) * apart)
                best[k] = max(best[k], float(ratio[apart > 1e-9].max()))
    return best


@pytest.mark.parametrize(("angle", "slack"), [(1e-3, 1.01), (0.03, 1.1), (0.2, 2.0)])
def test_lipschitz_constants_are_above_the_largest_ratio_and_close_to_it(angle, slack):
    nodes = random_nodes(4, lowest=-4.0)
    for K, ratio in zip(lipschitz_constants(nodes, angle), largest_ratios(nodes, angle), strict=True):
        assert ratio <= K.item() <= slack * ratio


def test_there_is_no_constant_where_nodes_may_point_in_opposite_directions():
    nodes = Nodes(torch.tensor([[1.0, 0.0], [-1.0, 0.01]]), torch.zeros(2))
    assert all(math.isinf(K) for K in lipschitz_constants(nodes, 0.01))
    assert all(math.isfinite(K) for K in lipschitz_constants(nodes, 0.001))


@pytest.mark.parametrize("angle", [1e-3, 0.3, 1.2])
def test_fall_off_bounds_the_difference_at_all_angles_and_is_reached_for_small_ones(angle):
    b = torch.tensor([-4.0, -1.0, 0.0, 1.5], dtype=torch.float64)
    C_0 = fall_off(Nodes(torch.eye(4).double(), b), angle)
    theta = angle * torch.linspace(0.2, 1, 20, dtype=torch.float64)[:, None]
    own, other = pair_overlap(b, b, torch.zeros_like(theta)).L, pair_overlap(b, b, theta).L
    ratio = ((own - other) / (other * 4 * (theta / 2).sin().square())).amax(0)
    assert (ratio <= C_0 * (1 + 1e-4)).all()
    assert angle > 1e-2 or (ratio > 0.99 * C_0).all()


def test_what_is_no_node_or_angle_is_refused():
    nodes = random_nodes(2)
    with pytest.raises(UserError, match="same number of inputs"):
        overlaps(nodes, random_nodes(2, d=3))
    with pytest.raises(UserError, match="nonzero weights"):
        overlap_ratios(Nodes(torch.zeros(1, 2), torch.zeros(1)))
    with pytest.raises(UserError, match="standard deviation above 0"):
        overlaps(nodes, nodes, std=0.0)
    for angle in (0.0, 1.6):
        with pytest.raises(UserError, match="below π/2"):
            lipschitz_constants(nodes, angle)
    with pytest.raises(UserError, match="at least two"):
        sampled_overlaps(torch.ones(1, 2), torch.ones(1, 3))
