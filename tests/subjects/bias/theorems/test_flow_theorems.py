"""Theorems of IB on gradient flow: demonstrations, users' networks, and what must not pass."""

import copy
import inspect
import math

import pytest
import torch
from torch import nn

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.data.labeled import Labeled
from relulab.flow.gradient_flow import gradient_flow
from relulab.flow.margin_losses import loss_named
from relulab.lab.theorem import Verdict
from relulab.nets.initial import balanced, torch_default
from relulab.nets.mlp import MLP
from relulab.subjects.bias.instruments.max_margin import max_margin
from relulab.subjects.bias.theorems import absorbing_sectors as absorbing_sectors_module
from relulab.subjects.bias.theorems.absorbing_sectors import absorbing_sectors
from relulab.subjects.bias.theorems.balanced_neurons import balanced_neurons
from relulab.subjects.bias.theorems.kkt_point import kkt_point, limit_point
from relulab.subjects.bias.theorems.learned_function import learned_function
from relulab.subjects.bias.theorems.max_margin_neurons import max_margin_neurons
from relulab.subjects.bias.tools.neuron_flow import last_decade, neuron_flow, rate
from relulab.subjects.bias.tools.orthants import OppositeOrthants, SpanningSupports
from relulab.subjects.bias.tools.trained_network import looked_at


def spanning(d=4, n=30) -> Labeled:
    return SpanningSupports(d).draw(stream(0, Role.TRAIN, 0), n)


@pytest.fixture(scope="module")
def trained() -> tuple[Labeled, MLP, MLP]:
    data = spanning()
    net, start = (balanced((4, 10, 1), [0]) for _ in range(2))
    gradient_flow(net, data.X, data.y, until=300, step=0.8)
    return data, net, start


@pytest.mark.parametrize("theorem", [max_margin_neurons, learned_function])
def test_a_trained_network_is_judged_with_its_start_and_without(theorem, trained):
    data, net, start = trained
    assert theorem(data, net, start).verdict is Verdict.HOLDS
    assert theorem(data, net).verdict is Verdict.INCONCLUSIVE  # nothing is known of its start
    if theorem is max_margin_neurons:
        assert theorem(data, net.module(), start.module()).verdict is Verdict.HOLDS  # plain nn.Sequential
    assert theorem(data, start, start).verdict is Verdict.INCONCLUSIVE  # not trained yet: a limit is not refuted


@pytest.mark.parametrize("theorem", [max_margin_neurons, learned_function])
def test_a_network_that_turned_off_says_nothing(theorem):
    data = spanning()
    off = balanced((4, 3, 1), [0])
    off.W[0].data[:] = torch.tensor([1.0, -1.0, 0.0, 0.0])[None, :, None] * 1e-8
    dead = Labeled(data.X.abs() * torch.tensor([1.0, 100.0, 1.0, 1.0]), data.y)
    X = torch.where(
        dead.y[:, None] > 0, dead.X, torch.tensor([-0.1, 1.0, -200.0, -200.0]) * dead.X.norm(dim=1)[:, None]
    )
    assert theorem(Labeled(X, data.y), start=off).verdict is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize("theorem", [max_margin_neurons, learned_function])
def test_a_network_whose_neurons_were_turned_is_not_judged(theorem, trained):
    data, net, start = copy.deepcopy(trained)
    w = net.W[0].data[0]
    for j in range(10):  # every neuron turned, none longer
        turned = w[:, j] + 0.5 * w[:, j].roll(1)
        w[:, j] = turned * w[:, j].norm() / turned.norm()
    finding = theorem(data, net, start)  # no gradient flow from this start has led there
    assert finding.verdict is Verdict.NOT_APPLICABLE and "Gradient flow from the start leads" in str(finding)


@pytest.mark.parametrize("theorem", [max_margin_neurons, learned_function])
def test_a_network_that_was_made_by_hand_is_not_judged(theorem, trained):
    """Neurons in the right directions with other sizes and any start: no training led there, so it shows nothing."""
    data, net, start = copy.deepcopy(trained)
    W, a = net.W[0].data[0], net.W[1].data[0, :, 0]
    W *= torch.linspace(0.8, 1.2, 10).double()
    a *= torch.linspace(0.8, 1.2, 10).double()
    assert theorem(data, net, start).verdict is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize("theorem", [max_margin_neurons, learned_function])
def test_one_neuron_serves_one_class(theorem):
    finding = theorem(spanning(), width=1, until=300, step=0.8)
    assert finding.verdict is Verdict.HOLDS


def test_weights_whose_products_overflow_are_said(trained):
    data, net, start = trained
    huge = copy.deepcopy(net)
    for W in huge.W:
        W.data *= 1e200
    with pytest.raises(UserError, match="products overflow in float64: divide"):
        max_margin_neurons(data, huge, start)


