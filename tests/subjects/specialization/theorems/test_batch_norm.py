"""LM.L1 and LM.T3: the gradient of BatchNorm by an explicit matrix, rates by finite differences, verdicts, mistakes."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from torch import nn

from relulab import BatchNormMLP, UserError, Verdict
from relulab.subjects.specialization import batch_norm_biases, batch_norm_gradient, conserved_norms
from relulab.subjects.specialization.theorems.batch_norm_gradient import by_autograd, projected
from relulab.subjects.specialization.theorems.conserved_norms import half_squares
from relulab.subjects.specialization.tools.batch_norm_nets import convolutional, fully_connected
from relulab.subjects.specialization.tools.batch_statistics import samples, statistics
from relulab.subjects.specialization.tools.normalized_layers import normalized_layers, sequential_parts
from relulab.subjects.specialization.tools.weight_rates import descend, weight_rates


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape))


def net_of(order="before the ReLU", widths=(4, 5, 6, 2), **options) -> nn.Sequential:
    return fully_connected(widths, order, np.random.default_rng(1), **options)


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_the_projection_is_the_jacobian_that_finite_differences_give(epsilon):
    f, g, c_0 = drawn(7, 1) * 2 + 3, drawn(7, 1, seed=1), torch.tensor([1.7]).double()

    def output(v: np.ndarray) -> np.ndarray:
        return 1.7 * (v - v.mean()) / np.sqrt(((v - v.mean()) ** 2).mean() + epsilon)

    v, h = f[:, 0].numpy(), 1e-6
    jacobian = np.stack([(output(v + h * e) - output(v - h * e)) / (2 * h) for e in np.eye(7)], 1)
    expected = torch.from_numpy(jacobian.T @ g[:, 0].numpy())
    of = statistics(f, epsilon)
    torch.testing.assert_close((c_0 / of.s * projected(of, g))[:, 0], expected, rtol=1e-7, atol=1e-9)
    slow, (of_c_0, of_c_1) = by_autograd(f, g, c_0, epsilon)
    torch.testing.assert_close(slow[:, 0], expected, rtol=1e-7, atol=1e-9)
    assert float(of_c_1) == pytest.approx(float(g.sum()), rel=1e-12)
    assert float(of_c_0) == pytest.approx(float(g[:, 0].numpy() @ output(v) / 1.7), rel=1e-12)


def test_what_epsilon_leaves_of_the_radial_gradient():
    """The component along f − μ is multiplied by κ; with ε = 0 nothing is left."""
    f, g = drawn(50, 3) + 1, drawn(50, 3, seed=1)
    centered = f - f.mean(0)
    for epsilon in (0.0, 1e-5, 1.0):
        g_f, _ = by_autograd(f, g, torch.ones(3).double(), epsilon)
        s = (centered.square().mean(0) + epsilon).sqrt()
        kappa = epsilon / s.square()
        torch.testing.assert_close((centered * g_f).sum(0), kappa / s * (centered * g).sum(0), rtol=1e-9, atol=1e-12)
        assert float(g_f.sum(0).abs().max()) < 1e-12


def test_verdicts_of_the_gradient():
    f, g = drawn(30, 4), drawn(30, 4, seed=1)
    assert batch_norm_gradient(f, g, epsilon=1e-5).verdict is Verdict.HOLDS
    assert batch_norm_gradient(f, g, epsilon=1e-5, as_printed=True).verdict is Verdict.REFUTED
    assert batch_norm_gradient(f, torch.zeros_like(g)).verdict is Verdict.INCONCLUSIVE
    # so far from zero that rounding errors exceed σ
    assert batch_norm_gradient(1e-10 * f + 1e6, g).verdict is Verdict.NOT_APPLICABLE
    with pytest.raises(UserError, match="shape"):
        batch_norm_gradient(f, g[:, :2])
    with pytest.raises(UserError, match="epsilon of at least 0"):
        batch_norm_gradient(f, g, epsilon=-1.0)


def test_samples_of_images_are_their_positions():
    f = drawn(2, 3, 4, 5)
    assert torch.equal(samples(f)[:, 1], f[:, 1].flatten())


@pytest.mark.parametrize("order", ["before the ReLU", "after the ReLU", "no BatchNorm"])
def test_rates_are_the_changes_of_norms_in_a_small_step(order):
    net, x, y = net_of(order), drawn(40, 4), drawn(40, 2, seed=1)
    layers = normalized_layers(sequential_parts(net), everywhere=True)
    rates = weight_rates(sequential_parts(net), layers, x, half_squares(y))
    before = [layer.rows() for layer in layers]
    eta = 1e-7
    descend(net, x, half_squares(y), step=eta, steps=1)
    for layer, w, rate in zip(layers, before, rates, strict=True):
        change = (layer.rows().square().sum(1) - w.square().sum(1)) / (2 * eta)
        torch.testing.assert_close(rate.inner, change, rtol=1e-4, atol=1e-5)
        assert ((rate.inner.abs() <= rate.error) == (order != "no BatchNorm")).all()
        torch.testing.assert_close(rate.size, w.norm(dim=1))


def test_with_epsilon_the_norm_grows_with_the_weight_of_batch_norm():
    """½ d‖w_j‖²/dt = κ c_0 dc_0/dt, as the page says."""
    net, x, y, epsilon = net_of(), drawn(40, 4), drawn(40, 2, seed=1), 0.2
    norms = [module for module in net if isinstance(module, nn.BatchNorm1d)]
    for norm in norms:
        norm.eps = epsilon
        nn.init.uniform_(norm.weight, 0.5, 2, generator=torch.Generator().manual_seed(0))
    parts = sequential_parts(net)
    layers = normalized_layers(parts)
    rates = weight_rates(parts, layers, x, half_squares(y))
    received, f = [], x
    for module in net:
        if isinstance(module, nn.BatchNorm1d):
            received.append(statistics(f.detach(), epsilon))
        f = module(f)
    slopes = torch.autograd.grad(half_squares(y)(f), [norm.weight for norm in norms])
    for norm, of, slope, rate in zip(norms, received, slopes, rates, strict=True):
        torch.testing.assert_close(rate.inner, -of.kappa * norm.weight.detach() * slope, rtol=1e-9, atol=1e-14)
        assert float(rate.inner.abs().max()) > 1e-4


def test_a_step_of_gradient_descent_adds_the_squared_gradient():
    net, x, y = net_of("after the ReLU"), drawn(40, 4), drawn(40, 2, seed=1)
    (layer, _), eta = normalized_layers(sequential_parts(net)), 0.1
    w, rate = layer.rows(), weight_rates(sequential_parts(net), [layer], x, half_squares(y))[0]
    descend(net, x, half_squares(y), step=eta, steps=1)
    grown = layer.rows().square().sum(1) - w.square().sum(1)
    torch.testing.assert_close(grown, eta**2 * rate.speed.square(), rtol=1e-9, atol=1e-14)


def test_the_bias_matters_only_behind_a_relu():
    x, y = drawn(40, 4), drawn(40, 2, seed=1)
    verdicts = {
        (order, with_bias): conserved_norms(net_of(order), x, y, with_bias=with_bias, steps=4).verdict.name
        for order in ("before the ReLU", "after the ReLU") for with_bias in (True, False)
    }  # fmt: skip
    assert verdicts.pop(("after the ReLU", False)) == "REFUTED" and set(verdicts.values()) == {"HOLDS"}
    net = net_of("after the ReLU", bias=False)
    assert conserved_norms(net, x, y, with_bias=False, steps=4).verdict is Verdict.HOLDS


def test_pooling_and_nested_modules():
    convolution = convolutional((1, 3), 8, 2, "before the ReLU", np.random.default_rng(0))
    first, norm, relu, flat, _ = convolution
    top = nn.Linear(27, 2).double()
    net = nn.Sequential(nn.Sequential(first, nn.LeakyReLU(0.1), nn.MaxPool2d(2)), norm, relu, flat, top)
    assert [(layer.name, layer.rectified) for layer in normalized_layers(sequential_parts(net))] == [("0.0", True)]
    x, y = drawn(10, 1, 8, 8), drawn(10, 2, seed=1)
    assert conserved_norms(net, x, y, steps=4).verdict is Verdict.HOLDS


def test_dead_units_are_left_out_and_nothing_that_moves_is_undecided():
    net, x, y = net_of("before the ReLU"), drawn(40, 4), drawn(40, 2, seed=1)
    net[1].bias.data[0] = -100.0  # this unit never fires, so its weights do not move
    finding = conserved_norms(net, x, y, steps=4)
    assert finding.verdict is Verdict.HOLDS and "4 of 5 nodes" in finding.conclusion[0].detail
    still = deepcopy(net)
    still[1].bias.data.fill_(-100.0)
    assert conserved_norms(still, x, y, steps=4).verdict is not Verdict.HOLDS
    assert conserved_norms(net, x[:2], y[:2], steps=4).verdict is Verdict.INCONCLUSIVE  # two samples determine f̃


def test_classes_and_other_losses():
    net, x = net_of("after the ReLU", (4, 5, 3)), drawn(40, 4)
    labels = torch.arange(40) % 3
    assert conserved_norms(net, x, labels, loss=nn.functional.cross_entropy, steps=4).verdict is Verdict.HOLDS


@pytest.mark.parametrize(("net", "sentence"), [
    (lambda: nn.Linear(4, 2), "expected an nn.Sequential, got Linear"),
    (lambda: BatchNormMLP((4, 5, 2), lanes=2), "expected one network, got 2 lanes"),
    (lambda: nn.Sequential(*[nn.Linear(4, 4)] * 2), "share their weights"),
])  # fmt: skip
def test_other_networks_are_refused(net, sentence):
    with pytest.raises(UserError, match=sentence):
        conserved_norms(net(), drawn(8, 4), drawn(8, 2))


def test_networks_of_relulab():
    net = BatchNormMLP((4, 5, 6, 2), order="before", dtype=torch.float64)
    for W in net.W:
        nn.init.uniform_(W, -0.5, 0.5, generator=torch.Generator().manual_seed(0))
    x, y = drawn(40, 4), drawn(40, 2, seed=1)
    assert conserved_norms(net, x, y, epsilon=0.0, steps=4).verdict is Verdict.HOLDS
    assert conserved_norms(net, x, y, steps=4).verdict is Verdict.NOT_APPLICABLE  # its own ε is 10⁻⁵
    assert [one.layer.place.value for one in batch_norm_biases(net)] == ["before a ReLU"] * 2


def test_points_without_targets_are_refused():
    with pytest.raises(UserError, match="one target per point"):
        conserved_norms(net_of(), drawn(8, 4), drawn(7, 2))
