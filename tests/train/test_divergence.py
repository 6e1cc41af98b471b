"""Weights that become NaN or infinite: found at the right step, told once, and no loss for the other lanes."""

import math
import warnings

import numpy as np
import pytest
import torch
from torch import nn

import relulab as rl
from relulab.train import divergence
from relulab.train.checkpoint import Checkpoint
from relulab.train.optimizers import SGD, Adam

SEEDS = [3, 8, 5]


def case(d=6, seeds=SEEDS):
    star = rl.specialization.teacher((d, 4, 3), seeds=seeds)
    task = rl.Task(star, rl.Gaussian(d), seeds=seeds, n_train=100, n_held_out=20)
    return rl.torch_default((d, 7, 3), seeds), task


def first_step_by_hand(lr, lane, epochs=2, steps=60, momentum=0.0):
    """Train a copy of one lane step by step with PyTorch and check every weight after each step."""
    students, task = case()
    net = students.module(lane)
    optimizer = torch.optim.SGD(net.parameters(), lr, momentum)
    X, Y = task.train().of_lane(lane)
    count = 0
    for epoch in range(epochs):
        for rows in task.batches(epoch, steps, 16)[lane]:
            optimizer.zero_grad()
            (0.5 * (net(X[rows]) - Y[rows]).square().sum(1).mean()).backward()
            optimizer.step()
            count += 1
            if not all(p.isfinite().all() for p in net.parameters()):
                return count
    return -1


def test_the_step_of_every_lane_is_that_of_a_loop_that_checks_all_weights():
    net, task = case()
    rates = [50.0, 0.01, 2.0]
    with pytest.warns(rl.Diverged, match=r"2 of 3 networks diverged") as told:
        course = rl.sgd(net, task, epochs=2, steps=60, lr=rates)
    expected = [first_step_by_hand(rate, i) for i, rate in enumerate(rates)]
    assert expected[1] == -1 and 0 < expected[0] < 60
    # A hidden weight may overflow one step before the outputs do, which is when it is noticed.
    assert course.diverged_at.dims == ("lane",)
    assert all(abs(a - b) <= 1 for a, b in zip(course.diverged_at.values, expected, strict=True))
    first = int(np.argmin(np.where(course.diverged_at < 0, np.inf, course.diverged_at)))
    step = int(course.diverged_at[first])
    assert f"lane {first} (seed {SEEDS[first]}) after step {step}, in epoch 0" in str(told[0].message)
    assert len(told) == 1


def test_the_other_lanes_are_trained_as_if_nothing_had_happened():
    net, task = case()
    with pytest.warns(rl.Diverged):
        rl.sgd(net, task, epochs=1, steps=60, lr=[50.0, 0.01, 0.01])
    calm, task = case()
    rl.sgd(calm, task, epochs=1, steps=60, lr=[0.01, 0.01, 0.01])
    assert all(torch.equal(a.data[1:], b.data[1:]) for a, b in zip(net.parameters(), calm.parameters(), strict=True))
    assert not net.W[0].data[0].isfinite().all()


def test_a_training_that_stays_finite_says_so():
    net, task = case()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        course = rl.sgd(net, task, epochs=1, steps=20)
    assert course.diverged_at.values.tolist() == [-1, -1, -1]


@pytest.mark.parametrize("optimizer", [SGD(1e6), SGD(1e6, momentum=0.9), Adam(1e30)], ids=str)
def test_a_module_without_lanes(optimizer):
    torch.manual_seed(0)
    net, X = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)), torch.randn(32, 3)
    with pytest.warns(rl.Diverged, match="the network diverged") as told:
        course = rl.fit(net, (X, X[:, :1]), epochs=20, batch=8, optimizer=optimizer)
    assert course.diverged_at.dims == () and 0 < int(course.diverged_at) <= 80 and len(told) == 1


def test_a_start_that_is_not_finite_is_told_with_the_step_zero():
    net, task = case()
    net.W[0].data[2, 0, 0] = math.nan
    with pytest.warns(rl.Diverged, match=r"1 of 3 .* at the start"):
        assert rl.sgd(net, task, epochs=0).diverged_at.values.tolist() == [-1, -1, 0]


class Spare(nn.Module):
    """A network with a parameter that its outputs do not depend on."""

    def __init__(self):
        super().__init__()
        self.spare, self.used = nn.Parameter(torch.tensor([math.inf])), nn.Linear(3, 1)

    def forward(self, x):
        return self.used(x)


def test_a_weight_that_no_output_shows_is_found_at_the_end_of_the_epoch():
    X = torch.randn(960, 3)
    with pytest.warns(rl.Diverged):
        assert int(rl.fit(Spare(), (X, X[:, :1]), epochs=2, batch=8).diverged_at) == 120


def test_after_the_first_steps_it_looks_less_often(monkeypatch):
    monkeypatch.setattr(divergence, "EARLY", 5)
    net, task = case()

    def late(step):
        return 1.0 if step < 37 else 1e30

    late.by = "step"
    with pytest.warns(rl.Diverged):
        course = rl.fit(net, task, epochs=1, steps=100, schedule=late)
    assert course.diverged_at.values.tolist() == [50, 50, 50]


def test_a_probe_may_have_the_same_names():
    net, task = case()
    probe = rl.Probe([0, 1], lambda net: {"some": (("lane",), torch.zeros(2))})
    course = rl.sgd(net, task, epochs=1, steps=5, probes=[probe])
    assert course.sizes["lane"] == 2 and course.diverged_at.dims == ("network",)
    mine = rl.Probe([1], lambda net: {"diverged_at": ((), torch.tensor(7.0))})
    assert rl.sgd(case()[0], task, epochs=1, steps=5, probes=[mine]).diverged_at.values.tolist() == [7.0]


class Stop(Exception):
    pass


def test_a_resumed_training_remembers_what_diverged(tmp_path):
    rates = SGD([50.0, 0.01, 0.01])

    def train(net, task, tick=lambda n: None):
        save = Checkpoint(tmp_path / "state", seconds=0)
        return rl.fit(net, task, epochs=3, steps=40, optimizer=rates, checkpoint=save, tick=tick)

    def stop(done):
        raise Stop

    net, task = case()
    with pytest.raises(Stop):
        train(net, task, stop)  # after the first epoch
    net, task = case()
    with pytest.warns(rl.Diverged, match="1 of 3"):
        resumed = train(net, task)
    (tmp_path / "state").unlink()
    net, task = case()
    with pytest.warns(rl.Diverged):
        whole = train(net, task)
    assert 0 < int(whole.diverged_at[0]) < 40
    assert resumed.diverged_at.values.tolist() == whole.diverged_at.values.tolist()