@pytest.mark.parametrize("until", [1.0, 5.0, 20.0])
def test_unfinished_training_refutes_nothing(until):
    finding = max_margin_neurons(spanning(), width=10, until=until, step=0.8)
    assert finding.verdict in (Verdict.INCONCLUSIVE, Verdict.HOLDS)


def test_a_start_must_be_that_of_the_network(trained):
    data, net, start = trained
    with pytest.raises(UserError, match="3 neurons, but the network has 10"):
        max_margin_neurons(data, net, balanced((4, 3, 1), [0]))
    other = balanced((4, 10, 1), [0])
    other.W[1].data *= -1
    with pytest.raises(UserError, match="different signs in the start and in the network for 10 of 10 neurons"):
        max_margin_neurons(data, net, other)
    uneven = balanced((4, 10, 1), [0])
    for W, its in zip(uneven.W, net.W, strict=True):
        W.data.copy_(its.data)
    uneven.W[0].data *= 1.1
    assert max_margin_neurons(data, uneven, start).verdict is Verdict.NOT_APPLICABLE  # no gradient flow did that


def test_outputs_that_cancel_do_not_make_a_start_small():
    start = balanced((4, 10, 1), [0], size=1.0)
    start.W[0].data[..., 5:] = start.W[0].data[..., :5]
    start.W[1].data[0, 5:] = -start.W[1].data[0, :5]
    finding = max_margin_neurons(spanning(), start=start, until=20, step=0.8)
    assert finding.verdict is Verdict.NOT_APPLICABLE and finding.conditions[4].holds is False


def test_a_side_that_nothing_serves_keeps_its_loss():
    data, start = spanning(), balanced((4, 3, 1), [0])
    start.W[1].data.abs_()
    path = neuron_flow(data, start=start, until=50)
    margins = data.y * ((data.X @ path.end.T).relu() @ path["a"][-1])
    assert path.reached and margins[data.y > 0].min() > 40 and not margins[data.y < 0].any()


def test_right_angles_between_classes_are_no_rounding_error():
    for angle in torch.linspace(0, 6.2, 40, dtype=torch.float64):
        c, s = torch.cos(angle), torch.sin(angle)
        X = torch.stack([torch.stack([c, s]), torch.stack([s, -c])])
        assert kkt_point(Labeled(X, torch.tensor([1.0, -1.0], dtype=torch.float64))).verdict is Verdict.HOLDS


def test_large_neurons_that_are_off_do_not_hide_the_live_ones(trained):
    data, net, start = trained
    both = []
    for small, size in ((net, 1e6), (start, 1e6)):
        wide = MLP((4, 11, 1), bias=False, dtype=torch.float64)
        wide.W[0].data[..., :10], wide.W[1].data[:, :10] = small.W[0].data, small.W[1].data
        wide.W[0].data[0, :, 10] = size * -max_margin(data.X, data.y).positive.w  # off on the positive points
        wide.W[1].data[0, 10] = size
        both.append(wide)
    assert max_margin_neurons(data, *both).verdict is Verdict.NOT_APPLICABLE  # not small; measured without a stumble


def test_weights_that_diverged_are_said(trained):
    data, _, start = trained
    broken = balanced((4, 10, 1), [0])
    broken.W[1].data[0, 3] = math.nan
    with pytest.raises(UserError, match="training diverged"):
        max_margin_neurons(data, broken, start)


def test_dead_neurons_do_not_hide_a_broken_law():
    data, start = spanning(), balanced((4, 6, 1), [0], size=0.01)
    start.W[0].data[..., 3], start.W[1].data[0, 3] = 0.0, 0.0
    assert balanced_neurons(data, start, steps=40).verdict is Verdict.HOLDS
    assert balanced_neurons(data, start, steps=40, sums=True).verdict is Verdict.REFUTED


def test_a_start_far_from_zero_is_another_matter():
    start = torch_default((4, 10, 1), [0], bias=False, dtype=torch.float64)
    finding = max_margin_neurons(spanning(), start=start, until=50, step=0.8)
    assert finding.verdict is Verdict.NOT_APPLICABLE
    assert [c.holds for c in finding.conditions] == [True] * 4 + [False, False] + [True] * 3


def test_the_paths_of_seeds_differ_and_their_rate_is_that_of_a_power_law():
    path = neuron_flow(spanning(), width=6, until=100, step=0.8)
    log_loss = path["log_loss"]
    assert log_loss[0].item() == pytest.approx(math.log(30 * math.log(2))) and log_loss[-1] <= -100 and path.reached
    assert path.times[0] == 0 and (path.times.diff() > 0).all()
    late = last_decade(path)
    assert torch.equal(late.end, path.end) and (late["log_loss"] <= -10).all() and 3 < len(late) < len(path)
    assert rate(late, [7 * m**-0.5 for m in (-late["log_loss"]).tolist()]) == pytest.approx(-0.5)
    assert math.isnan(rate(late.only(torch.tensor([0, 1])), [1.0, 2.0]))


