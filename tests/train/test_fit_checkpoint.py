"""Checkpoints: training that was stopped anywhere resumes and ends with bitwise equal results."""

import json
from contextlib import contextmanager, nullcontext
from unittest import mock

import numpy as np
import pytest
import torch
from safetensors import safe_open
from torch import nn

from relulab import Gaussian, Probe, Task, UserError
from relulab.core.seeds import Role, stream
from relulab.data.labeled_task import LabeledTask
from relulab.data.tensor_task import TensorTask
from relulab.nets.initial import residual_default, torch_default
from relulab.nets.mlp import MLP
from relulab.subjects.bias.tools.orthants import OppositeOrthants
from relulab.subjects.specialization import teacher
from relulab.train.checkpoint import Checkpoint
from relulab.train.fit import fit
from relulab.train.meters import Meters
from relulab.train.optimizers import SGD, Adam
from relulab.train.schedules import Cosine

EPOCHS, SEEDS = 3, [4, 9]
RNG = np.random.default_rng(0)
X, Y = torch.from_numpy(RNG.standard_normal((30, 5))), torch.from_numpy(RNG.standard_normal((30, 2)))
IMAGES, LABELS = torch.from_numpy(RNG.standard_normal((30, 2, 4, 4))), torch.from_numpy(RNG.integers(3, size=30))


class Stop(Exception):
    """Simulates a kill."""


def shaken(x, generator):
    return x + 0.1 * torch.randn(x.shape, generator=generator, dtype=x.dtype)


def picture_net():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dropout(0.3), nn.Linear(16, 3)
    ).double()  # fmt: skip


class Same(MLP):
    def forward(self, x):
        return super().forward(x)


def subclass():
    net = Same((5, 7, 2), lanes=2, dtype=torch.float64)
    net.load_state_dict(torch_default((5, 7, 2), SEEDS, dtype=torch.float64).state_dict())
    return net


def teachers():
    star = teacher((5, 4, 2), seeds=SEEDS)
    return Task(star, Gaussian(5), seeds=SEEDS, n_train=40, n_held_out=5, fresh=True, dtype=torch.float64)


def orthants():
    return LabeledTask(
        [OppositeOrthants(4).draw(stream(0, Role.TRAIN, s), 20) for s in SEEDS], seeds=SEEDS, dtype=torch.float64
    )


LANES = lambda: torch_default((5, 7, 2), SEEDS, dtype=torch.float64)  # noqa: E731
CASES = {
    "plain lanes": (LANES, teachers, {"optimizer": SGD(0.05)}),
    "momentum": (LANES, teachers, {"optimizer": SGD(0.05, 0.9), "schedule": Cosine(20, by="step")}),
    "lanes, Nesterov, clipped": (LANES, teachers, {"optimizer": SGD([0.05, 0.1], 0.9, True, 0.01), "clip": 0.1}),
    "lanes, Adam": (LANES, teachers, {"optimizer": Adam(0.05)}),
    "subclass": (subclass, teachers, {"optimizer": SGD(0.05, 0.9)}),
    "residual": (
        lambda: residual_default((4, 7, 1), SEEDS, depth=3, dtype=torch.float64), orthants, {"optimizer": Adam(0.01)},
    ),
    "pictures": (
        picture_net, lambda: TensorTask(IMAGES, LABELS, seed=3),
        {"optimizer": Adam(0.05), "loss": nn.CrossEntropyLoss(), "augment": shaken, "label_noise": 0.2},
    ),
    "pictures, momentum": (
        lambda: picture_net().to(memory_format=torch.channels_last), lambda: TensorTask(IMAGES, LABELS, seed=3),
        {"optimizer": SGD(0.05, 0.9, True), "loss": nn.CrossEntropyLoss(), "clip": 1.0},
    ),
}  # fmt: skip


def first(net):
    return {"first": ((), next(net.parameters()).detach().sum())}


def later(net):
    return {"sum": ((), next(net.parameters()).detach().sum())}


PROBES = [Probe((0, 1, 3), first), Probe(steps=(0, 3, 5), measure=later)]


def size(f, y):
    return f.square().mean()


@contextmanager
def killed(after):
    """Stop the training after some batches, like a kill, without changing any of its settings."""
    evaluate, count = Meters.__call__, 0

    def stop(self, output, target):
        nonlocal count
        count += 1
        if count > after:
            raise Stop
        return evaluate(self, output, target)

    with mock.patch.object(Meters, "__call__", stop):
        yield


