"""Networks with BatchNorm as lanes: the same as PyTorch's modules, alone and together, in training and evaluation."""

from itertools import pairwise

import pytest
import torch
from torch import nn

import relulab as rl
from relulab import UserError
from relulab.nets.batch_norm_mlp import BatchNormMLP, Order
from relulab.nets.mlp import as_mlp
from relulab.train.checkpoint import Checkpoint

WIDTHS = (3, 6, 5, 2)
ORDERS: list[Order] = ["after", "before"]
DOUBLE = torch.float64


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=DOUBLE)


def network(order: Order, lanes: int = 3, slope: float = 0.0) -> BatchNormMLP:
    """A network whose parameters and running averages are all random."""
    net = BatchNormMLP(WIDTHS, order=order, lanes=lanes, slope=slope, dtype=DOUBLE)
    for i, p in enumerate(net.parameters()):
        p.data.copy_(drawn(*p.shape, seed=i))
    for i, s in enumerate(net.buffers()):
        s.copy_(drawn(*s.shape, seed=100 + i).abs() + 0.1)
    return net


def plain(order: Order, slope: float = 0.0) -> nn.Sequential:
    """The same structure from PyTorch's modules."""
    parts: list[nn.Module] = []
    for n, k in pairwise(WIDTHS[:-1]):
        relu = nn.LeakyReLU(slope) if slope else nn.ReLU()
        norm = nn.BatchNorm1d(k, dtype=DOUBLE)
        parts += [nn.Linear(n, k, dtype=DOUBLE), *((relu, norm) if order == "after" else (norm, relu))]
    return nn.Sequential(*parts, nn.Linear(WIDTHS[-2], WIDTHS[-1], dtype=DOUBLE))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_lanes_compute_what_pytorch_computes_for_each(order, slope):
    net, x = network(order, slope=slope), drawn(3, 8, 3, seed=7)
    modules = [net.module(i) for i in range(3)]
    assert [type(part) for part in modules[0]] == [type(part) for part in plain(order, slope)]
    for training in (False, True, True):  # the second batch sees the running averages of the first
        net.train(training)
        together = net(x)
        for i, module in enumerate(modules):
            torch.testing.assert_close(together[i], module.train(training)(x[i]), rtol=1e-12, atol=1e-12)
    for i, module in enumerate(modules):
        averages = [(norm.mean, norm.variance) for norm in net.norms]
        theirs = [(m.running_mean, m.running_var) for m in module if isinstance(m, nn.BatchNorm1d)]
        for ours, other in zip(averages, theirs, strict=True):
            for a, b in zip(ours, other, strict=True):
                torch.testing.assert_close(a[i, 0], b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("order", ORDERS)
def test_training_lanes_is_training_each_with_pytorch(order):
    seeds = [4, 9]
    net = rl.torch_default(WIDTHS, seeds, batch_norm=order, dtype=DOUBLE)
    task = rl.Task(rl.specialization.luck_teacher((3, 4, 2), seeds=seeds), rl.Gaussian(3), seeds=seeds, dtype=DOUBLE)
    modules = [net.module(i) for i in range(2)]
    rl.sgd(net, task, epochs=1, steps=20, batch=8, lr=0.1)
    rows = task.batches(0, 20, 8)
    for i, module in enumerate(modules):
        optimizer, (x, y) = torch.optim.SGD(module.parameters(), lr=0.1), task.train().of_lane(i)
        for batch in rows[i]:
            optimizer.zero_grad()
            (0.5 * (module(x[batch]) - y[batch]).square().sum(1).mean()).backward()
            optimizer.step()
        trained = net.module(i)
        for (name, ours), theirs in zip(trained.state_dict().items(), module.state_dict().values(), strict=True):
            if "num_batches" not in name:
                torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)
    assert not torch.equal(net.W[0][0], net.W[0][1])


