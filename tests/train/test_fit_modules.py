"""Training any module: convolutions, BatchNorm, several exits, classes, noise, augmentation; compared with loops."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, one_hot

from relulab import MSE, CrossEntropy, Gaussian, Logistic, Probe, Task, UserError
from relulab.core.alerts import Diverged
from relulab.core.seeds import Role, stream
from relulab.data.label_noise import LabelNoise
from relulab.data.labeled_task import LabeledTask
from relulab.data.tensor_task import TensorTask
from relulab.nets.initial import torch_default
from relulab.nets.mlp import MLP
from relulab.subjects.bias.tools.orthants import OppositeOrthants
from relulab.subjects.specialization import teacher
from relulab.train.fit import fit
from relulab.train.optimizers import SGD, Adam
from relulab.train.supply import Supply

N, CLASSES = 50, 3
RNG = np.random.default_rng(0)
IMAGES = torch.from_numpy(RNG.standard_normal((N, 2, 6, 6)))
LABELS = torch.from_numpy(RNG.integers(CLASSES, size=N))


class Exits(nn.Module):
    """A residual block with BatchNorm between two exits."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.second = nn.Conv2d(4, 4, 3, padding=1)
        self.early, self.late = nn.Linear(4, CLASSES), nn.Linear(4, CLASSES)

    def forward(self, x):
        f = self.norm(self.first(x)).relu()
        g = f + self.second(f).relu()
        return self.early(f.mean((2, 3))), self.late(g.mean((2, 3)))


def exits() -> Exits:
    """The same start each time."""
    net, rng = Exits().double(), np.random.default_rng(1)
    for p in net.parameters():
        p.data = torch.from_numpy(rng.uniform(-0.5, 0.5, tuple(p.shape)))
    return net


def both(outputs, y):
    return cross_entropy(outputs[1], y) + 0.3 * cross_entropy(outputs[0], y)


def order(epoch, n=N, seed=0):
    return torch.from_numpy(stream(0, Role.BATCHES, seed, epoch).permutation(n))


def equal(net, other) -> bool:
    return all(torch.equal(a, b) for a, b in zip(net.state_dict().values(), other.state_dict().values(), strict=True))


