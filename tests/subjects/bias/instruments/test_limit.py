"""The distances of IB theorem 1, each against a plain computation, and the function of its corollary."""

import pytest
import torch

from relulab.core.errors import UserError
from relulab.subjects.bias.instruments.limit import limit_distance, limit_function, live

torch.manual_seed(0)
P, D = 9, 4


def network(noise: float = 0.0):
    generator = torch.Generator().manual_seed(1)
    w = torch.randn(2, D, generator=generator, dtype=torch.float64)
    share = torch.rand(P, generator=generator, dtype=torch.float64) + 0.1
    sign = torch.tensor([1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 1.0, -1.0, 1.0], dtype=torch.float64)
    W = torch.where(sign[:, None] > 0, w[0], w[1]) * share[:, None]
    a = sign * W.norm(dim=1)
    return W + noise * torch.randn(P, D, generator=generator, dtype=torch.float64), a, w[0], w[1]


def test_the_limit_itself_has_no_distance():
    found = limit_distance(*network())
    assert float(found.first) < 1e-15 and float(found.second) < 1e-15 and float(found.beyond) < 1e-15
    torch.testing.assert_close(found.cosine, torch.ones(P, dtype=torch.float64))
    assert ((found.u > 0) ^ (found.z > 0)).all()


def test_distances_by_the_definition_and_no_other_shares_are_nearer():
    W, a, w_plus, w_minus = network(noise=0.3)
    found = limit_distance(W, a, w_plus, w_minus)

    def first(u, z):
        return (W / W.norm() - torch.outer(u, w_plus) - torch.outer(z, w_minus)).norm()

    assert float(found.first) == pytest.approx(float(first(found.u, found.z)), rel=1e-12)
    second = a / a.norm() - (found.u * w_plus.norm() - found.z * w_minus.norm())
    assert float(found.second) == pytest.approx(float(second.norm()), rel=1e-12)
    assert found.u.min() >= 0 and found.z.min() >= 0 and not (found.u * found.z).any()
    for _ in range(200):
        u, z = (s + 0.05 * torch.randn(P, dtype=torch.float64) * (s > 0) for s in (found.u, found.z))
        assert first(u.clamp(min=0), z.clamp(min=0)) >= found.first
    singular = torch.linalg.svdvals(W)
    assert float(found.beyond) == pytest.approx(float(singular[2] / singular[0]), rel=1e-12)


def test_a_neuron_on_the_other_side_has_a_negative_cosine_and_no_share():
    W, a, w_plus, w_minus = network()
    W[0] *= -1
    found = limit_distance(W, a, w_plus, w_minus)
    assert float(found.cosine[0]) == pytest.approx(-1) and float(found.u[0]) == 0 and float(found.first) > 0.1


def test_the_function_of_the_limit_is_that_of_the_network():
    W, a, w_plus, w_minus = network()
    x = torch.randn(50, D, dtype=torch.float64)
    f = (x @ W.T).relu() @ a / (W.square().sum() + a.square().sum())
    torch.testing.assert_close(limit_function(limit_distance(W, a, w_plus, w_minus), w_plus, w_minus, x), f)


def test_live_neurons_are_active_somewhere():
    X = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    assert live(torch.tensor([[1.0, -1.0], [-1.0, -1.0], [-1.0, 0.0]]), X).tolist() == [True, False, False]


def test_arrays_and_lists_do_as_well_as_tensors_and_the_wider_type_wins():
    given = network(noise=0.3)
    expected = limit_distance(*given)
    for kind in (torch.Tensor.numpy, torch.Tensor.tolist):
        assert all(map(torch.equal, limit_distance(*map(kind, given)), expected))
    W, a, *w = given
    mixed = limit_distance(W.float(), a, *w)
    assert mixed.first.dtype == torch.float64 and limit_distance(*(t.float() for t in given)).u.dtype == torch.float32
    torch.testing.assert_close(mixed.first, expected.first, rtol=1e-6, atol=1e-6)


def test_shapes_that_do_not_fit_are_said():
    W, a, w_plus, w_minus = network()
    with pytest.raises(UserError, match=r"got shapes \(9, 4\) and \(8,\)"):
        limit_distance(W, a[:8].tolist(), w_plus, w_minus)
    with pytest.raises(
        UserError, match=r"both of shape \(4,\) for first-layer .* \(9, 4\), got shapes \(3,\) and \(4,\)"
    ):
        limit_distance(W, a, w_plus[:3].tolist(), w_minus)
