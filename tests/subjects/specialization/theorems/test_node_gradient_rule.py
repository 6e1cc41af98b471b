"""LM eqs. 2 and 3 against loops over nodes, and the rule's refusals."""

import numpy as np
import pytest
import torch

import relulab as rl
from relulab import UserError, Verdict
from relulab.subjects.specialization import modulation, node_gradient_rule, top_down
from relulab.subjects.specialization.instruments.top_down import top_down_layers
from relulab.subjects.specialization.theorems.node_gradient_rule import recursion


def networks() -> tuple[rl.MLP, rl.MLP]:
    return tuple(rl.torch_default(w, [k], dtype=torch.float64) for k, w in ((3, (3, 2, 4, 3, 2)), (0, (3, 4, 3, 5, 2))))


def inputs(n: int = 6) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(1).standard_normal((n, 3)))


def naive(net: rl.MLP, other: rl.MLP, x: torch.Tensor, l: int) -> np.ndarray:
    """β of layer l at one point by eq. 3, with a sum over all pairs of nodes of the layer above; no biases needed."""
    if l == net.depth:
        return np.eye(net.widths[-1])
    above = naive(net, other, x, l + 1)
    d, d_star = ((one.layers(x[None])[l][0, 0] > 0).double().numpy() if l + 1 < net.depth
                 else np.ones(net.widths[-1]) for one in (net, other))  # fmt: skip
    W, W_star = net.W[l].data[0].numpy(), other.W[l].data[0].numpy()
    beta = np.zeros((len(W), len(W_star)))
    for k, i in np.ndindex(*beta.shape):
        for j, h in np.ndindex(*above.shape):
            beta[k, i] += W[k, j] * d[j] * above[j, h] * d_star[h] * W_star[i, h]
    return beta


def test_the_recursion_is_a_sum_over_nodes_and_gives_A_and_B():
    star, net = networks()
    x = inputs()
    found = recursion(net, star, top_down_layers(net, x), top_down_layers(star, x))
    for l in range(1, 4):
        A, B = modulation(top_down(net, x)[str(l)], top_down(star, x)[str(l)])
        beta_star, beta = (matrix[0, :, :-1, :-1] for matrix in found[l - 1])
        torch.testing.assert_close(beta_star, A[0])
        torch.testing.assert_close(beta, B[0])
        for point, got in zip(x, beta_star, strict=True):
            np.testing.assert_allclose(got.numpy(), naive(net, star, point, l), atol=1e-13)


def test_many_points_are_split(monkeypatch):
    star, net = networks()
    at_once = node_gradient_rule(star, net, inputs(40))
    monkeypatch.setattr("relulab.subjects.specialization.theorems.node_gradient_rule.ENTRIES", 100)
    parts = node_gradient_rule(star, net, inputs(40))
    assert parts.verdict is at_once.verdict is Verdict.HOLDS
    assert [c.error for c in parts.conclusion] == pytest.approx([c.error for c in at_once.conclusion])


def test_lanes_and_modules():
    star, net = rl.torch_default((3, 4, 2), [1]), rl.torch_default((3, 5, 2), range(3))
    assert node_gradient_rule(star, net, inputs()).verdict is Verdict.HOLDS
    assert node_gradient_rule(star.module(), net.module(1), inputs()).verdict is Verdict.HOLDS
    with pytest.raises(UserError, match="3 teachers for 1 students"):
        node_gradient_rule(net, star, inputs())
    with pytest.raises(UserError, match="must agree"):
        node_gradient_rule(star, net, torch.zeros(4, 5))
