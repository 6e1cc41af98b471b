"""S0.E6: growth of the weights by loops and by one small step, and verdicts."""

import pytest
import torch

from relulab import UserError, Verdict, torch_default
from relulab.subjects.specialization import weight_magnitude
from relulab.subjects.specialization.theorems.weight_magnitude import growth


def nets(slope=0.0, widths=(3, 4, 2)):
    star, student = (torch_default(widths, seeds=[s], slope=slope, dtype=torch.float64) for s in (0, 1))
    return star, student, torch.randn(30, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize("slope", [0.0, 0.2])
def test_growth_by_loops(slope):
    star, net, x = nets(slope)
    r = (star(x) - net(x)).detach()
    (fast,) = growth(net, x, r)
    for k in range(4):
        total = 0.0
        for i in range(len(x)):
            z = float(x[i] @ net.W[0].data[0, :, k] + net.b[0].data[0, 0, k])
            total += (z if z > 0 else slope * z) * float(r[0, i] @ net.W[1].data[0, k])
        assert float(fast[k]) == pytest.approx(total / len(x), rel=1e-12)


def test_growth_is_the_change_of_the_norm_in_a_small_step():
    star, net, x = nets()
    (fast,) = growth(net, x, (star(x) - net(x)).detach())
    J = 0.5 * (star(x).detach() - net(x)).square().sum(-1).mean()
    J.backward()
    w = torch.cat([net.W[0].data[0], net.b[0].data[0]])
    dw = -torch.cat([net.W[0].grad[0], net.b[0].grad[0]])
    eta = 1e-6
    change = ((w + eta * dw).square().sum(0) - w.square().sum(0)) / (2 * eta)
    assert torch.allclose(fast, change, rtol=1e-4, atol=1e-8)


def test_verdicts():
    star, net, x = nets()
    assert weight_magnitude(star, net, x).verdict is Verdict.HOLDS
    assert weight_magnitude(star, net, x, with_bias=False).verdict is Verdict.REFUTED
    assert weight_magnitude(star, star, x).verdict is Verdict.INCONCLUSIVE
    assert weight_magnitude(*nets(widths=(3, 5, 4, 2))).verdict is Verdict.HOLDS
    for scale in (1e-100, 1e100):
        assert weight_magnitude(star, net, scale * x).verdict is Verdict.HOLDS
    with pytest.raises(UserError, match="points of shape"):
        weight_magnitude(star, net, x[:, :2])
