"""Lanes by autograd: each trains as it would alone, also with tied weights, hooks, and any loss, as in a plain loop."""

import pytest
import torch
from torch import nn
from torch.nn.functional import relu

from relulab import MSE, Probe, UserError
from relulab.core.seeds import Role, stream
from relulab.data.tensor_task import TensorTask
from relulab.nets.initial import torch_default
from relulab.train.checkpoint import Checkpoint
from relulab.train.fit import fit
from relulab.train.optimizers import SGD, Adam
from relulab.train.step import by_hand

SEEDS, BATCH = (3, 8), 4
GENERATOR = torch.Generator().manual_seed(0)
X, Y = (torch.randn(12, 4, generator=GENERATOR, dtype=torch.float64) for _ in range(2))


class Both(nn.Module):
    """Lanes of linear networks x (A + B), for which autograd returns one gradient for both parameters."""

    def __init__(self, seeds=SEEDS):
        super().__init__()
        self.lanes = len(seeds)
        draws = [torch.randn(2, 4, 4, generator=torch.Generator().manual_seed(s), dtype=torch.float64) for s in seeds]
        self.A, self.B = (nn.Parameter(torch.stack([draw[i] for draw in draws])) for i in range(2))

    def forward(self, x):
        return self.combined(x, self.A, self.B)

    @staticmethod
    def combined(x, A, B):
        return x @ (A + B)


class Shifted(Both):
    """The gradient of the sum of B is an expanded number."""

    @staticmethod
    def combined(x, A, B):
        return x @ A + B.sum((-2, -1), keepdim=True)


class Skipping(Both):
    """B is used only where the first input of the batch is positive, and has no gradient elsewhere."""

    @staticmethod
    def combined(x, A, B):
        return x @ A if x.flatten()[0] < 0 else x @ (A + B)


def half_squares(f, y):
    return 0.5 * (f - y).square().sum(-1).mean()


def batches(seed, epochs):
    for epoch in range(epochs):
        yield from torch.from_numpy(stream(0, Role.BATCHES, seed, epoch).permutation(len(X))).split(BATCH)


def loop(forward, parameters, seed, optimizer, value=half_squares, clip=None, epochs=3):
    """Train one lane with a plain PyTorch loop."""
    make = torch.optim.Adam if isinstance(optimizer, Adam) else torch.optim.SGD
    torch_steps = make(parameters, lr=optimizer.lr)
    for rows in batches(seed, epochs):
        torch_steps.zero_grad()
        value(forward(X[rows], *parameters), Y[rows]).backward()
        if clip:
            nn.utils.clip_grad_norm_(parameters, clip)
        torch_steps.step()
    return parameters


