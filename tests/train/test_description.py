"""A checkpoint is used only by a training with the same settings, found by content; what is unknown is not trusted."""

import functools
import importlib
import os
import subprocess
import sys
import types

import numpy as np
import pytest
import torch
from torch import nn

from relulab import MSE, Gaussian, Probe, Task
from relulab.core.installed import installed
from relulab.data.tensor_task import TensorTask
from relulab.nets.initial import torch_default
from relulab.subjects.specialization import teacher
from relulab.train.checkpoint import Checkpoint
from relulab.train.description import Undescribable, description
from relulab.train.fit import fit
from relulab.train.optimizers import SGD, Adam
from relulab.train.schedules import by_step

RNG = np.random.default_rng(0)
X, Y = (torch.from_numpy(RNG.standard_normal((30, 4))) for _ in range(2))
SCALE = 1.0


class Weighted:
    """A loss with a tensor that its repr does not show."""

    def __init__(self, change=0.0):
        self.weights = torch.ones(2000, dtype=torch.float64)
        self.weights[1000] += change

    def __call__(self, f, y):
        return self.weights.mean() * (f - y).square().mean()


def module(activation, change=lambda net: None):
    net = nn.Sequential(nn.Linear(4, 6), activation, nn.Linear(6, 4)).double()
    rng = np.random.default_rng(1)
    for p in net.parameters():
        p.data = torch.from_numpy(rng.standard_normal(tuple(p.shape)))
    change(net)
    return net


def lanes(slope=0.0, change=lambda net: None):
    net = torch_default((4, 6, 4), [0], slope=slope, dtype=torch.float64)
    change(net)
    return net


def scaled(factor):
    return lambda f, y: factor * (f - y).square().mean()


def powers(power, f, y):
    return (f - y).abs().pow(power).mean()


def measure(power):
    return lambda net: {"size": ((), next(net.parameters()).detach().abs().pow(power).sum())}


def frozen(net):
    next(net.parameters()).requires_grad_(False)


def tied(net):
    net.W[1] = net.W[0]


def square():
    net = torch_default((4, 4, 4), [0], dtype=torch.float64)
    net.W[1].data.copy_(net.W[0].data)
    return net


def tied_square():
    net = square()
    tied(net)
    return net


def teachers(fresh):
    return Task(
        teacher((4, 3, 4), seeds=[0]), Gaussian(4), seeds=[0], n_train=40, n_held_out=5, fresh=fresh,
        dtype=torch.float64,
    )  # fmt: skip


START = {"net": lambda: module(nn.ReLU())}
OTHERS = {
    "schedule": ({"schedule": lambda epoch: 1.0}, {"schedule": lambda epoch: 0.5}),
    "schedule by step": ({"schedule": by_step(lambda t: 1.0)}, {"schedule": by_step(lambda t: 0.5)}),
    "loss": ({"loss": lambda f, y: (f - y).square().mean()}, {"loss": lambda f, y: (f - y).abs().mean()}),
    "closure": ({"loss": scaled(1.0)}, {"loss": scaled(2.0)}),
    "partial": ({"loss": functools.partial(powers, 2)}, {"loss": functools.partial(powers, 3)}),
    "augment": ({"augment": lambda x, generator: x + 1}, {"augment": lambda x, generator: x + 2}),
    "reduction": ({"loss": nn.MSELoss()}, {"loss": nn.MSELoss(reduction="sum")}),
    "large tensor": ({"loss": Weighted()}, {"loss": Weighted(0.5)}),
    "activation": ({}, {"net": lambda: module(nn.Tanh())}),
    "slope": ({"net": lanes}, {"net": lambda: lanes(0.3)}),
    "frozen": ({"optimizer": Adam()}, {"optimizer": Adam(), "net": lambda: module(nn.ReLU(), frozen)}),
    "hook": ({}, {"net": lambda: module(nn.ReLU(), lambda net: net[0].weight.register_hook(lambda g: 2 * g))}),
    "tied": ({"net": square}, {"net": tied_square}),
    "probe": ({"probes": [Probe([0, 2], measure(1))]}, {"probes": [Probe([0, 2], measure(2))]}),
    "meter": ({"meters": {"m": lambda f, y: f.mean()}}, {"meters": {"m": lambda f, y: f.sum()}}),
    "fresh": ({"task": teachers(False), "net": lanes}, {"task": teachers(True), "net": lanes}),
}  # fmt: skip


def resumed(path, options):
    """Train and return whether the training began with a checkpoint."""
    found, options = [], {**START, **options}
    net, task = options.pop("net")(), options.pop("task", TensorTask(X, Y))
    fit(net, task, epochs=2, checkpoint=Checkpoint(path, seconds=0, on_resume=found.append), **options)
    return bool(found)


@pytest.mark.parametrize("name", OTHERS)
def test_a_checkpoint_of_other_settings_is_ignored(name, tmp_path):
    path, (options, others) = tmp_path / "a.checkpoint", OTHERS[name]
    assert not resumed(path, options)
    assert resumed(path, options), "the same settings must resume"
    assert not resumed(path, others) and resumed(path, others)


def by_global(f, y):
    return SCALE * (f - y).square().mean()


def test_a_global_name_that_has_changed(tmp_path, monkeypatch):
    path = tmp_path / "a.checkpoint"
    assert not resumed(path, {"loss": by_global}) and resumed(path, {"loss": by_global})
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    assert not resumed(path, {"loss": by_global})