def test_steps_that_run_out_are_said(monkeypatch):
    import relulab.subjects.bias.tools.neuron_flow as module

    true = module.gradient_flow
    monkeypatch.setattr(module, "gradient_flow", lambda *a, **k: true(*a, **k, steps=5))
    with pytest.raises(UserError, match=r"the loss is e.* after 5 steps"):
        neuron_flow(spanning(), width=6)


def test_extremal_sectors_absorb_from_many_seeds():
    for seed in range(5):
        data = OppositeOrthants(4).draw(stream(0, Role.TRAIN, seed), 20)
        assert absorbing_sectors(data, width=20, seed=seed, until=5.0).verdict is Verdict.HOLDS


def test_a_neuron_that_left_would_be_seen(monkeypatch):
    import relulab.subjects.bias.theorems.absorbing_sectors as module

    def there_and_back(*arguments, **options):
        path = neuron_flow(*arguments, **options)
        return path.only(torch.tensor([*range(len(path)), 0]))

    monkeypatch.setattr(module, "neuron_flow", there_and_back)
    finding = absorbing_sectors(OppositeOrthants(4).draw(stream(0, Role.TRAIN, 0), 20), width=20, until=5.0)
    assert finding.verdict is Verdict.REFUTED
    assert finding.conclusion[1].measured > 0 and finding.conclusion[2].measured > 0


def test_balance_is_kept_on_separable_data_to_second_order():
    data = OppositeOrthants(4).draw(stream(0, Role.TRAIN, 0), 20)
    finding = balanced_neurons(data, width=10, steps=40)
    assert finding.verdict is Verdict.HOLDS
    assert finding.conclusion[0].measured < 0.3 * finding.conclusion[0].bound  # 1/16 of it, where order 1 gives 1/2


@pytest.mark.parametrize("seed", range(3))
def test_kkt_residuals_are_at_rounding(seed):
    data = OppositeOrthants(10).draw(stream(0, Role.TRAIN, seed), 200)
    finding = kkt_point(data, seed=seed)
    assert finding.verdict is Verdict.HOLDS
    assert all(c.measured < 1e-12 for c in finding.conclusion[2:])


def test_the_kkt_point_by_the_papers_multipliers_and_gradients():
    """Eqs. 89 and 90 written out point by point."""
    data = OppositeOrthants(3).draw(stream(0, Role.TRAIN, 1), 12)
    found = max_margin(data.X, data.y)
    w = (found.positive.w, found.negative.w)
    W, a = limit_point(*w, 5, stream(0, Role.CHANCE, 0))
    pull_W, pull_a = torch.zeros_like(W), torch.zeros_like(a)
    for i, (x, y) in enumerate(zip(data.X, data.y, strict=True)):
        side, norm = (found.positive, w[0].norm()) if y > 0 else (found.negative, w[1].norm())
        lam = side.multipliers[i] / norm
        gates = (W @ x > 0).double()
        pull_W += lam * y * torch.outer(gates * a, x)
        pull_a += lam * y * (W @ x).relu()
    torch.testing.assert_close(pull_W, W)
    torch.testing.assert_close(pull_a, a)


@pytest.mark.parametrize(("net", "says"), [
    (nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 1)), "with biases"),
    (nn.Sequential(nn.Linear(4, 3, bias=False), nn.ReLU(), nn.Linear(3, 2, bias=False)), "one output"),
    (nn.Sequential(nn.Linear(5, 3, bias=False), nn.ReLU(), nn.Linear(3, 1, bias=False)), "as many inputs, got 5"),
    (nn.Sequential(nn.Linear(4, 3, bias=False), nn.LeakyReLU(), nn.Linear(3, 1, bias=False)), "slope 0.01"),
])  # fmt: skip
def test_networks_that_the_theorem_does_not_know(net, says):
    with pytest.raises(UserError, match=says):
        looked_at(net, spanning())


def test_a_path_that_does_not_move_shows_nothing(monkeypatch):
    data = OppositeOrthants(5).draw(stream(0, Role.DEMONSTRATION, 12), 30)
    for options in ({}, {"sums": True}):
        finding = balanced_neurons(data, size=1e8, steps=5, **options)
        assert finding.verdict is Verdict.INCONCLUSIVE and "shows nothing" in str(finding)
    path = neuron_flow(data, width=6, size=1e-4, until=3, step=0.8)
    for looks, verdict in (([0, -1, -1], Verdict.HOLDS), ([-1, -1, -1], Verdict.INCONCLUSIVE)):
        flow = path.only(torch.tensor(looks))
        monkeypatch.setattr(absorbing_sectors_module, "neuron_flow", lambda *_, flow=flow, **__: flow)
        assert absorbing_sectors(data).verdict is verdict


