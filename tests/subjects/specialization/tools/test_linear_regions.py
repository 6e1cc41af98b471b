"""Corollary 2: top-down matrices within a linear region and across a boundary, against automatic differentiation."""

import pytest
import torch

from relulab import MLP, Verdict, torch_default
from relulab.subjects.specialization import gradient_rule
from relulab.subjects.specialization.tools.linear_regions import _across, _within, compare_regions


def nets(depth: int, slope: float = 0.0, lanes: int = 1) -> tuple[MLP, MLP]:
    return tuple(
        torch_default((3, *[n] * (depth - 1), 2), seeds=[n + i for i in range(lanes)], slope=slope, dtype=torch.float64)
        for n in (5, 7)
    )


def draw(n: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(1, n, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def gates(net: MLP, point: torch.Tensor, above: int = 0) -> list[bool]:
    """Which units are active at a point, unit by unit, in layers above ``above``."""
    f, active = point, []
    for l, (W, b) in enumerate(zip(net.W[:-1], net.b[:-1], strict=True), 1):
        z = [float(f @ W.data[0, :, k] + b.data[0, 0, k]) for k in range(W.shape[2])]
        f = torch.tensor([v if v > 0 else net.slope * v for v in z], dtype=torch.float64)
        active += [v > 0 for v in z] if l > above else []
    return active


def jacobian(net: MLP, point: torch.Tensor, layer: int) -> torch.Tensor:
    """V_l by automatic differentiation of the layers above l."""
    f = net.layers(point[None])[layer - 1][0, 0].detach()

    def above(f):
        for l in range(layer, net.depth):
            f = f @ net.W[l].data[0] + net.b[l].data[0, 0]
            f = torch.nn.functional.leaky_relu(f, net.slope) if l + 1 < net.depth else f
        return f

    return torch.func.jacrev(above)(f)


@pytest.mark.parametrize("slope", [0.0, 0.2])
def test_partners_have_the_same_gates_and_neighbors_across_do_not(slope):
    pair, x = nets(4, slope), draw(12)
    y = x.roll(1, 1)

    def pattern(points, lowest=0):
        return torch.cat([f > 0 for net in pair for f in net.layers(points)[lowest:-1]], -1)

    here, there, found = _within(pattern, x, y)
    assert found.all() and (there != here).any(-1).all()
    for a, b in zip(here[0], there[0], strict=True):
        assert all(gates(net, a) == gates(net, b) for net in pair)
        for net in pair:
            for layer in (1, 2, 3):
                torch.testing.assert_close(jacobian(net, a, layer), jacobian(net, b, layer), rtol=0, atol=1e-15)
    here, there, found = _across(lambda points: pattern(points, 1), x, y)
    assert found.sum() >= 6 and float((here - there).abs().max()) < 1e-10
    changes = []
    for a, b in zip(here[found], there[found], strict=True):
        assert any(gates(net, a, above=1) != gates(net, b, above=1) for net in pair)
        changes.append(max(float((jacobian(net, a, 1) - jacobian(net, b, 1)).abs().max()) for net in pair))
    assert min(changes) > 1e-6  # however close the points are
    compared = compare_regions(*pair, x, across=True)
    assert compared.gap > 1e3 * compared.allowance > 0


def test_without_a_boundary_above_layer_1_there_is_nothing_to_cross():
    """With two layers, A_1 and B_1 do not depend on the point at all."""
    pair = nets(2)
    assert compare_regions(*pair, draw(20), across=True).pairs == 0
    assert gradient_rule(*pair, draw(20)[0], across=True).verdict is Verdict.INCONCLUSIVE
    assert compare_regions(*pair, draw(20)).gap == 0


@pytest.mark.parametrize("size", [1e-100, 1.0, 1e100])
def test_scale_lanes_and_single_points(size):
    teacher, student = nets(3, lanes=3)
    for net in (teacher, student):
        for b in net.b:
            b.data *= size
    x = size * draw(9)[0]
    assert gradient_rule(teacher, student, x).verdict is Verdict.HOLDS
    assert gradient_rule(teacher, student, x, across=True).verdict is Verdict.REFUTED
    assert gradient_rule(teacher, student, x[:1]).conclusion[-1].detail.startswith("3 pairs")


def test_a_point_at_the_origin_has_no_partner():
    net = torch_default((3, 4, 2), seeds=[0], bias=False, dtype=torch.float64)
    finding = gradient_rule(net, net, torch.zeros(1, 3))
    assert finding.verdict is Verdict.INCONCLUSIVE and "no such pair" in finding.conclusion[-1].detail