@pytest.mark.parametrize("order", ORDERS)
def test_a_lane_shares_memory_and_is_the_same_function(order):
    net, x = network(order).eval(), drawn(5, 3)
    one = net.lane(1)
    torch.testing.assert_close(one(x)[0], net(x)[1], rtol=1e-12, atol=1e-12)
    one.norms[0].gain.data.fill_(2.0)
    one.norms[0].mean.fill_(3.0)
    assert bool((net.norms[0].gain[1] == 2).all()) and bool((net.norms[0].mean[1] == 3).all())
    assert not bool((net.norms[0].gain[0] == 2).any()) and one.lanes == 1 and not one.norms[0].training


@pytest.mark.parametrize("order", ORDERS)
def test_folded_it_is_a_plain_network_with_the_same_outputs(order):
    net, x = network(order, slope=0.2).eval(), drawn(9, 3)
    plain_net = net.folded()
    assert type(plain_net) is rl.MLP and as_mlp(plain_net) is plain_net
    torch.testing.assert_close(plain_net(x), net(x), rtol=1e-10, atol=1e-10)
    hidden = rl.hidden(net.train(), x)  # in eval mode, without moving the running averages
    for ours, theirs in zip(hidden.values(), rl.hidden(net.eval(), x).values(), strict=True):
        torch.testing.assert_close(ours, theirs)
    V = rl.specialization.top_down(net, x)["1"]
    torch.testing.assert_close(V, rl.specialization.top_down(plain_net, x)["1"])
    torch.testing.assert_close(
        rl.specialization.fan_out(net)["1"], plain_net.W[1].data.norm(dim=-1), rtol=1e-12, atol=0
    )


@pytest.mark.parametrize("order", ORDERS)
def test_modules_become_lanes_and_back(order):
    torch.manual_seed(0)
    modules = [plain(order).eval(), plain(order).eval()]
    for module in modules:
        module.train()(drawn(20, 3))
        module.eval()
    net, x = BatchNormMLP.of(*modules), drawn(6, 3)
    assert net.order == order and net.widths == WIDTHS and net.lanes == 2
    for i, module in enumerate(modules):
        torch.testing.assert_close(net.eval()(x)[i], module(x), rtol=1e-12, atol=1e-12)
        for ours, theirs in zip(net.module(i).state_dict().values(), module.state_dict().values(), strict=True):
            assert ours.shape == theirs.shape


def test_what_is_wrong_is_said():
    with pytest.raises(UserError, match="BatchNormMLP: expected order to be"):
        rl.BatchNormMLP(WIDTHS, order="afer")
    with pytest.raises(UserError, match="at least two points per batch"):
        BatchNormMLP(WIDTHS)(torch.zeros(1, 3))
    with pytest.raises(UserError, match="BatchNorm1d in every hidden layer"):
        BatchNormMLP.of(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)))
    with pytest.raises(UserError, match="BatchNorm1d in every hidden layer"):
        BatchNormMLP.of(plain("after"), plain("before"))
    mixed = [*plain("after")]
    mixed[1], mixed[2] = mixed[2], mixed[1]
    with pytest.raises(UserError, match="BatchNorm1d in every hidden layer"):
        BatchNormMLP.of(nn.Sequential(*mixed))

    class Own(BatchNormMLP):
        def layers(self, x):
            return [f + 1 for f in super().layers(x)]

    with pytest.raises(UserError, match="with its own forward or layers"):
        Own(WIDTHS).folded()


def test_a_killed_run_continues_with_its_running_averages(tmp_path):
    def trained(stop: int | None) -> BatchNormMLP:
        net = rl.torch_default(WIDTHS, [0], batch_norm="after")
        task = rl.Task(rl.specialization.luck_teacher((3, 4, 2), seeds=[0]), rl.Gaussian(3), seeds=[0])
        done = 0

        def tick(steps: int) -> None:
            nonlocal done
            done += steps
            if stop and done >= stop:
                raise RuntimeError("killed")

        checkpoint = Checkpoint(tmp_path / "kept", seconds=0)
        rl.fit(net, task, epochs=4, steps=5, batch=8, checkpoint=checkpoint, tick=tick)
        return net

    with pytest.raises(RuntimeError, match="killed"):
        trained(10)
    resumed = trained(None)
    (tmp_path / "kept").unlink(missing_ok=True)
    whole = trained(None)
    for a, b in zip(resumed.state_dict().values(), whole.state_dict().values(), strict=True):
        assert torch.equal(a, b)