def test_a_network_with_batchnorm_a_block_and_two_exits():
    net, same = exits(), exits()
    fit(net, (IMAGES, LABELS), epochs=2, batch=16, loss=both, optimizer=SGD(0.1, momentum=0.9), clip=1.0)
    torch_optimizer = torch.optim.SGD(same.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(2):
        for rows in order(epoch).split(16):
            torch_optimizer.zero_grad()
            both(same(IMAGES[rows]), LABELS[rows]).backward()
            nn.utils.clip_grad_norm_(same.parameters(), 1.0)
            torch_optimizer.step()
    assert equal(net, same) and int(net.norm.num_batches_tracked) == 2 * 4  # the last batch of 2 points too


def test_channels_last_is_kept_and_the_network_mode_is_restored():
    net, calls = exits().to(memory_format=torch.channels_last), []
    net.eval()
    net.norm.train()
    net.first.register_forward_pre_hook(
        lambda module, x: calls.append((x[0].is_contiguous(memory_format=torch.channels_last), module.training))
    )
    images = IMAGES.contiguous(memory_format=torch.channels_last)
    fit(net, (images, LABELS), epochs=1, batch=16, loss=both)
    assert calls == [(True, True)] * 4
    assert [m.training for m in (net, net.first, net.norm)] == [False, False, True]


def test_probes_see_the_network_in_eval_mode_and_change_nothing():
    modes = []

    def look(net):
        net(IMAGES)
        modes.append((net.training, net.norm.training, torch.is_grad_enabled()))
        return {"mean": (("channel",), net.norm.running_mean)}

    watched, alone = exits(), exits()
    options = {"epochs": 2, "batch": 16, "loss": both}
    recorded = fit(watched, (IMAGES, LABELS), probes=[Probe((0, 1, 2), look)], **options)
    fit(alone, (IMAGES, LABELS), **options)
    assert equal(watched, alone) and modes == [(False, False, False)] * 3 and watched.training
    assert recorded["mean"].dims == ("epoch", "channel")
    np.testing.assert_array_equal(recorded["mean"].sel(epoch=0), 0)
    np.testing.assert_array_equal(recorded["mean"].sel(epoch=2), watched.norm.running_mean)


def test_probes_at_steps():
    def look(net):
        return {"w": ((), net[0].weight.detach().sum())}

    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)).double()
    start = {k: v.clone() for k, v in net.state_dict().items()}
    X, Y = IMAGES[:, 0, 0, :3], IMAGES[:, 1, 0, :1]
    probes = [Probe(steps=(0, 2, 5, 8), measure=look), Probe((1,), lambda net: {"v": ((), net[2].bias.sum())})]
    recorded = fit(net, (X, Y), epochs=2, batch=16, probes=probes)
    assert (
        recorded.w.dims == ("step",) and recorded.step.values.tolist() == [0, 2, 5, 8] and recorded.v.dims == ("epoch",)
    )
    net.load_state_dict(start)
    for epoch, (steps, done) in enumerate([(4, 4), (1, 5)]):
        fit(net, TensorTask(X, Y), epochs=1, steps=steps, batch=16, first_epoch=epoch)
        if done == 5:
            assert float(net[0].weight.detach().sum()) == float(recorded.w.sel(step=5))
    with pytest.raises(UserError, match=r"probes at steps from 0 \(the start\) to 8 \(the end\), got step 9"):
        fit(net, (X, Y), epochs=2, batch=16, probes=[Probe(steps=[9], measure=look)])
    with pytest.raises(UserError, match="expected 'w' to be measured at epochs or at steps, got both"):
        fit(net, (X, Y), epochs=1, probes=[Probe([0], look), Probe(steps=[0], measure=look)])
    with pytest.raises(UserError, match="either epochs or steps, got both"):
        Probe([0], look, steps=[1])
    with pytest.raises(UserError, match=r"expected a function measure\(net\), got None"):
        Probe([0])


def test_classes_by_our_loss_and_by_torchs():
    def net():
        return torch_default((36, 8, CLASSES), [3], dtype=torch.float64)

    X, with_default_loss, with_torch_loss, lanes = IMAGES[:, 0].flatten(1), net().module(), net().module(), net()
    fit(with_default_loss, (X, LABELS), epochs=2, batch=16)
    fit(with_torch_loss, (X, LABELS), epochs=2, batch=16, loss=cross_entropy)
    fit(lanes, TensorTask(X, LABELS), epochs=2, batch=16, loss=CrossEntropy())
    for p, q, r in zip(
        with_default_loss.parameters(), with_torch_loss.parameters(), lanes.module().parameters(), strict=True
    ):
        torch.testing.assert_close(p, q, rtol=1e-11, atol=1e-12)
        torch.testing.assert_close(p, r, rtol=1e-11, atol=1e-12)


def test_lanes_on_the_same_points_equal_each_alone():
    X, Y = IMAGES[:, 0].flatten(1), IMAGES[:, 1, 0, :2]
    together = torch_default((36, 8, 2), [4, 9], dtype=torch.float64)
    meter = {"loss": lambda f, y: (f - y).square().mean((-2, -1))}
    read = fit(together, TensorTask(X, Y, seeds=[4, 9]), epochs=2, batch=16, meters=meter)
    assert read.loss.dims == ("epoch", "lane")
    for lane, seed in enumerate((4, 9)):
        alone = torch_default((36, 8, 2), [seed], dtype=torch.float64).module()
        recorded = fit(alone, TensorTask(X, Y, seed=seed), epochs=2, batch=16, meters=meter)
        np.testing.assert_allclose(recorded.loss, read.loss.isel(lane=lane), rtol=1e-10)
        for p, q in zip(alone.parameters(), together.module(lane).parameters(), strict=True):
            torch.testing.assert_close(p, q, rtol=1e-11, atol=1e-12)


