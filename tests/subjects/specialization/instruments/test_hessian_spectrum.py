"""Eigenvalues of the Hessian against the matrix from torch.func, exactly and by Lanczos processes."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call

import relulab as rl
from relulab import UserError
from relulab.subjects.specialization import hessian_spectrum
from relulab.subjects.specialization.tools.hessian_product import HessianProduct
from relulab.subjects.specialization.tools.lanczos import lanczos


def drawn(seed: int, *shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape))


def plain(*widths: int) -> nn.Sequential:
    return rl.torch_default(widths, [0], dtype=torch.float64).module()


def exact(net: nn.Module, x: torch.Tensor, y: torch.Tensor, loss) -> np.ndarray:
    """All eigenvalues, from second derivatives of the loss as a function of one vector."""
    names = [name for name, p in net.named_parameters() if p.requires_grad]
    parameters = dict(net.named_parameters())
    shapes = [parameters[name].shape for name in names]
    start = torch.cat([parameters[name].detach().flatten() for name in names])

    def value(vector: torch.Tensor) -> torch.Tensor:
        parts = [p.reshape(s) for p, s in zip(vector.split([s.numel() for s in shapes]), shapes, strict=True)]
        return loss(functional_call(net, dict(zip(names, parts, strict=True)), (x,)), y)

    return np.linalg.eigvalsh(torch.autograd.functional.hessian(value, start).numpy())


def squared(f: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return 0.5 * (f - y).square().sum(1).mean()


X, Y, CLASSES = drawn(1, 30, 3), drawn(2, 30, 2), torch.arange(30) % 2


@pytest.mark.parametrize(("y", "loss"), [(Y, squared), (CLASSES, nn.functional.cross_entropy)])
def test_all_eigenvalues_of_a_small_network(y, loss):
    net = plain(3, 6, 4, 2)
    found, wanted = hessian_spectrum(net, X, y, k=4), exact(net, X, y, loss)
    np.testing.assert_allclose(found.values.numpy(), wanted, atol=1e-13)
    np.testing.assert_allclose(found.largest.numpy(), wanted[::-1][:4], atol=1e-13)
    np.testing.assert_allclose(found.smallest.numpy(), wanted[:4], atol=1e-13)
    share = (np.abs(wanted) <= 1e-3 * np.abs(wanted).max()).mean()
    assert found.near_zero == found.near_zero_low == found.near_zero_high == pytest.approx(share)
    assert 0 < share < 1


def test_lanczos_finds_the_ends_within_its_errors_and_brackets_the_share():
    net = plain(3, 10, 6, 2)
    wanted = exact(net, X, Y, squared)
    found = hessian_spectrum(net, X, Y, k=3, steps=12, draws=2)
    assert len(found.values) == 24 < len(wanted) / 4
    for values, errors, side in ((found.largest, found.largest_error, -1), (found.smallest, found.smallest_error, 1)):
        for i, (value, error) in enumerate(zip(values.tolist(), errors.tolist(), strict=True)):
            assert np.abs(wanted - value).min() <= error
            assert side * (value - wanted[::side][i]) > -1e-12  # never beyond the end
    np.testing.assert_allclose(found.largest[0], wanted[-1], rtol=1e-3)
    share = (np.abs(wanted) <= 1e-3 * np.abs(wanted).max()).mean()
    assert found.near_zero_low <= share <= found.near_zero_high
    assert float(found.weights.sum()) == pytest.approx(1)


def test_a_flat_network_is_seen_to_be_flat():
    """Most eigenvalues are exactly zero: the bounds of the Lanczos processes say that they are near zero."""
    net = plain(3, 30, 2)
    with torch.no_grad():
        net[0].bias[3:] = -100  # dead nodes
    found = hessian_spectrum(net, X, Y, squared, steps=6, draws=4)
    wanted = exact(net, X, Y, squared)
    share = (np.abs(wanted) <= 1e-3 * np.abs(wanted).max()).mean()
    assert share > 0.8 and found.near_zero_low <= share <= found.near_zero_high


def test_lanes_are_networks_of_their_own_with_points_of_their_own():
    net, x = rl.torch_default((3, 5, 2), range(3), bias=False, dtype=torch.float64), drawn(4, 3, 20, 3)
    y = drawn(5, 3, 20, 2)
    found = hessian_spectrum(net, x, y)
    for lane in range(3):
        wanted = exact(net.module(lane), x[lane], y[lane], squared)
        np.testing.assert_allclose(found.values[lane].numpy(), wanted, atol=1e-13)


def test_own_losses_convolution_and_batch_norm():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 2, 2), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 1)).double()
    net(drawn(6, 50, 1, 3, 3))
    x, y, before = drawn(7, 20, 1, 3, 3), drawn(8, 20, 1), [b.clone() for b in net.buffers()]
    found = hessian_spectrum(net, x, y, lambda f, y: (f - y).abs().pow(3).mean())
    assert all(torch.equal(a, b) for a, b in zip(before, net.buffers(), strict=True)) and net.training
    wanted = exact(net.eval(), x, y, lambda f, y: (f - y).abs().pow(3).mean())
    np.testing.assert_allclose(found.values.numpy(), wanted, atol=1e-12)


def test_points_may_be_divided_and_frozen_parameters_left_out(monkeypatch):
    net = plain(3, 5, 2)
    net[0].weight.requires_grad_(False)
    at_once = HessianProduct(net, X, Y).matrix()
    assert len(at_once) == 5 + 2 * 5 + 2
    monkeypatch.setattr("relulab.subjects.specialization.tools.hessian_product.CHUNK", 7)
    np.testing.assert_allclose(HessianProduct(net, X, Y).matrix(), at_once, atol=1e-14)
    one = np.ones(len(at_once))
    np.testing.assert_allclose(HessianProduct(net, X, Y)(one), at_once @ one, atol=1e-13)


def test_a_loss_without_curvature_has_only_zeros():
    found = hessian_spectrum(nn.Linear(3, 2).double(), X, Y, lambda f, y: f.mean())
    assert not found.values.any() and float(found.near_zero) == 1


def test_bad_arguments_are_named():
    net = plain(3, 5, 2)
    with pytest.raises(UserError, match="one target per point, got 30 points and 29 targets"):
        hessian_spectrum(net, X, Y[:29])
    with pytest.raises(UserError, match="near=1"):
        hessian_spectrum(net, X, Y, near=1)
    with pytest.raises(UserError, match="returns one differentiable number"):
        hessian_spectrum(net, X, Y, lambda f, y: f)
    with pytest.raises(UserError, match="draws=1"):
        hessian_spectrum(net, X, Y, draws=1)


def test_the_lanczos_process_goes_on_behind_an_invariant_subspace():
    """The start vector is an eigenvector: the process continues in a random direction and finds the other ends."""
    H = np.diag([-3.0, 0.0, 0.0, 1.0, 7.0])
    ritz = lanczos(lambda v: H @ v, np.eye(5)[3], 5, np.random.default_rng(0))
    np.testing.assert_allclose(ritz.values, [-3, 0, 0, 1, 7], atol=1e-9)
    np.testing.assert_allclose(ritz.weights, [0, 0, 0, 1, 0], atol=1e-12)


def test_basis_stays_orthogonal_where_eigenvalues_have_converged():
    """Without reorthogonalization, converged eigenvalues would appear again as copies."""
    values = np.concatenate([[1e6], np.linspace(0, 1, 199)])
    ritz = lanczos(lambda v: values * v, np.ones(200), 60, np.random.default_rng(0))
    assert (ritz.values > 10).sum() == 1 and abs(ritz.values[-1] - 1e6) < 1e-5
