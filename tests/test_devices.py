"""Instruments, flows and training on another device: what they make is made there, and their answers are there.

No GPU is needed: ``elsewhere`` has a device that is not there, whose tensors refuse to mix with those of the CPU.
"""

from contextlib import nullcontext

import numpy as np
import pytest
import torch
from battery import cases, drawn, parts
from elsewhere import DEVICE, Elsewhere, Watched, back, moved
from torch import Tensor, nn

from relulab.data.inputs import Gaussian
from relulab.data.task import Task
from relulab.flow.gradient_flow import gradient_flow
from relulab.lab.catalog import instruments
from relulab.nets.initial import balanced, residual_default, torch_default
from relulab.subjects.distillation.flow.distillation_flow import distillation_flow
from relulab.subjects.distillation.tools.descent import distillation_descent
from relulab.train.fit import fit
from relulab.train.optimizers import SGD, Adam
from relulab.train.probe import Probe


def same(there, here):
    """The answer is on the device, and has the numbers that it has on the CPU."""
    for a, b in zip(parts(there), parts(here), strict=True):
        if isinstance(b, Tensor):
            assert isinstance(a, Elsewhere), f"an answer of shape {tuple(b.shape)} was left on the CPU"
            torch.testing.assert_close(back(a), b, rtol=1e-12, atol=1e-12, equal_nan=True)
        elif isinstance(b, np.ndarray):
            np.testing.assert_array_equal(a, b)
        else:
            assert a == pytest.approx(b, rel=1e-12) if isinstance(b, float) else a == b


def test_the_device_that_is_not_there_refuses_tensors_of_the_cpu():
    with Watched():
        x = torch.ones(3).to(DEVICE)
        assert x.device == DEVICE and (x + torch.ones(3, device=x.device)).tolist() == [2, 2, 2]
        for mixed in (
            lambda: x + torch.ones(3),
            lambda: torch.stack([x, torch.ones(3)]),
            lambda: x[None] @ torch.eye(3),
        ):
            with pytest.raises(AssertionError, match="mixes a tensor made on the CPU"):
                mixed()
        with pytest.raises(AssertionError, match="before NumPy can read it"):
            x.numpy()
        assert type(x.cpu()) is Tensor and x.cpu().numpy().tolist() == [1, 1, 1]
    with pytest.raises(AssertionError, match="left on the CPU"):
        same((torch.ones(2),), (torch.ones(2),))


@pytest.mark.parametrize("name", sorted(cases()))
def test_an_instrument_answers_where_it_was_asked(name):
    function, case = instruments()[name].function, cases()[name]
    here = function(*case.arguments(torch.float64))
    with Watched():
        same(function(*moved(case.arguments(torch.float64))), here)


@pytest.mark.parametrize("kind", ["two layers", "residual"])
def test_gradient_flow_trains_where_its_networks_are(kind):
    X, y = drawn(0, 12, 3, dtype=torch.float64), drawn(1, 12, dtype=torch.float64).sign()

    def make():
        if kind == "two layers":
            return balanced((3, 8, 1), [0, 1], size=1e-3)
        return residual_default((3, 5, 1), [0, 1], depth=3).double()

    here, looks = make(), []
    clock = gradient_flow(here, X, y, until=3, steps=60)
    with Watched():
        there = moved(make())
        found = gradient_flow(there, *moved((X, y)), until=3, steps=60, each=lambda clock: looks.append(clock.log_loss))
    same(tuple(found), tuple(clock))
    same(tuple(p.data for p in there.parameters()), tuple(p.data for p in here.parameters()))
    assert all(isinstance(one, Elsewhere) for one in looks)


@pytest.mark.parametrize("follow", [distillation_flow, distillation_descent])
def test_students_come_back_to_the_device_of_their_points(follow):
    X, w_star = drawn(0, 3, 4, dtype=torch.float64), drawn(1, 4, dtype=torch.float64)
    here = follow(X, w_star, steps=50)
    with Watched():
        there = follow(*moved((X, w_star)), steps=50)
    same((there.times, dict(there.states)), (here.times, dict(here.states)))
    assert (there.reached, there.says, there.steps) == (here.reached, here.says, here.steps)


OPTIMIZERS = {
    "plain": SGD(0.05), "momentum": SGD(0.05, momentum=0.9, weight_decay=1e-3), "rates": SGD((0.05, 0.1)),
    "Adam": Adam(0.01),
}  # fmt: skip


def trained(net, optimizer, monkeypatch, **options):
    """The network after some steps, on the CPU, and what a probe saw."""
    monkeypatch.setattr("relulab.train.devices.torch.random.fork_rng", lambda *_, **__: nullcontext())
    lanes = getattr(net, "lanes", 1)
    star = torch_default((3, 4, 2), seeds=range(lanes), dtype=torch.float64)
    task = Task(star, Gaussian(3), seeds=range(lanes), n_train=20, n_held_out=5, dtype=torch.float64)
    probe = Probe(epochs=[1], measure=lambda net: {"size": ((), sum(p.square().sum() for p in net.parameters()))})
    seen = fit(net, task, epochs=2, steps=5, batch=4, optimizer=optimizer, probes=[probe], **options)
    return [back(p.data) for p in net.parameters()], float(seen["size"].values[0])


@pytest.mark.parametrize("options", [{}, {"clip": 0.1}, {"label_noise": 0.1}], ids=["", "clip", "noise"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("kind", ["lanes by hand", "lanes by autograd", "a module"])
def test_training_stays_where_its_network_is(kind, optimizer, options, monkeypatch):
    if kind == "a module" and optimizer == "rates":
        optimizer = "plain"  # a rate a lane is for lanes

    def make():
        if kind == "lanes by hand":
            return torch_default((3, 6, 2), seeds=[5, 6], dtype=torch.float64)
        if kind == "lanes by autograd":
            return residual_default((3, 6, 2), [5, 6], depth=3).double()
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 2)).double()

    here, size = trained(make(), OPTIMIZERS[optimizer], monkeypatch, **options)
    with Watched():
        net = moved(make())
        there, size_there = trained(net, OPTIMIZERS[optimizer], monkeypatch, **options)
        assert all(isinstance(p.data, Elsewhere) for p in net.parameters())
    assert size_there == pytest.approx(size, rel=1e-12)
    for a, b in zip(there, here, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)