def test_random_layers_have_a_stream_of_their_own():
    def trained(seed=0):
        net = torch_default((36, 30, CLASSES), [3]).module()
        net = nn.Sequential(net[0], nn.ReLU(), nn.Dropout(0.5), net[2])
        fit(net, TensorTask(IMAGES[:, 0].flatten(1).float(), LABELS, seed=seed), epochs=2)
        return net

    torch.manual_seed(5)
    one, after = trained(), torch.rand(1)
    torch.manual_seed(5)
    assert torch.equal(torch.rand(1), after), "training drew from the global stream"
    assert equal(one, trained())
    assert not torch.equal(one[0].weight, trained(1)[0].weight)


def shaken(x, generator):
    return x + 0.5 * torch.randn(x.shape, generator=generator, dtype=x.dtype)


def test_augmentation_draws_by_seed_and_anew_each_epoch():
    X, Y = IMAGES[:, 0].flatten(1), IMAGES[:, 1, 0, :2]
    batches = {}

    def keep(name):
        def augment(x, generator):
            batches.setdefault(name, []).append(shaken(x, generator))
            return batches[name][-1]

        return augment

    together = torch_default((36, 8, 2), [4, 9], dtype=torch.float64)
    fit(together, TensorTask(X, Y, seeds=[4, 9]), epochs=2, batch=25, augment=keep("both"))
    alone = torch_default((36, 8, 2), [9], dtype=torch.float64)
    fit(alone, TensorTask(X, Y, seed=9), epochs=2, batch=25, augment=keep("one"))
    assert all(torch.equal(a, b) for a, b in zip(batches["both"][1::2], batches["one"], strict=True))
    noise = [
        x - X[rows]
        for x, rows in zip(batches["one"], (*order(0, seed=9).split(25), *order(1, seed=9).split(25)), strict=True)
    ]
    assert len(noise) == 4 and len({float(n[0, 0]) for n in noise}) == 4
    torch.testing.assert_close(alone.W[0][0], together.W[0][1], rtol=1e-11, atol=1e-12)


def supplied(task, loss, noise, epoch=0):
    return Supply(task, loss, steps=1, batch=1, laned=True, device=torch.device("cpu"), noise=noise).points(epoch).Y


def test_label_noise_flips_a_share_of_classes_to_other_classes():
    task = TensorTask(torch.zeros(1000, 2), torch.arange(1000) % 4, seeds=[0, 1])
    Y = supplied(task, cross_entropy, LabelNoise(0.3))
    wrong = Y != task.train().Y
    assert wrong.sum(1).tolist() == [300, 300] and not torch.equal(wrong[0], wrong[1])
    shift = ((Y - task.train().Y) % 4)[wrong]
    counts = torch.bincount(shift, minlength=4)
    assert counts[0] == 0 and (counts[1:] - 200).abs().max() < 5 * (600 * 2 / 9) ** 0.5
    assert torch.equal(Y, supplied(task, cross_entropy, LabelNoise(0.3), 7))
    anew = LabelNoise(0.3, each_epoch=True)
    assert not torch.equal(supplied(task, cross_entropy, anew, 1), supplied(task, cross_entropy, anew, 2))
    assert torch.equal(supplied(task, CrossEntropy(), LabelNoise(0.3)), one_hot(Y, 4).float())