@pytest.mark.parametrize("size", [1 + 1e-9, 1 - 1e-9])
def test_vectors_that_are_slightly_longer_are_no_solution(size):
    data = OppositeOrthants(20).draw(stream(0, Role.DEMONSTRATION, 11), 200)
    assert kkt_point(data).verdict is Verdict.HOLDS and kkt_point(data, size=size).verdict is Verdict.REFUTED


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_the_scale_of_the_points_does_not_end_the_flow(scale):
    """Weights divided by the root of the scale have the same outputs."""
    data = OppositeOrthants(2).draw(stream(0, Role.DEMONSTRATION, 12), 6)
    scaled = Labeled(data.X * scale, data.y)
    assert balanced_neurons(scaled, width=3, size=0.01 / scale**0.5, steps=5).verdict is Verdict.HOLDS


def test_points_of_different_lengths_have_the_same_solution_up_to_rounding():
    data = OppositeOrthants(5).draw(stream(0, Role.DEMONSTRATION, 11), 30)
    lengths = torch.from_numpy(10.0 ** stream(1, Role.DEMONSTRATION, 11).uniform(-3, 3, (30, 1)))
    data = Labeled(data.X * lengths, data.y)
    assert kkt_point(data).verdict is Verdict.HOLDS and kkt_point(data, size=1 + 1e-6).verdict is Verdict.REFUTED


def test_the_limit_for_another_loss_depends_on_its_tail():
    """The rational loss satisfies the printed conditions, and has the limit v ∝ Σ_i x_i/(vᵀx_i)²."""
    data = spanning()
    small = {"width": 8, "until": 300.0, "step": 0.8}
    assert max_margin_neurons(data, **small, loss="capped-exponential").verdict is Verdict.HOLDS
    finding = max_margin_neurons(data, width=8, until=20, step=0.8, loss="rational")
    assert finding.verdict is Verdict.NOT_APPLICABLE and not finding.conclusion
    assert max_margin_neurons(data, width=8, loss="rational").verdict is Verdict.NOT_APPLICABLE  # decided at once
    finding = max_margin_neurons(data, width=8, until=20, step=0.8, loss="rational", any_tail=True)
    assert finding.verdict is Verdict.REFUTED and finding.conclusion[0].holds is False
    path = neuron_flow(data, width=8, until=20, step=0.8, loss="rational")
    X = data.X[data.y > 0]
    v = X.mean(0)
    for _ in range(500):  # fixed-point iteration
        v = v / v.norm() + 0.5 * (pull := (X @ v / v.norm()) ** -2 @ X) / pull.norm()
    W = path.end[path["a"][-1] > 0]
    torch.testing.assert_close(W @ v / W.norm(dim=1) / v.norm(), torch.ones(len(W)).double(), rtol=0, atol=1e-9)


def test_a_loss_must_be_a_name():
    named = inspect.unwrap(loss_named)  # without the types that the tests check
    with pytest.raises(UserError, match="expected the name of a loss, got function: give one of logistic"):
        named(lambda m: m)
    with pytest.raises(UserError, match="no loss 'logistik': did you mean 'logistic'"):
        named("logistik")


@pytest.mark.parametrize("theorem", [max_margin_neurons, learned_function])
def test_a_loss_that_no_flow_reaches_is_undecided_at_once(theorem, trained, monkeypatch):
    """Weights of 1e100 have the loss e^{−1e200}; following the flow to it would only end when steps run out."""
    data, net, start = copy.deepcopy(trained)
    for W in net.W:
        W.data *= 1e100
    monkeypatch.setattr("relulab.subjects.bias.tools.conditions.neuron_flow", None)  # a call would be a TypeError
    finding = theorem(data, net, start)
    assert finding.verdict is Verdict.INCONCLUSIVE and "too small to follow the flow to it" in str(finding)
    for W in start.W:
        W.data *= 1e208
    with pytest.raises(UserError, match="products overflow"):
        theorem(data, start=start)


def test_balance_and_sectors_do_not_depend_on_the_tail():
    data = OppositeOrthants(4).draw(stream(0, Role.TRAIN, 0), 12)
    for loss in ("rational", "sigmoid"):
        assert balanced_neurons(data, width=4, steps=20, loss=loss).verdict is Verdict.HOLDS
        assert absorbing_sectors(data, width=8, until=2.0, step=0.8, loss=loss).verdict is Verdict.HOLDS
    assert balanced_neurons(data, width=4, loss="squared").verdict is Verdict.NOT_APPLICABLE