def trained(case, folder=None, stop=None):
    """Return weights, buffers and recorded values at the end; training stops after ``stop`` batches, like a kill."""
    make, task, options = CASES[case]
    net, ticks, resumed = make(), [], []
    checkpoint = Checkpoint(folder / "a.checkpoint", seconds=0, on_resume=resumed.append) if folder else None
    with nullcontext() if stop is None else killed(stop):
        read = fit(
            net, task(), epochs=EPOCHS, batch=10, probes=PROBES, checkpoint=checkpoint, tick=ticks.append,
            meters={"size": size}, **options,
        )  # fmt: skip
    return [t.clone() for t in net.state_dict().values()], read, sum(ticks), resumed


@pytest.mark.parametrize("case", CASES)
def test_resumed_equals_uninterrupted_to_the_bit(case, tmp_path):
    weights, read, steps, _ = trained(case)
    batches = 3 if case not in ("residual",) and "pictures" in case else {"residual": 2}.get(case, 4)
    for stop in (1, batches, batches + 1, 2 * batches + 1):  # in the first epoch, between epochs, later
        folder = tmp_path / str(stop)
        folder.mkdir()
        with pytest.raises(Stop):
            trained(case, folder, stop)
        again, read_again, ticked, resumed = trained(case, folder)
        assert [(r["epoch"], r["step"]) for r in resumed] == [divmod(stop, batches)]
        assert all(torch.equal(a, b) for a, b in zip(weights, again, strict=True))
        assert read_again.identical(read) and ticked == steps
        # A finished training run is read, not repeated.
        once_more, read_again, ticked, (where,) = trained(case, folder, stop=0)
        assert all(torch.equal(a, b) for a, b in zip(weights, once_more, strict=True))
        assert read_again.identical(read) and ticked == steps == where["seed_steps"] and where["epoch"] == EPOCHS


def test_a_damaged_or_foreign_checkpoint_is_ignored(tmp_path):
    path = tmp_path / "a.checkpoint"

    def go(net=None, epochs=2, key="", resumed=None, data=X, lr=0.01):
        net = net or torch_default((5, 7, 2), [0], dtype=torch.float64)
        resumes = [] if resumed is None else resumed
        checkpoint = Checkpoint(path, seconds=0, key=key, on_resume=resumes.append)
        fit(net, TensorTask(data, Y), epochs=epochs, optimizer=SGD(lr), checkpoint=checkpoint)
        return net, resumes

    expected, resumes = go()
    content = path.read_bytes()
    assert not resumes and go()[1][0]["epoch"] == 2
    middle = len(content) // 2
    for damaged in (content[:middle], b"", b"nonsense", content[:-5] + bytes([content[-5] ^ 1]) + content[-4:]):
        path.write_bytes(damaged)
        net, resumes = go()
        assert not resumes and torch.equal(net.W[0], expected.W[0])
    for other in (
        {"epochs": 3}, {"key": "another unit"}, {"data": X + 1}, {"lr": 0.02},
        {"net": torch_default((5, 7, 2), [1], dtype=torch.float64)},
    ):  # fmt: skip
        path.write_bytes(content)
        assert not go(**other)[1], other
    path.unlink()
    path.mkdir()
    with pytest.raises(UserError, match="expected a file for the checkpoint, got the folder"):
        go()


def test_trainings_are_numbered_in_the_order_in_which_they_begin(tmp_path):
    def work(resumed, stop=False):
        checkpoint = Checkpoint(tmp_path / "a.checkpoint", seconds=0, on_resume=resumed.append)
        ends = []
        for seed in (0, 1):
            net = torch_default((5, 7, 2), [seed], dtype=torch.float64)
            with killed(0) if stop and seed else nullcontext():
                fit(net, TensorTask(X, Y, seed=seed), epochs=2, checkpoint=checkpoint, meters={"x": size})
            ends.append(net.W[0].detach())
        return ends

    with pytest.raises(Stop):
        work([], stop=True)
    assert [p.name for p in tmp_path.iterdir()] == ["a.checkpoint"]
    resumed = []
    first, second = work(resumed)
    assert [(r["training"], r["epoch"]) for r in resumed] == [(1, 2)]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.checkpoint", "a.checkpoint.2"]
    assert not torch.equal(first, second)


def test_short_training_leaves_no_file_and_files_are_safetensors(tmp_path):
    path = tmp_path / "a"
    fit(torch_default((5, 7, 2), [0], dtype=torch.float64), (X, Y), epochs=1, checkpoint=path)
    assert not path.exists()
    fit(
        torch_default((5, 7, 2), [0], dtype=torch.float64), (X, Y), epochs=1, optimizer=SGD(0.1, 0.9),
        checkpoint=Checkpoint(path, seconds=0),
    )  # fmt: skip
    with safe_open(path, framework="pt") as file:
        names = set(file.keys())
        notes = json.loads(file.metadata()["notes"])
    assert {"net/W.0", "step/u.0", "torch/generator"} <= names and (notes["epoch"], notes["done"]) == (1, 0)