def test_label_noise_on_signs_teachers_classes_and_numbers():
    data = [OppositeOrthants(4).draw(stream(0, Role.TRAIN, 0), 20)]
    signs = LabeledTask(data, seeds=[0])
    assert (supplied(signs, Logistic(), LabelNoise(0.25)) * signs.train().Y).sum() == 10
    star = teacher((5, 4, 3), seeds=[0], polarity=0.5)
    task = Task(star, Gaussian(5), seeds=[0], n_train=2000, n_held_out=5, dtype=torch.float64)
    flipped = supplied(task, CrossEntropy(), LabelNoise(0.1))
    assert (flipped.argmax(-1) != task.train().Y.argmax(-1)).sum() == 200 and set(flipped.unique().tolist()) == {0, 1}
    noise = supplied(task, MSE(), LabelNoise(0.5)) - task.train().Y
    assert abs(float(noise.std()) - 0.5) < 5 * 0.5 / (2 * noise.numel()) ** 0.5
    fresh = Task(star, Gaussian(5), seeds=[0], n_train=2000, n_held_out=5, fresh=True, dtype=torch.float64)
    first, second = (supplied(fresh, MSE(), LabelNoise(0.5), e) - fresh.train(e).Y for e in (0, 1))
    assert not torch.allclose(first, second)
    net, clean = (torch_default((5, 7, 3), [0], dtype=torch.float64) for _ in range(2))
    fit(net, task, epochs=1, label_noise=0.5)
    fit(clean, task, epochs=1)
    assert not torch.equal(net.W[0], clean.W[0])


def test_label_noise_flips_signs_under_the_logistic_loss():
    signs = 2.0 * (torch.arange(1000) % 2) - 1
    for Y in (signs, signs[:, None]):
        task = TensorTask(torch.zeros(1000, 2), Y, seeds=[0, 1])
        noisy = supplied(task, Logistic(), LabelNoise(0.1))
        assert noisy.shape == (2, 1000, 1) and set(noisy.unique().tolist()) == {-1, 1}
        wrong = noisy[..., 0] != signs
        assert wrong.sum(1).tolist() == [100, 100] and not torch.equal(wrong[0], wrong[1])
        # Under the squared error, ±1 are real numbers like any others.
        assert (supplied(task, MSE(), LabelNoise(0.1))[..., 0] - signs).abs().unique().numel() > 1000
    scores = TensorTask(torch.zeros(1000, 2), 0.5 * signs)
    assert supplied(scores, Logistic(), LabelNoise(0.1)).unique().numel() > 900


def test_a_training_that_diverges_goes_on_to_its_end():
    net = torch_default((5, 7, 3), [0, 1])
    task = Task(teacher((5, 4, 3), seeds=[0, 1]), Gaussian(5), seeds=[0, 1], n_train=50, n_held_out=5)
    probe = Probe((2,), lambda net: {"w": (("lane",), net.W[0].sum((1, 2)))})
    with pytest.warns(Diverged, match="1 of 2 networks"):
        read = fit(net, task, epochs=2, steps=50, optimizer=SGD([1e6, 0.01]), clip=1e9, probes=[probe])
    assert np.isfinite(read.w.values[0]).tolist() == [False, True]


def test_float_and_tokens():
    net = nn.Sequential(nn.Embedding(5, 3), nn.Flatten(), nn.Linear(12, 2))
    tokens = torch.from_numpy(RNG.integers(5, size=(40, 4)))
    recorded = fit(net, (tokens, tokens[:, 0] % 2), epochs=3, optimizer=Adam(0.05), meters={"loss": cross_entropy_of})
    assert recorded.loss[2] < recorded.loss[0]


def cross_entropy_of(f, y):
    return cross_entropy(f, y.argmax(-1))


def line(**options):
    return nn.Linear(3, 1, **options)


X3, Y1 = torch.zeros(10, 3), torch.zeros(10, 1)


