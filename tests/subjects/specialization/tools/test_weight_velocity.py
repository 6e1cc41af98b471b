"""The velocity of the weights: eq. 15 against automatic differentiation, eq. 6 against its matrices one by one."""

import numpy as np
import pytest
import torch

import relulab as rl
from relulab.subjects.specialization import layer_means
from relulab.subjects.specialization.tools.streamed_means import Network, streamed_means
from relulab.subjects.specialization.tools.weight_velocity import exact_velocity, separated_velocity


def networks(slope: float = 0.0) -> tuple[rl.MLP, rl.MLP]:
    nets = (
        rl.torch_default(w, [k], slope=slope, dtype=torch.float64) for k, w in ((3, (4, 3, 5, 2)), (0, (4, 6, 4, 2)))
    )
    return tuple(nets)


def inputs(n: int = 50) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(1).standard_normal((n, 4)))


@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_the_exact_velocity_is_minus_the_gradient(slope, monkeypatch):
    monkeypatch.setattr("relulab.subjects.specialization.tools.streamed_means.ENTRIES", 60)
    star, net = networks(slope)
    x = inputs()
    found = exact_velocity(Network.of(net, 0), Network.of(star, 0), x)
    for target, term in ((star(x), found.pull), (torch.zeros(1, 50, 2), [-push for push in found.push])):
        f = net(x)
        # the pull is the gradient of E[fᵀ f*], and the push that of ½ E‖f‖²
        value = (f * target.detach()).sum() if term is found.pull else -0.5 * f.square().sum()
        grads = torch.autograd.grad(value / 50, [*net.W, *net.b])
        for l, rate in enumerate(term):
            torch.testing.assert_close(rate, torch.cat([grads[l][0], grads[3 + l][0]]))


def test_the_separated_velocity_is_made_of_the_means():
    """In the second layer of weights of networks without biases."""
    star, net = (
        rl.torch_default(w, [k], bias=False, dtype=torch.float64) for k, w in ((3, (4, 3, 5, 2)), (0, (4, 6, 4, 2)))
    )
    x = inputs()
    a, b = Network.of(net, 0), Network.of(star, 0)
    found = separated_velocity(a, b, *streamed_means(a, [a, b], x))
    one, two = (layer[:8] for layer in layer_means(net, x, star).values())
    L, _, _, _, L_star, *_ = (part[0] for part in one)
    H, H_star = two[3][0], two[7][0]
    torch.testing.assert_close(found.push[1][:-1], L @ net.W[1].data[0] @ H)
    torch.testing.assert_close(found.pull[1][:-1], L_star @ star.W[1].data[0] @ H_star.T)
    torch.testing.assert_close(found.total[1], found.pull[1] - found.push[1])


def test_at_the_top_both_are_the_same():
    star, net = networks()
    a, b, x = Network.of(net, 0), Network.of(star, 0), inputs()
    exact, mean = exact_velocity(a, b, x), separated_velocity(a, b, *streamed_means(a, [a, b], x))
    torch.testing.assert_close(exact.total[-1], mean.total[-1])
    assert not torch.allclose(exact.total[0], mean.total[0], rtol=0.1)
