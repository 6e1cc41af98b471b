"""Losses of margins: log ℓ and pulls by automatic differentiation, the facts on each loss, and flows with them."""

import math

import pytest
import torch
from torch.nn.functional import softplus

import relulab
from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.flow.gradient_flow import gradient_flow
from relulab.flow.margin_losses import LATE, LOSSES, followed, log_loss_of
from relulab.nets.initial import balanced, residual_default
from relulab.subjects.bias.tools.orthants import OppositeOrthants

PHI = {
    "logistic": lambda m: softplus(-m),
    "exponential": lambda m: (-m).exp(),
    "sigmoid": lambda m: 1 / (1 + m.exp()),
    "capped-exponential": lambda m: torch.where(m >= 0, (-m.clamp(min=0)).exp(), 1 - m),
    "rational": lambda m: torch.where(m >= 0, 1 / (1 + m.clamp(min=0)), 1 - m),
    "squared": lambda m: (1 - m).square(),
    "hinge": lambda m: (1 - m).relu(),
}
FLOWS = [name for name in LOSSES if followed(name)]


@pytest.mark.parametrize("name", FLOWS)
def test_log_loss_and_pulls_equal_those_of_the_formula(name):
    m = torch.tensor([[-3.0, -1e-3, 0.5, 2.0, 30.0], [4.0, 5.0, 6.0, 7.0, 8.0]], dtype=torch.float64)
    m.requires_grad_()
    naive = PHI[name](m).sum(1).log()
    naive.sum().backward()
    log_loss, p = log_loss_of(name)(m.detach())
    torch.testing.assert_close(log_loss, naive.detach(), rtol=1e-12, atol=1e-12)
    assert m.grad is not None
    torch.testing.assert_close(p, -m.grad, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("name", FLOWS)
def test_large_margins_neither_overflow_nor_underflow(name):
    log_loss, p = log_loss_of(name)(torch.tensor([[5000.0, 5001.0]], dtype=torch.float64))
    expected = math.log(1 / 5001 + 1 / 5002) if name == "rational" else -5000 + math.log1p(math.exp(-1))
    assert float(log_loss) == pytest.approx(expected, rel=1e-12) and (p > 0).all() and p.isfinite().all()


@pytest.mark.parametrize("name", LOSSES)
def test_the_facts_on_a_loss_are_those_of_its_derivative(name):
    facts, m = LOSSES[name], torch.linspace(-30, 30, 60_001, dtype=torch.float64).requires_grad_()
    (slope,) = torch.autograd.grad(PHI[name](m).sum(), m)
    curvature = (slope.diff() / 1e-3).abs()
    for stated, seen in ((facts.largest, slope.abs().max()), (facts.lipschitz, curvature.max())):
        # unbounded ones are larger on a longer interval: 30 is short, and a jump is steeper on a finer grid
        assert float(seen) > 50 if math.isinf(stated) else float(seen) == pytest.approx(stated, rel=2e-2)
    assert bool((slope < 0).all()) is facts.pulls
    at = torch.tensor([20.0, 25.0], dtype=torch.float64)
    shrinks = float(PHI[name](at)[1] / PHI[name](at)[0].clamp(min=1e-300))
    assert (shrinks == pytest.approx(math.exp(-5), rel=1e-6)) is facts.tail
    if followed(name):
        late = -float(log_loss_of(name)(torch.tensor([[LATE]], dtype=torch.float64))[0])
        assert late == pytest.approx(facts.late, rel=1e-9)


@pytest.mark.parametrize("name", FLOWS)
def test_the_flow_equals_small_steps_in_time(name):
    """Gradient descent on the loss itself, written with automatic differentiation."""
    data = OppositeOrthants(3).draw(stream(0, Role.TRAIN, 0), 8)
    net = balanced((3, 5, 1), [0], size=0.3)
    naive = [W.data.clone() for W in net.W]
    clock = gradient_flow(net, data.X, data.y, until=1e6, steps=120, step=0.05, loss=name)
    start, h = PHI[name](torch.zeros(8).double()).sum().log(), float(clock.log_t.exp()) / 400
    assert clock.log_loss < start - 0.1, "the path should move"
    for _ in range(400):
        weights = [W.requires_grad_() for W in naive]
        f = ((data.X @ weights[0][0]).relu() @ weights[1][0])[:, 0]
        along = torch.autograd.grad(PHI[name](data.y * f).sum(), weights)
        naive = [(W - h * g).detach() for W, g in zip(weights, along, strict=True)]
    for W, slow in zip(net.W, naive, strict=True):
        torch.testing.assert_close(W.data, slow, rtol=0, atol=5e-3)


def test_residual_networks_take_other_losses_too():
    data = OppositeOrthants(3).draw(stream(0, Role.TRAIN, 0), 8)
    ends = []
    for name in ("logistic", "sigmoid"):
        net = residual_default((3, 4, 1), [0], depth=3, dtype=torch.float64)
        clock = gradient_flow(net, data.X, data.y, until=2, loss=name)
        assert float(clock.log_loss) <= -2
        ends.append(net.W[0].data)
    assert not torch.allclose(*ends)


def test_a_loss_that_is_not_followed_is_refused():
    data = OppositeOrthants(3).draw(stream(0, Role.TRAIN, 0), 8)
    with pytest.raises(UserError, match="hinge"):
        relulab.gradient_flow(balanced((3, 4, 1), [0]), data.X, data.y, loss="hinge")
