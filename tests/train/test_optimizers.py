"""Every optimizer, with lanes by hand, by autograd, and without lanes, against ``torch.optim`` in a plain loop."""

import pytest
import torch
from torch import nn
from torch.nn.functional import leaky_relu

from relulab import MSE, CrossEntropy, Gaussian, Task, UserError, sgd
from relulab.core.seeds import Role, stream
from relulab.data.labeled_task import LabeledTask
from relulab.nets.initial import residual_default, torch_default
from relulab.nets.mlp import MLP
from relulab.subjects.bias.tools.orthants import OppositeOrthants
from relulab.subjects.specialization import teacher
from relulab.train.fit import fit
from relulab.train.optimizers import SGD, Adam
from relulab.train.schedules import Cosine, StepDecay, by_step
from relulab.train.step import Step, by_hand

SEEDS, EPOCHS, STEPS, BATCH = [5, 0, 5], 3, 20, 8
OPTIMIZERS = {
    "plain": SGD(0.05),
    "rates": SGD([0.02, 0.05, 0.1]),
    "decay": SGD(0.05, weight_decay=0.1),
    "decay and rates": SGD([0.02, 0.05, 0.1], weight_decay=0.1),
    "momentum": SGD(0.02, momentum=0.9),
    "momentum and rates": SGD([0.01, 0.02, 0.03], momentum=0.8),
    "momentum and decay": SGD(0.02, momentum=0.9, weight_decay=0.1),
    "nesterov": SGD(0.02, momentum=0.9, nesterov=True),
    "nesterov and decay": SGD(0.02, momentum=0.9, nesterov=True, weight_decay=0.1),
    "nesterov, decay and rates": SGD([0.01, 0.02, 0.03], momentum=0.9, nesterov=True, weight_decay=0.1),
    "adam": Adam(0.01),
    "adam, decay and rates": Adam([0.01, 0.02, 0.03], betas=(0.8, 0.95), weight_decay=0.1),
}
MORE = {
    "alone": {},
    "clip": {"clip": 0.3},
    "step decay": {"schedule": StepDecay(2, 0.5)},
    "cosine by steps": {"schedule": Cosine(50, floor=0.1, warmup=5, by="step")},
}


class Leaky(MLP):
    """A subclass with another activation, which must be trained by autograd."""

    def layers(self, x):
        f = [x.expand(self.lanes, *x.shape[-2:])]
        for W, b in zip(self.W, self.b, strict=True):
            f.append(torch.baddbmm(b, torch.tanh(f[-1]) if len(f) > 1 else f[-1], W))
        return f[1:]


def make_task(fresh=False):
    star = teacher((5, 4, 3), seeds=SEEDS, polarity=[0.0, 0.5, 1.0])
    return Task(star, Gaussian(5), seeds=SEEDS, n_train=60, n_held_out=5, fresh=fresh, dtype=torch.float64)


def torch_optimizer(optimizer, lane, parameters):
    lr = optimizer.lr if isinstance(optimizer.lr, float) else optimizer.lr[lane]
    if isinstance(optimizer, Adam):
        return torch.optim.Adam(parameters, lr, optimizer.betas, optimizer.eps, optimizer.weight_decay)
    return torch.optim.SGD(
        parameters, lr, optimizer.momentum, weight_decay=optimizer.weight_decay, nesterov=optimizer.nesterov
    )


def loop(forward, weights, task, lane, optimizer, value, clip=None, schedule=None):
    """Train one lane with a plain PyTorch loop and return the final weights."""
    torch_steps = torch_optimizer(optimizer, lane, weights)
    rate, group = torch_steps.param_groups[0]["lr"], int(task.group[lane])
    for epoch in range(EPOCHS):
        points = task.train(epoch)
        for step, rows in enumerate(task.batches(epoch, STEPS, BATCH)[group]):
            count = epoch * STEPS + step if getattr(schedule, "by", "") == "step" else epoch
            torch_steps.param_groups[0]["lr"] = rate * (schedule(count) if schedule else 1)
            torch_steps.zero_grad()
            value(forward(weights, points.X[group, rows]), points.Y[lane, rows]).backward()
            if clip:
                nn.utils.clip_grad_norm_(weights, clip)
            torch_steps.step()
    return weights


