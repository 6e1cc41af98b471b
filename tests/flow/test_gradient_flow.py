"""Gradient flow compared with small time steps and with half the step, and conserved quantities."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize, softplus

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.flow.gradient_flow import gradient_flow
from relulab.flow.margin_losses import log_cross_entropy
from relulab.flow.two_layer_flow import LinearPhase, Neurons, TwoLayer
from relulab.nets.initial import balanced, residual_default, torch_default
from relulab.nets.mlp import MLP
from relulab.subjects.bias.tools.orthants import OppositeOrthants, SpanningSupports


def data(seeds=(0,), d=4, n=12, kind=OppositeOrthants):
    sets = [kind(d).draw(stream(0, Role.TRAIN, seed), n) for seed in seeds]
    return torch.stack([s.X for s in sets]), torch.stack([s.y for s in sets])


def random_labels(d=4, n=12):
    """Data outside the scope of the theorems: neurons often change the points on which they are active."""
    rng = stream(1, Role.TRAIN, 0)
    return torch.from_numpy(rng.standard_normal((1, n, d))), torch.from_numpy(rng.choice((-1.0, 1.0), (1, n)))


def naive(net, X, y, end: float, dt: float):
    """Euler steps of θ̇ = −∇ℓ in time itself, gradients by autograd, one network."""
    weights = [W.data[0].clone().requires_grad_() for W in net.W]
    for _ in range(round(end / dt)):
        if isinstance(net, MLP):
            f = (X[0] @ weights[0]).relu() @ weights[1]
        else:
            f = X[0] @ weights[0]
            for W in weights[1:-1]:
                f = f + f.relu() @ W
            f = f.relu() @ weights[-1]
        loss = softplus(-y[0] * f[:, 0]).sum()
        for W, g in zip(weights, torch.autograd.grad(loss, weights), strict=True):
            W.data -= dt * g
    return [W.detach() for W in weights]


class Until:
    """Records time and weights at every snapshot."""

    def __init__(self, net):
        self.net, self.snapshots = net, []

    def __call__(self, clock):
        self.snapshots.append((math.exp(clock.log_t[0]), [W.data[0].clone() for W in self.net.W]))


@pytest.mark.parametrize("make", [
    lambda: balanced((4, 6, 1), [3], size=0.1),
    lambda: torch_default((4, 6, 1), [3], factor=0.3, bias=False, dtype=torch.float64),
    lambda: residual_default((4, 5, 1), [3], depth=4, factor=0.3, dtype=torch.float64),
], ids=["balanced", "not balanced", "residual"])  # fmt: skip
@pytest.mark.parametrize("points", [data, random_labels], ids=["separable", "random labels"])
def test_small_steps_in_time_lead_to_the_same_weights(make, points):
    X, y = points()
    net = make()
    watch = Until(net)
    gradient_flow(net, X, y, until=1e6, step=0.08, steps=200, each=watch)
    end, weights = watch.snapshots[-1]
    assert end > 0.1
    coarse, fine = (naive(make(), X, y, end, end / n) for n in (400, 800))
    for W, a, b in zip(weights, coarse, fine, strict=True):
        # Euler's error is of first order: what halving the step still changes is about what is left; where a neuron
        # slides along the boundary of a point both methods go to and fro over it by a step
        error = 2 * (a - b).norm() + 2e-3 * b.norm()
        assert (W - b).norm() < error < 0.05 * b.norm()


def test_halving_the_step_hardly_changes_the_directions_of_live_neurons():
    """Neurons that become inactive stop; where they stop is accurate only up to a step."""
    X, y = data(seeds=(0, 1), d=6, n=30)
    directions = []
    for step in (0.4, 0.2, 0.1):
        net = balanced((6, 10, 1), [0, 1])
        gradient_flow(net, X, y, until=50, step=step)
        live = (X @ net.W[0].data > 0).any(1, keepdim=True)
        directions.append(normalize(net.W[0].data, dim=1) * live)
    assert live.sum() > 15
    assert all((a - b).norm(dim=1).max() < 1e-3 for a, b in pairwise(directions))


def test_the_loss_never_rises_by_more_than_a_step_where_the_path_is_stiff():
    """Linearly separable data with stationary points on the way, and labels that cannot be fitted."""
    for seed in range(6):
        rng = stream(2, Role.TRAIN, seed)
        X = torch.from_numpy(rng.standard_normal((1, 20, 4)))
        y = X[..., 0].sign() if seed % 2 else torch.from_numpy(rng.choice((-1.0, 1.0), (1, 20)))
        net, losses = balanced((4, 12, 1), [seed]), []
        gradient_flow(
            net, X, y, until=30, steps=400, each=lambda clock, losses=losses: losses.append(float(clock.log_loss))
        )
        assert max(b - a for a, b in pairwise(losses)) < 0.5 and losses[-1] < losses[0]


def test_a_stalled_flow_ends():
    X = torch.tensor([[1.0, 0.0], [1.0, 1e-9], [0.0, 1.0]], dtype=torch.float64)
    y = torch.tensor([1.0, -1.0, 1.0], dtype=torch.float64)
    clock = gradient_flow(balanced((2, 6, 1), [0]), X, y)
    assert clock.steps < 20_000 and float(clock.log_loss) > math.log(1.3)


def test_a_start_that_is_not_balanced_takes_shorter_steps():
    """Neurons with |a_j| far above ‖w_j‖ rotate fast; the same neurons stay active as with much smaller steps."""
    X, y = data(d=3, n=10)
    on = []
    for step in (0.4, 0.01):
        net = balanced((3, 8, 1), [0], size=1.0)
        net.W[0].data *= 0.01
        gradient_flow(net, X, y, until=5, step=step)
        on.append((X @ net.W[0].data > 0).any(1))
    assert torch.equal(*on)


def test_a_residual_network_with_a_layer_of_zeros_moves():
    X, y = data()
    net = residual_default((4, 5, 1), [3], depth=4, factor=0.3, dtype=torch.float64)
    net.W[1].data.zero_()
    assert float(gradient_flow(net, X, y, until=3, steps=3000).log_loss) < -3


def test_norms_stay_balanced_and_signs_stay():
    X, y = random_labels()
    net = balanced((4, 20, 1), [0], size=1e-4)
    signs, gaps = net.W[1].data.sign(), []

    def each(_clock):
        a = net.W[1].data[0, :, 0]
        assert torch.equal(net.W[1].data.sign(), signs)
        gaps.append(float(((net.W[0].data[0].norm(dim=0) - a.abs()) / a.abs()).abs().max()))

    gradient_flow(net, X, y, until=1e6, steps=300, each=each)
    assert len(gaps) > 20 and max(gaps) < 1e-12


def test_the_linear_phase_equals_the_flow_of_the_full_network():
    X, y = data(seeds=(0, 1), d=5, n=20)
    net = balanced((5, 8, 1), [0, 1])
    gradient_flow(net, X, y, until=5)
    neurons = Neurons(net.W[0].data.mT, net.W[1].data[..., 0])
    full, phase = TwoLayer(X, y), LinearPhase(X, y, neurons)
    assert phase.applies
    state = phase.start()
    for _ in range(50):
        h = torch.tensor([0.01, 0.02], dtype=torch.float64)
        a, b = full.pull(neurons), phase.pull(state)
        for expected, actual in zip(a[1:4], b[1:4], strict=True):
            torch.testing.assert_close(actual, expected, rtol=1e-10, atol=0)
        neurons, state = full.moved(neurons, a.along, h), phase.moved(state, b.along, h)
    for expected, actual in zip(neurons, phase.neurons_at(state), strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-10, atol=1e-12)


def test_a_linear_phase_that_breaks_is_noticed():
    X, y = data(d=5, n=20)
    net = balanced((5, 8, 1), [0])
    gradient_flow(net, X, y, until=5)
    neurons = Neurons(net.W[0].data.mT, net.W[1].data[..., 0])
    phase = LinearPhase(X, y, neurons)
    turned = phase.start()._replace(P=-phase.start().P)
    assert phase.holds(phase.start()) and not phase.holds(turned)
    assert not LinearPhase(X, -y, neurons).applies


def test_the_full_network_is_followed_after_a_linear_phase_breaks(monkeypatch):
    """Restarting from the full network gives the same trajectory, only more slowly."""
    X, y = data(d=4, n=12, kind=SpanningSupports)
    nets = [balanced((4, 6, 1), [0]) for _ in range(2)]
    gradient_flow(nets[0], X, y, until=60)
    calls = iter(range(10**6))
    true = LinearPhase.holds
    monkeypatch.setattr(LinearPhase, "holds", lambda self, state: true(self, state) and next(calls) % 3 < 2)
    gradient_flow(nets[1], X, y, until=60)
    assert next(calls) > 4
    for a, b in zip(nets[0].W, nets[1].W, strict=True):
        torch.testing.assert_close(a.data, b.data, rtol=1e-9, atol=0)


def test_lanes_alone_equal_lanes_together():
    X, y = data(seeds=(0, 1, 2))
    together = balanced((4, 6, 1), [0, 1, 2])
    gradient_flow(together, X, y, until=30)
    for i in range(3):
        alone = balanced((4, 6, 1), [i])
        gradient_flow(alone, X[i], y[i], until=30)
        for a, b in zip(alone.W, together.W, strict=True):
            torch.testing.assert_close(a.data[0], b.data[i], rtol=1e-9, atol=0)


def test_the_logarithm_of_the_loss_and_its_slopes():
    m = torch.tensor([[-3.0, 0.0, 1.0, 39.0, 41.0]], dtype=torch.float64, requires_grad=True)
    softplus(-m).sum().log().backward()
    log_loss, p = log_cross_entropy(m.detach())
    assert float(log_loss) == pytest.approx(float(softplus(-m.detach()).sum().log()), rel=1e-12)
    torch.testing.assert_close(p, -m.grad, rtol=1e-9, atol=1e-18)
    far = torch.tensor([[5000.0, 5001.0]], dtype=torch.float64)
    near = torch.tensor([[39.9, 5000.0]], dtype=torch.float64)
    assert float(log_cross_entropy(far)[0]) == pytest.approx(-5000 + math.log1p(math.exp(-1)), rel=1e-12)
    assert float(log_cross_entropy(near)[0]) == pytest.approx(-39.9, rel=1e-12)


def test_networks_that_are_all_off_stand_still():
    X, y = data()
    net = balanced((4, 3, 1), [0])
    net.W[0].data[:] = torch.tensor([1.0, -1.0, 0.0, 0.0])[None, :, None]
    X = X.abs() * torch.tensor([0.5, 1.0, 1.0, 1.0])
    X[..., 1] = X[..., 0] + 1
    before = net.W[0].data.clone()
    clock = gradient_flow(net, X, y)
    assert clock.steps == 0 and torch.equal(net.W[0].data, before)


@pytest.mark.parametrize(
    "make",
    [lambda: balanced((4, 3, 1), [0, 1]), lambda: residual_default((4, 3, 1), [0, 1], depth=3, dtype=torch.float64)],
)
def test_networks_of_zeros_or_nan_are_refused(make):
    X, y = data(seeds=(0, 1))
    net = make()
    for W in net.W:
        W.data[1] = 0
    with pytest.raises(UserError, match="expected initial weights other than 0, got only zeros in lane 1, where"):
        gradient_flow(net, X, y)
    net = make()
    net.W[0].data[1, 0, 0] = torch.nan
    with pytest.raises(UserError, match="expected finite initial weights, got NaN or infinite ones in lane 1"):
        gradient_flow(net, X, y)
    net = make()
    net.W[-1].data[1] = 0  # a layer of zeros can grow
    gradient_flow(net, X, y, steps=5)
    assert net.W[-1].data[1].abs().max() > 0


@pytest.mark.parametrize(("net", "change", "says"), [
    (lambda: MLP((4, 3, 1), dtype=torch.float64), {}, r"no biases .*, got MLP with widths \(4, 3, 1\), bias=True"),
    (lambda: balanced((4, 3, 1), [0]).float(), {}, r"in float64, got MLP .* torch\.float32"),
    (lambda: balanced((5, 3, 1), [0]), {}, "networks with 5 inputs, got"),
    (lambda: balanced((4, 3, 1), [0, 1, 2]), {"lanes": 2}, "one per lane, got 2 data sets for 3 lanes"),
    (lambda: balanced((4, 3, 1), [0]), {"step": 0.0}, "expected 0 < step ≤ 1 and until > 0, got step=0.0"),
    (lambda: balanced((4, 3, 1), [0]), {"labels": 3.0}, r"expected labels \+1 or −1"),
])  # fmt: skip
def test_wrong_arguments_are_refused(net, change, says):
    X, y = data(seeds=range(change.get("lanes", 1)))
    with pytest.raises(UserError, match=says):
        gradient_flow(net(), X, y * change.get("labels", 1.0), step=change.get("step", 0.4))


def test_the_sizes_of_small_neurons_are_right_at_the_default_step():
    """A small neuron that turns fast crosses several kinks in one step; without short steps there it is 4% off."""
    rng = np.random.default_rng(0)
    points = SpanningSupports(2).draw(rng, 8)
    sizes = []
    for step in (0.4, 0.1):
        net = balanced((2, 20, 1), [0], size=1e-8)
        gradient_flow(net, points.X, points.y, until=10, step=step)
        sizes.append(normalize(net.W[0].data[0].norm(dim=0), dim=0))  # the ends differ by up to a step
    assert (sizes[1] > 1e-3).all()
    torch.testing.assert_close(*sizes, rtol=0.006, atol=0)