def check(net, optimizer, loss=None, value=half_squares, clip=None):
    start = [p.data.clone() for p in net.parameters()]
    fit(net, TensorTask(X, Y, seeds=SEEDS), epochs=3, batch=BATCH, optimizer=optimizer, loss=loss, clip=clip)
    for lane, seed in enumerate(SEEDS):
        alone = [p[lane].clone().requires_grad_() for p in start]
        loop(net.combined, alone, seed, optimizer, value, clip)
        for p, q in zip(net.parameters(), alone, strict=True):
            torch.testing.assert_close(p.data[lane], q.data, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", [Both, Shifted])
@pytest.mark.parametrize("optimizer", [SGD(0.1), Adam(0.1)])
def test_clipping_of_gradients_that_share_memory(kind, optimizer):
    check(kind(), optimizer, clip=0.05)


class One(Skipping):
    """One lane, so that the batch alone decides whether B has a gradient."""

    def __init__(self):
        super().__init__(SEEDS[:1])


def test_adam_counts_the_updates_of_every_parameter():
    net = One()
    start = [p.data.clone() for p in net.parameters()]
    fit(net, TensorTask(X, Y, seed=SEEDS[0]), epochs=3, batch=BATCH, optimizer=Adam(0.1))
    skipped = [bool(X[rows][0, 0] < 0) for rows in batches(SEEDS[0], 3)]
    assert 0 < sum(skipped) < len(skipped)
    alone = loop(net.combined, [p[0].clone().requires_grad_() for p in start], SEEDS[0], Adam(0.1))
    for p, q in zip(net.parameters(), alone, strict=True):
        torch.testing.assert_close(p.data[0], q.data, rtol=1e-10, atol=1e-12)


def deep(seeds=SEEDS):
    return torch_default((4, 4, 4, 4), seeds, bias=False, dtype=torch.float64)


def three_layers(x, A, B, C):
    return relu(relu(x @ A) @ B) @ C


@pytest.mark.parametrize("optimizer", [SGD(0.1), Adam(0.05)])
def test_tied_weights_of_an_mlp(optimizer):
    net = deep()
    net.W[1] = net.W[2] = net.W[0]
    start = net.W[0].data.clone()
    assert not by_hand(net, MSE()) and by_hand(deep(), MSE())
    fit(net, TensorTask(X, Y, seeds=SEEDS), epochs=3, batch=BATCH, optimizer=optimizer)
    for lane, seed in enumerate(SEEDS):
        alone = [start[lane].clone().requires_grad_()]
        loop(lambda x, A: three_layers(x, A, A, A), alone, seed, optimizer)
        torch.testing.assert_close(net.W[0].data[lane], alone[0].data, rtol=1e-10, atol=1e-12)


def test_parameters_in_one_memory_are_tied_as_well():
    net = deep()
    net.W[1] = nn.Parameter(net.W[0].data)
    assert not by_hand(net, MSE())


@pytest.mark.parametrize("optimizer", [SGD(0.1), Adam(0.05)])
def test_hooks_on_parameters(optimizer):
    """The hook is not linear, so it must get the gradient itself, and not a multiple of it."""

    def squeeze(g):
        return g.clamp(-0.05, 0.05)

    net = deep()
    start = [p.data.clone() for p in net.W]
    net.W[0].register_hook(squeeze)
    assert not by_hand(net, MSE())
    fit(net, TensorTask(X, Y, seeds=SEEDS), epochs=3, batch=BATCH, optimizer=optimizer)
    for lane, seed in enumerate(SEEDS):
        alone = [p[lane].clone().requires_grad_() for p in start]
        alone[0].register_hook(squeeze)
        loop(three_layers, alone, seed, optimizer)
        for p, q in zip(net.W, alone, strict=True):
            torch.testing.assert_close(p.data[lane], q.data, rtol=1e-10, atol=1e-12)


def test_hooks_on_networks_and_on_all_modules():
    calls, net = [], deep()
    handle = net.register_forward_hook(lambda module, x, f: calls.append(f.shape) or 2 * f)
    start = [p.data.clone() for p in net.W]
    fit(net, TensorTask(X, Y, seeds=SEEDS), epochs=3, batch=BATCH, optimizer=SGD(0.1))
    handle.remove()
    assert calls == [(2, BATCH, 4)] * 9 and by_hand(net, MSE())
    for lane, seed in enumerate(SEEDS):
        alone = [p[lane].clone().requires_grad_() for p in start]
        loop(lambda x, *W: 2 * three_layers(x, *W), alone, seed, SGD(0.1))
        torch.testing.assert_close(net.W[0].data[lane], alone[0].data, rtol=1e-10, atol=1e-12)
    everywhere = nn.modules.module.register_module_forward_hook(lambda module, x, f: None)
    try:
        assert not by_hand(net, MSE())
    finally:
        everywhere.remove()
    net.W[1].register_post_accumulate_grad_hook(lambda p: None)
    with pytest.raises(UserError, match=r"register_post_accumulate_grad_hook on W\.1: use register_hook"):
        fit(net, TensorTask(X, Y, seeds=SEEDS), epochs=1)


def largest(f, y):
    """For all lanes, this returns (batch,), which has the shape (lane,) if there are as many lanes as points."""
    return (f - y).square().sum(-1).max(0).values


def test_a_loss_with_as_many_lanes_as_points_in_a_batch():
    seeds = range(BATCH)
    net = deep(seeds)
    start = [p.data.clone() for p in net.W]
    fit(net, TensorTask(X, Y, seeds=seeds), epochs=3, batch=BATCH, optimizer=SGD(0.01), loss=largest)
    for lane, seed in enumerate(seeds):
        alone = loop(three_layers, [p[lane].clone().requires_grad_() for p in start], seed, SGD(0.01), largest)
        for p, q in zip(net.W, alone, strict=True):
            torch.testing.assert_close(p.data[lane], q.data, rtol=1e-10, atol=1e-12)


def test_a_loss_that_declares_to_take_all_lanes():
    calls = []

    def together(f, y):
        calls.append(f.dim())
        return (f - y).square().mean((-2, -1))

    together.takes_lanes = True
    check(Both(), SGD(0.1), loss=together, value=lambda f, y: (f - y).square().mean())
    assert calls == [3] * 9

    def wrong(f, y):
        return (f - y).square().mean()

    wrong.takes_lanes = True
    with pytest.raises(
        UserError, match=r"one number per lane, \(2,\), from a loss that takes all lanes, got shape \(\)"
    ):
        fit(Both(), TensorTask(X, Y, seeds=SEEDS), epochs=1, loss=wrong)


def noisy_lane(f, y):
    return (f - y).square().mean() * (1 + torch.rand(()))


def noisy_lanes(f, y):
    noise = torch.rand(())
    return (f - y).square().mean((1, 2)) * (1 + noise)  # fails for one lane alone, after it has drawn a number


@pytest.mark.parametrize("loss", [noisy_lane, noisy_lanes])
def test_a_random_loss_resumes_to_the_same_bits(loss, tmp_path):
    def train(checkpoint=None, stop=None):
        net = Both()

        def tick(seed_steps):
            if stop and seed_steps:
                raise KeyboardInterrupt

        try:
            fit(net, TensorTask(X, Y, seeds=SEEDS), epochs=3, batch=BATCH, loss=loss, checkpoint=checkpoint, tick=tick)
        except KeyboardInterrupt:
            return None
        return net

    resumed = []
    expected = train()
    assert train(Checkpoint(tmp_path / "a", seconds=0), stop=True) is None
    again = train(Checkpoint(tmp_path / "a", seconds=0, on_resume=resumed.append))
    assert resumed and torch.equal(expected.A, again.A) and torch.equal(expected.B, again.B)


def test_probes_that_draw_random_numbers_do_not_change_dropout():
    def train(*probes):
        net = torch_default((4, 30, 4), [3], dtype=torch.float64).module()
        net = nn.Sequential(net[0], nn.ReLU(), nn.Dropout(0.5), net[2])
        return net, fit(net, (X, Y), epochs=2, batch=BATCH, probes=probes)

    def draw(net):
        return {"drawn": ((), torch.rand(()))}

    plain, _ = train()
    watched, read = train(Probe(steps=range(7), measure=draw))
    assert all(torch.equal(p, q) for p, q in zip(plain.parameters(), watched.parameters(), strict=True))
    assert len(set(read.drawn.values.tolist())) == 7, "probes have a sequence of their own"


def test_random_probes_resume_to_the_same_bits(tmp_path):
    def train(stop=None, **options):
        net = torch_default((4, 6, 4), SEEDS, dtype=torch.float64)
        probe = Probe(range(4), lambda net: {"drawn": ((), torch.rand(()))})

        def tick(seed_steps):
            if stop:
                raise KeyboardInterrupt

        torch.manual_seed(1)
        return fit(net, TensorTask(X, Y, seeds=SEEDS), epochs=3, batch=BATCH, probes=[probe], tick=tick, **options)

    with pytest.raises(KeyboardInterrupt):
        train(True, checkpoint=Checkpoint(tmp_path / "a", seconds=0))
    resumed = []
    again = train(checkpoint=Checkpoint(tmp_path / "a", seconds=0, on_resume=resumed.append))
    assert resumed and again.identical(train())