def connected(activation):
    def forward(weights, x):
        *hidden, (W, b) = zip(weights[: len(weights) // 2], weights[len(weights) // 2 :], strict=True)
        for V, c in hidden:
            x = activation(x @ V + c)
        return x @ W + b

    return forward


def squares(f, y):
    return 0.5 * (f - y).square().sum(1).mean()


def check(net, activation, optimizer, more, *, loss=None, value=squares, within=1e-11):
    task, start = make_task(), [p.data.clone() for p in net.parameters()]
    fit(net, task, epochs=EPOCHS, steps=STEPS, batch=BATCH, optimizer=optimizer, loss=loss, **more)
    for lane in range(3):
        weights = [p[lane].clone().requires_grad_() for p in start]
        loop(connected(activation), weights, task, lane, optimizer, value, **more)
        for p, w, s in zip(net.parameters(), weights, start, strict=True):
            torch.testing.assert_close(p.data[lane], w.data, rtol=within, atol=within)
            assert float((p.data[lane] - s[lane]).abs().max()) > 1e-4


@pytest.mark.parametrize("more", MORE)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_lanes_by_hand(name, more):
    net = torch_default((5, 7, 6, 3), SEEDS, slope=0.1, dtype=torch.float64)
    assert by_hand(net, MSE())
    check(net, lambda z: leaky_relu(z, 0.1), OPTIMIZERS[name], MORE[more])


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_subclass_is_trained_as_it_computes(name):
    plain = torch_default((5, 7, 3), SEEDS, dtype=torch.float64)
    net = Leaky((5, 7, 3), lanes=3, dtype=torch.float64)
    net.load_state_dict(plain.state_dict())
    assert not by_hand(net, MSE())
    check(net, torch.tanh, OPTIMIZERS[name], MORE["clip" if name in ("momentum", "adam") else "alone"])


def test_the_step_by_hand_and_the_step_by_autograd_agree():
    """The same network, once as the plain class and once with a parameterless wrapper that autograd must go through."""

    class Same(MLP):
        def forward(self, x):
            return super().forward(x)

    for optimizer in OPTIMIZERS.values():
        plain = torch_default((5, 7, 3), SEEDS, dtype=torch.float64)
        other = Same((5, 7, 3), lanes=3, dtype=torch.float64)
        other.load_state_dict(plain.state_dict())
        for net in (plain, other):
            fit(net, make_task(), epochs=1, steps=30, optimizer=optimizer, loss=CrossEntropy())
        for p, q in zip(plain.parameters(), other.parameters(), strict=True):
            torch.testing.assert_close(p, q, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("by_lane", [True, False], ids=["a value a lane", "one lane at a time"])
def test_a_loss_of_the_users_on_lanes(by_lane):
    net = torch_default((5, 7, 3), SEEDS, dtype=torch.float64)

    def one(f, y):
        return (f - y).abs().mean()

    loss = (lambda f, y: (f - y).abs().mean((1, 2))) if by_lane else one
    check(net, torch.relu, SGD(0.2), {}, loss=loss, value=one)


def test_classes_of_the_teacher_with_torchs_loss_on_lanes():
    net, other = (torch_default((5, 7, 3), SEEDS, dtype=torch.float64) for _ in range(2))
    fit(net, make_task(), epochs=2, steps=STEPS, loss=lambda f, y: nn.functional.cross_entropy(f, y.argmax(-1)))
    fit(other, make_task(), epochs=2, steps=STEPS, loss=CrossEntropy())
    for p, q in zip(net.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(p, q, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", ["plain", "momentum and decay", "adam"])
def test_lanes_of_residual_networks_equal_each_alone(name):
    seeds = (0, 5)
    data = [OppositeOrthants(4).draw(stream(0, Role.TRAIN, s), 20) for s in seeds]
    options = {"epochs": 3, "batch": 5, "optimizer": OPTIMIZERS[name], "clip": 0.5}
    together = residual_default((4, 7, 1), seeds, depth=4, factor=0.5, dtype=torch.float64)
    fit(together, LabeledTask(data, seeds=seeds, dtype=torch.float64), **options)
    for lane, seed in enumerate(seeds):
        alone = residual_default((4, 7, 1), [seed], depth=4, factor=0.5, dtype=torch.float64)
        fit(alone, LabeledTask([data[lane]], seeds=[seed], dtype=torch.float64), **options)
        for p, q in zip(alone.parameters(), together.parameters(), strict=True):
            torch.testing.assert_close(p[0], q[lane], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", [n for n, o in OPTIMIZERS.items() if isinstance(o.lr, float)])
def test_a_module_without_lanes_takes_the_very_steps_of_torch(name):
    """Bitwise equal, because torch.optim is used."""
    module = torch_default((5, 7, 3), [5], dtype=torch.float64).module()
    same = torch_default((5, 7, 3), [5], dtype=torch.float64).module()
    X, Y = make_task().train().of_lane(0)
    fit(module, (X, Y), epochs=2, batch=16, optimizer=OPTIMIZERS[name], loss=nn.MSELoss())
    torch_steps = torch_optimizer(OPTIMIZERS[name], 0, same.parameters())
    for epoch in range(2):
        for rows in torch.from_numpy(stream(0, Role.BATCHES, 0, epoch).permutation(60)).split(16):
            torch_steps.zero_grad()
            nn.MSELoss()(same(X[rows]), Y[rows]).backward()
            torch_steps.step()
    assert all(torch.equal(p, q) for p, q in zip(module.parameters(), same.parameters(), strict=True))


def test_frozen_layers_stay():
    net = torch_default((5, 7, 3), SEEDS, dtype=torch.float64)
    net.W[0].requires_grad_(False)
    before = net.W[0].data.clone()
    fit(net, make_task(), epochs=1, steps=5)
    assert torch.equal(net.W[0].data, before) and not by_hand(net, MSE())


def test_the_short_form_passes_everything_on():
    one, two = (torch_default((5, 7, 3), SEEDS, dtype=torch.float64) for _ in range(2))
    sgd(one, make_task(), epochs=1, steps=9, lr=0.03, momentum=0.9, nesterov=True, weight_decay=0.1)
    fit(two, make_task(), epochs=1, steps=9, optimizer=SGD(0.03, 0.9, True, 0.1))
    assert all(torch.equal(p, q) for p, q in zip(one.parameters(), two.parameters(), strict=True))


@pytest.mark.parametrize("fresh", [False, True])
def test_a_second_call_goes_on_where_the_first_ended(fresh):
    once, twice, again = (torch_default((5, 7, 3), SEEDS, dtype=torch.float64) for _ in range(3))
    options = {"steps": 10, "schedule": StepDecay(1, 0.5)}
    fit(once, make_task(fresh), epochs=3, **options)
    fit(twice, make_task(fresh), epochs=1, **options)
    fit(twice, make_task(fresh), epochs=2, first_epoch=1, **options)
    assert all(torch.equal(p, q) for p, q in zip(once.parameters(), twice.parameters(), strict=True))
    for _ in range(3):
        fit(again, make_task(fresh), epochs=1, **options)
    assert not torch.equal(once.W[0], again.W[0])


def test_lanes_of_any_batch_size_in_turn():
    """The buffers of the step adapt to a smaller batch."""
    net = torch_default((5, 7, 3), SEEDS, dtype=torch.float64)
    step = Step(net, MSE(), SGD(0.1))
    for n in (4, 2, 4):
        x, y = torch.randn(3, n, 5, dtype=torch.float64), torch.randn(3, n, 3, dtype=torch.float64)
        gradients = torch.autograd.grad(0.5 * (net(x) - y).square().sum(-1).mean(-1).sum(), list(net.parameters()))
        expected = [p.data - 0.1 * g for p, g in zip(net.parameters(), gradients, strict=True)]
        step(x, y)
        for p, e in zip(net.parameters(), expected, strict=True):
            torch.testing.assert_close(p.data, e, rtol=1e-12, atol=1e-13)


def test_schedules():
    torchs = torch.optim.lr_scheduler
    for schedule, scheduler, options in (
        (StepDecay(3, 0.2), torchs.StepLR, {"step_size": 3, "gamma": 0.2}),
        (Cosine(10, floor=0.1), torchs.CosineAnnealingLR, {"T_max": 10, "eta_min": 0.1}),
    ):
        base = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
        torch_schedule = scheduler(base, **options)
        for t in range(10):
            assert schedule(t) == pytest.approx(torch_schedule.get_last_lr()[0])
            base.step()
            torch_schedule.step()
    assert Cosine(10)(50) == 0 and [Cosine(4, warmup=3)(t) for t in range(4)] == [0.25, 0.5, 0.75, 1.0]
    assert by_step(lambda t: 2.0**-t)(3) == 0.125


@pytest.mark.parametrize("make, word", [
    (lambda: SGD(momentum=1.0), "momentum=1.0"), (lambda: SGD(nesterov=True), "expected a positive momentum"),
    (lambda: SGD(weight_decay=-1), "weight_decay=-1"), (lambda: SGD([0.1, -0.1]), r"lr=\(0.1, -0.1\)"),
    (lambda: StepDecay(0), "every=0"), (lambda: Cosine(0), "length=0"), (lambda: Cosine(3, floor=2), "floor=2"),
])  # fmt: skip
def test_impossible_settings_are_refused(make, word):
    with pytest.raises(UserError, match=word):
        make()