def test_what_a_probe_collects_does_not_matter(tmp_path):
    """Settings are described before training, so a list that grows during training still fits a later process."""

    def collecting():
        seen = []
        return [Probe([0, 1, 2], lambda net: seen.append(1) or {})]

    path = tmp_path / "a.checkpoint"
    assert not resumed(path, {"probes": collecting()}) and resumed(path, {"probes": collecting()})


def test_what_cannot_be_described_is_not_trusted(tmp_path):
    path, rows = tmp_path / "a.checkpoint", (row for row in range(100))

    def loss(f, y):
        return (f - y).square().mean() * (1 if next(rows) < 100 else 0)

    for _ in range(2):
        with pytest.warns(UserWarning, match=r"training uses no checkpoint, because loss contains .* generator: use"):
            assert not resumed(path, {"loss": loss})
    assert not path.exists()


def test_later_trainings_keep_their_numbers(tmp_path):
    checkpoint, rows = Checkpoint(tmp_path / "a", seconds=0), (1 for _ in range(100))
    with pytest.warns(UserWarning, match="training uses no checkpoint"):
        fit(module(nn.ReLU()), (X, Y), epochs=1, loss=lambda f, y: next(rows) * f.mean(), checkpoint=checkpoint)
    fit(module(nn.ReLU()), (X, Y), epochs=1, checkpoint=checkpoint)
    assert [path.name for path in tmp_path.iterdir()] == ["a.2"]


def test_equal_content_has_one_description():
    def pairs():
        cycle: list = [1]
        cycle.append(cycle)
        yield from ({1, "a", 2.5}, {"x": torch.arange(3)}, np.arange(4.0), cycle)
        yield from (torch.Generator().manual_seed(3), np.random.default_rng(4), SGD([0.1, 0.2]), MSE(), Weighted())
        yield from (scaled(2.0), Weighted(1.0).__call__, functools.partial(max, 1), nn.functional.mse_loss, torch.ones)

    first, second = ([description(value) for value in pairs()] for _ in range(2))
    assert first == second and len(set(first)) == len(first) == 14


def test_unknown_and_boundless_objects(monkeypatch):
    monkeypatch.setattr("relulab.train.description.MOST", 1000)
    with open(os.devnull) as file:
        for given in (file, (i for i in []), list(range(2000))):
            with pytest.raises(Undescribable):
                description(given)


def test_a_description_is_the_same_in_another_process():
    code = (
        "import torch; from torch import nn; from relulab.train.description import description as d\n"
        "torch.manual_seed(0); factor = {'a', 'b', 'c'}\n"
        "class Loss:\n    def __call__(self, f, y): return f.mean() if 'a' in factor else y.mean()\n"
        "print(d([Loss(), lambda t: t in {1, 'x', 'y'}, nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))]))"
    )
    environments = [{**os.environ, "PYTHONHASHSEED": seed} for seed in "12"]
    running = [
        subprocess.Popen([sys.executable, "-c", code], env=e, stdout=subprocess.PIPE, text=True) for e in environments
    ]
    one, two = (process.communicate()[0] for process in running)
    assert one == two and len(one.strip()) == 64


@functools.lru_cache
def cached(x):
    return 2 * x


def by_cache(x):
    return cached(x)


def by_attribute(x):
    return x.SCALE


def test_a_function_with_a_cache_counts_by_its_code(monkeypatch):
    before = description(by_cache)
    cached(3)
    assert description(by_cache) == before, "what it has cached does not matter"
    monkeypatch.setitem(globals(), "cached", functools.lru_cache(lambda x: 3 * x))
    assert description(by_cache) != before


def test_an_attribute_with_the_name_of_a_global_is_not_that_global(monkeypatch):
    before, of_global = description(by_attribute), description(by_global)
    monkeypatch.setitem(globals(), "SCALE", open)
    assert description(by_attribute) == before and description(by_global) != of_global


def test_a_module_counts_as_it_is_in_memory(tmp_path, monkeypatch):
    """A file that was edited after its import does not tell what runs."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "in_memory.py").write_text("def f(x):\n    return x\n\ndef unused(x):\n    return x\n")
    module = importlib.import_module("in_memory")
    names = {"module": module}
    exec("def use(x):\n    return module.f(x)", names)
    try:
        before = description(names["use"])
        module.unused = len
        assert description(names["use"]) == before
        module.f = lambda x: 2 * x
        assert description(names["use"]) != before
    finally:
        del sys.modules["in_memory"]


def test_a_module_without_a_file_counts_by_its_contents():
    made = []
    for factor in (2, 2, 3):
        module = types.ModuleType("made_up")
        exec(f"def f(x):\n    return {factor} * x", vars(module))
        made.append(description(module))
    assert made[0] == made[1] != made[2]


@pytest.mark.parametrize("file, known", [
    ("/home/user/.local/lib/python3.11/site-packages/made_up/__init__.py", True),
    ("/usr/lib/python3/dist-packages/made_up/__init__.py", True),
    ("/home/user/site/made_up.py", False),
])  # fmt: skip
def test_packages_of_the_user_and_of_the_system_are_installed(file, known, monkeypatch):
    module = types.ModuleType("made_up")
    module.__file__ = file
    monkeypatch.setitem(sys.modules, "made_up", module)
    assert installed.__wrapped__("made_up.part") is known
    monkeypatch.setitem(sys.modules, "__main__", module)
    assert not installed.__wrapped__("__main__"), "a script may be edited wherever it lies"
