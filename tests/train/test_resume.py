"""Training in several calls: with ``resume=True`` it gives the bits of one call, and repeated batches are told."""

import copy
import warnings

import pytest
import torch
from torch import nn

import relulab as rl
from relulab.core.alerts import SameBatches
from relulab.train.schedules import Cosine

SEEDS = [2, 7]


def lanes():
    return rl.torch_default((5, 6, 3), SEEDS)


def teachers(**options):
    star = rl.specialization.teacher((5, 4, 3), seeds=SEEDS)
    return rl.Task(star, rl.Gaussian(5), seeds=SEEDS, n_train=60, n_held_out=5, **options)


def pictures():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Dropout(0.3), nn.Linear(8, 3)
    )


def photos():
    generator = torch.Generator().manual_seed(1)
    X = torch.randn(24, 1, 4, 4, generator=generator)
    return X, torch.arange(24) % 3


def shaken(x, generator):
    return x + 0.1 * torch.randn(x.shape, generator=generator)


def absolute_error(f, y):
    return (f - y).abs().mean()


CASES = {
    "plain": (lanes, teachers, {}),
    "momentum": (lanes, teachers, {"optimizer": rl.SGD(0.05, 0.9), "schedule": Cosine(100, by="step")}),
    "Nesterov and decay": (lanes, teachers, {"optimizer": rl.SGD(0.05, 0.9, True, 0.01)}),
    "a rate per lane": (lanes, teachers, {"optimizer": rl.SGD([0.05, 0.02], 0.9), "clip": 0.5}),
    "Adam": (lanes, lambda: teachers(fresh=True), {"optimizer": rl.Adam(0.01), "label_noise": 0.1}),
    "own loss": (lanes, teachers, {"optimizer": rl.SGD(0.05, 0.9), "loss": absolute_error}),
    "pictures": (pictures, photos, {"optimizer": rl.SGD(0.05, 0.9), "augment": shaken}),
    "pictures, Adam": (pictures, photos, {"optimizer": rl.Adam(0.01)}),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_two_calls_of_two_epochs_are_one_call_of_four(case):
    make, data, options = case
    whole, parts, task = make(), make(), data()
    options = {"steps": 3, "batch": 8, **options}
    rl.fit(whole, task, epochs=4, **options)
    rl.fit(parts, task, epochs=2, **options)
    rl.fit(parts, task, epochs=2, resume=True, **options)
    other = make()
    rl.fit(other, task, epochs=2, **options)
    with pytest.warns(SameBatches, match="up to epoch 1"):
        rl.fit(other, task, epochs=2, **options)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, parts.state_dict()[name]), name
    assert any(not torch.equal(value, other.state_dict()[name]) for name, value in whole.state_dict().items())


def test_sgd_resumes_and_counts_epochs_on():
    whole, parts, task = lanes(), lanes(), teachers()
    norm = lambda net: {"norm": (("lane",), net.W[0].norm(dim=(1, 2)))}  # noqa: E731
    one = rl.sgd(whole, task, epochs=4, steps=9, momentum=0.9, probes=[rl.Probe([0, 2, 3, 4], norm)])
    rl.sgd(parts, task, epochs=2, steps=9, momentum=0.9)
    two = rl.sgd(parts, task, epochs=2, steps=9, momentum=0.9, resume=True, probes=[rl.Probe([2, 3, 4], norm)])
    assert two.epoch.values.tolist() == [2, 3, 4]
    assert (two.norm == one.norm.sel(epoch=[2, 3, 4])).all()


def same_as_mse(f, y):
    return 0.5 * (f - y).square().sum(-1).mean()


def same_for_all_lanes(f, y):
    return 0.5 * (f - y).square().sum(-1).mean(-1)


same_for_all_lanes.takes_lanes = True


@pytest.mark.parametrize("losses", [
    (None, same_as_mse), (same_as_mse, None), (same_as_mse, same_for_all_lanes), (same_for_all_lanes, None),
], ids=["to autograd", "from autograd", "to all lanes", "from all lanes"])  # fmt: skip
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_momentum_survives_a_change_of_the_loss(losses, momentum):
    """Without autograd, velocities have another form: both give the same weights up to rounding."""
    whole, parts, task = lanes().double(), lanes().double(), teachers(dtype=torch.float64)
    rl.sgd(whole, task, epochs=2, steps=9, momentum=momentum)
    rl.sgd(parts, task, epochs=1, steps=9, momentum=momentum, loss=losses[0])
    rl.sgd(parts, task, epochs=1, steps=9, momentum=momentum, loss=losses[1], resume=True)
    for one, two in zip(whole.parameters(), parts.parameters(), strict=True):
        torch.testing.assert_close(one, two, rtol=1e-10, atol=1e-13)


def test_only_a_network_that_is_trained_on_as_it_was_is_told():
    task, net = teachers(), lanes()
    start = copy.deepcopy(net.state_dict())
    rl.sgd(net, task, epochs=1, steps=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rl.sgd(net, teachers(), epochs=1, steps=5)  # other data
        rl.sgd(net, task, epochs=1, steps=5)
        rl.sgd(net, task, epochs=1, steps=5, first_epoch=1)
        net.load_state_dict(start)
        rl.sgd(net, task, epochs=1, steps=5)  # from the start again
        rl.sgd(lanes(), task, epochs=1, steps=5)
        rl.sgd(net, task, epochs=0)
    with pytest.warns(SameBatches):
        rl.sgd(net, task, epochs=1, steps=5)


def test_nothing_to_resume():
    task = teachers()
    with pytest.raises(rl.UserError, match="trained before in this process"):
        rl.sgd(lanes(), task, epochs=1, steps=5, resume=True)
    net = lanes()
    rl.sgd(net, task, epochs=1, steps=5)
    with pytest.raises(rl.UserError, match="leave out one"):
        rl.sgd(net, task, epochs=1, steps=5, resume=True, first_epoch=3)
    with pytest.raises(rl.UserError, match="optimizer like that"):
        rl.sgd(net, task, epochs=1, steps=5, resume=True, momentum=0.9)
    with pytest.raises(rl.UserError, match="optimizer like that"):
        rl.fit(net, task, epochs=1, steps=5, resume=True, optimizer=rl.Adam())
    rl.sgd(net, task, epochs=1, steps=5, resume=True)  # a refused call changes nothing
    with pytest.raises(rl.UserError, match="trained before in this process"):
        rl.sgd(copy.deepcopy(net), task, epochs=1, steps=5, resume=True)


def test_an_interrupted_training_cannot_be_resumed_from_its_start():
    def stop(done):
        raise KeyboardInterrupt

    net, task = lanes(), teachers()
    rl.sgd(net, task, epochs=1, steps=5)
    with pytest.raises(KeyboardInterrupt):
        rl.sgd(net, task, epochs=1, steps=5, resume=True, tick=stop)
    with pytest.raises(rl.UserError, match="trained before"):
        rl.sgd(net, task, epochs=1, steps=5, resume=True)


def test_a_network_and_its_data_are_not_kept_alive():
    import gc
    import weakref

    net, task = lanes(), teachers()
    rl.sgd(net, task, epochs=1, steps=5, momentum=0.9)
    alive = weakref.ref(net), weakref.ref(task)
    del net, task
    gc.collect()
    assert [reference() for reference in alive] == [None, None]