@pytest.mark.parametrize("act, word", [
    (lambda: fit(line(), TensorTask(X3, Y1, seeds=[0, 1]), epochs=1), "for a Linear without lanes, got 2 lanes"),
    (lambda: fit(line(dtype=torch.float64), (X3, Y1), epochs=1), "expected the same dtype in network and task"),
    (lambda: fit(line(), (X3, torch.zeros(10, 2)), epochs=1), r"shape of the targets, got \(10, 1\)"),
    (lambda: fit(exits().float(), (IMAGES.float(), LABELS), epochs=1), r"pass a function loss\("),
    (lambda: fit(line(), (X3, Y1), epochs=1, loss=lambda f, y: (f - y) ** 2), r"from the loss, got shape \(10, 1\)"),
    (lambda: fit(line().requires_grad_(False), (X3, Y1), epochs=1), "no parameter of Linear requires"),
    (lambda: fit(line(), (X3, Y1), epochs=1, optimizer=SGD([0.1, 0.2])), "2 learning rates"),
    (lambda: fit(line(), (X3, Y1), epochs=1, device="nowhere"), r"PyTorch can use, got nowhere \("),
    (lambda: fit(line(), (X3, Y1), epochs=1, clip=0), "clip=0"),
    (lambda: fit(line(), (X3, Y1), epochs=1, steps=2, batch=10), "one pass over 10 points, got 2"),
    (lambda: fit(line(), (X3, Y1), epochs=1, label_noise=-0.1), "label noise of at least 0, got -0.1"),
    (lambda: fit(line(), (X3, torch.zeros(10).long()), epochs=1, label_noise=0.1), "number of classes 1"),
    (lambda: fit(line(), (X3, Y1), epochs=1, schedule=lambda e: float("nan")), "got nan in epoch 0, step 0"),
    (lambda: TensorTask(X3, torch.full((10,), 5), classes=3), "for classes=3, got label 5"),
    (lambda: TensorTask(X3, -torch.ones(10).long()), "classes as integers from 0, .* minimum -1"),
    (lambda: TensorTask(X3[:0], Y1[:0]), r"got inputs of shape \(0, 3\)"),
])  # fmt: skip
def test_wrong_arguments_are_refused(act, word):
    with pytest.raises(UserError, match=word):
        act()


def test_a_parameter_without_lanes_is_refused():
    class Odd(MLP):
        def __init__(self):
            super().__init__((3, 1), lanes=2)
            self.extra = nn.Parameter(torch.zeros(5))

    with pytest.raises(UserError, match=r"a network with 2 lanes, got a parameter of shape \(5,\)"):
        fit(Odd(), TensorTask(X3, Y1, seeds=[0, 1]), epochs=1)


def test_a_module_on_tasks_of_one_lane():
    star = teacher((5, 4, 3), seeds=[2], polarity=0.5)
    data = [OppositeOrthants(5).draw(stream(0, Role.TRAIN, 0), 20)]
    for task, widths in (
        (Task(star, Gaussian(5), seeds=[2], n_train=60, n_held_out=5, dtype=torch.float64), (5, 7, 3)),
        (LabeledTask(data, seeds=[2], dtype=torch.float64), (5, 7, 1)),
    ):
        lanes = torch_default(widths, [2], dtype=torch.float64)
        module = lanes.module()
        for net in (lanes, module):
            fit(net, task, epochs=3, batch=5, optimizer=SGD(0.05, momentum=0.9, weight_decay=0.01))
        for p, q in zip(lanes.module().parameters(), module.parameters(), strict=True):
            torch.testing.assert_close(p, q, rtol=1e-11, atol=1e-12)


def test_a_network_travels_to_its_device_and_back(monkeypatch):
    """The test uses another name of the CPU as a second device."""
    elsewhere, met = torch.device("cpu", 0), []
    monkeypatch.setattr("relulab.train.fit.found_device", lambda name, home: elsewhere if name else home)

    def look(net):
        met.append(net)
        return {"w": ((), next(net.parameters()).sum())}

    for make in (exits, lambda: torch_default((36, 8, 3), [0], dtype=torch.float64)):
        X, loss = (IMAGES, both) if make is exits else (IMAGES[:, 0].flatten(1), None)
        here, there = make(), make()
        met.clear()
        options = {"epochs": 2, "batch": 16, "loss": loss, "probes": [Probe((0, 2), look)]}
        read = fit(here, TensorTask(X, LABELS), **options)
        assert read.identical(fit(there, TensorTask(X, LABELS), device="another", **options)) and equal(here, there)
        assert met[:2] == [here, here] and there not in met, "probes must get a copy on the original device"
