"""Mistakes in the arguments of training: each is reported in one sentence, and what is clear is accepted.

The cases run in a process without the checks of types that the other tests have, as they do for users.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

PRELUDE = """
import json, sys, warnings
import numpy as np, torch, relulab as rl
from collections import namedtuple
from torch import nn

X, Y = torch.randn(37, 4), torch.randn(37, 4)
Pair = namedtuple("Pair", "first second")

def linear(inputs=4, outputs=4):
    torch.manual_seed(0)
    return nn.Linear(inputs, outputs)

def mlp():
    return rl.torch_default((4, 5, 4), [0])

def fit(net=None, data=(X, Y), epochs=1, **options):
    net = linear() if net is None else net
    rl.fit(net, data, epochs=epochs, **options)
    return net

def reading(value):
    return [rl.Probe([0], lambda net: value)]

class Exits(nn.Module):
    def __init__(self, pack):
        super().__init__()
        self.inner, self.pack = linear(), pack

    def forward(self, x):
        return self.pack(self.inner(x))

def exits(pack, take):
    net = Exits(pack)
    read = rl.fit(net, (X, Y), epochs=1, loss=lambda f, y: (take(f) - y).square().mean(),
                  meters={"m": lambda f, y: take(f).mean()})
    assert read.m.shape == (1,)
    return net.inner

def same(net):
    other = fit(loss=nn.MSELoss())
    assert torch.equal(other.weight, net.weight), "trained otherwise"

def no_grad(mode):
    net = linear()
    with mode:
        return fit(net, loss=nn.MSELoss())

def scheduled(schedule):
    schedule.by = "steps"
    return schedule

def inferred():
    with torch.inference_mode():
        return linear()
"""
MISTAKES = {
    "fit(optimizer=torch.optim.SGD(linear().parameters()))": "an optimizer of relulab, got torch.optim.SGD: use",
    "fit(optimizer='adam')": "an optimizer of relulab, got 'adam'",
    "fit(optimizer=rl.SGD)": "an optimizer of relulab, got the class SGD",
    "rl.SGD('fast')": "a learning rate, or one per lane, got lr='fast'",
    "rl.SGD(None)": "a learning rate, or one per lane, got lr=None",
    "fit(loss=rl.MSE)": r"got the class MSE: add parentheses, MSE\(\)",
    "fit(loss=nn.MSELoss)": r"got the class MSELoss: add parentheses",
    "fit(loss='mse')": r"or a function loss.outputs, targets., got 'mse': did you mean relulab.MSE\(\)\?",
    "fit(loss='cross-entropy')": r"got 'cross-entropy': did you mean relulab.CrossEntropy\(\)\?",
    "fit(loss=lambda f: 0)": r"a function of two arguments or None, got the function <lambda>\(f\)",
    "rl.SGD(lr=lambda epoch: 1.0)": "SGD: .* got a function: pass a number as lr, and .* as schedule",
    "rl.sgd(mlp(), rl.TensorTask(X, Y), epochs=1, lr=abs)": "sgd: .* got a function: pass a number as lr",
    "rl.SGD([])": "expected a learning rate, or one per lane, got none",
    "rl.Probe([0], rl.MLP)": r"got the class MLP",
    "rl.Probe([0], lambda: {})": "Probe: expected measure to be a function of one argument",
    "fit(schedule=.5)": "expected a schedule, which is a function of the epoch, got 0.5",
    "fit(schedule=rl.Cosine)": "expected a schedule, .* got the class Cosine",
    "rl.StepDecay(every=1, by='steps')": """expected by="epoch" or by="step" in a schedule, got by='steps'""",
    "rl.Cosine(length=1, by='epochs')": "got by='epochs'",
    "fit(schedule=scheduled(lambda t: 1.0))": "got by='steps'",
    "fit(epochs=1.5)": "expected a whole number for epochs, got 1.5",
    "fit(batch=2.5)": "expected a whole number for batch, got 2.5",
    "fit(steps='2')": "expected a whole number for steps, got '2'",
    "rl.Probe([0.5], print)": r"Probe: expected epochs to be a sequence of integers, got \[0.5\]",
    "rl.Probe(steps=[0, 1.5], measure=print)": r"Probe: expected steps to be a sequence of integers, got \[0, 1.5\]",
    "fit(lambda x: x)": "expected a torch.nn.Module to train, got function",
    "fit(data=X)": "expected a task, or a pair of inputs and targets, got Tensor",
    "fit(data=(X, Y, Y))": "a pair of inputs and targets, got 3 values",
    "rl.TensorTask(X[:20], Y, seeds=[0, 1])": r"one target per point, got inputs of shape \(20, 4\) and .* \(37, 4\)",
    "fit(data=(X, Y[:20]))": r"one target per point, got inputs of shape \(37, 4\) and targets of shape \(20, 4\)",
    "rl.TensorTask(X, torch.tensor(1.0))": r"expected Y to be a tensor or array of shape \(N, …\), got a float",
    "fit(data=(X, torch.arange(37)[:, None] % 4))": r"classes as integers of shape \(N,\), got .* \(37, 1\)",
    "fit(mlp(), (X, torch.arange(37)[:, None] % 4))": r"classes as integers of shape \(N,\), got .* \(37, 1\)",
    "fit(mlp(), (X, Y[:, :, None]))": r"expected targets of shape \(N, 4\) for an MLP, got \(37, 4, 1\)",
    "fit(mlp(), (X[:, None], Y))": r"real numbers of shape \(N, 4\) as inputs of an MLP, got .* \(37, 1, 4\)",
    "fit(data=(X.clone().requires_grad_(), Y))": "got inputs with requires_grad=True: pass them with .detach",
    "fit(mlp(), (X.clone().requires_grad_(), Y))": "got inputs with requires_grad=True",
    "fit(probes=reading(1.0))": "expected a dictionary from a probe, .* got float",
    "fit(probes=reading({'a': 1.0}))": "expected dimensions and values of 'a' from a probe, .* got float",
    "fit(probes=reading({'a': X}))": "expected dimensions and values of 'a' from a probe, .* got Tensor",
    "fit(probes=reading({'a': ((), X)}))": r"one name for every dimension of 'a' .* values of shape \(37, 4\)",
    "fit(probes=reading({'a': ((), None)}))": "a tensor, an array or a number as the values of 'a' .* NoneType",
    "fit(probes=reading({'loss': ((), 1.0)}), meters={'loss': lambda f, y: f.mean()})": "got 'loss' for both",
    "fit(meters={'m': lambda f, y: (f - y).square().mean(-1)})": r"one number from the meter 'm', .* shape \(16,\)",
    "fit(mlp(), meters={'m': lambda f, y: f.mean(-1)})": r"one per lane, \(1,\), from the meter 'm', .* \(1, 16\)",
    "fit(linear(5))": r"takes batches of shape \(16, 4\) .* Linear failed on one \(mat1 and mat2 shapes",
    "fit(inferred(), loss=nn.MSELoss())": r"got a Linear created in torch.inference_mode\(\)",
    "fit(checkpoint='nowhere/a.checkpoint')": "got nowhere/a.checkpoint, whose folder does not exist: create",
    "fit(checkpoint='.')": "expected a file for the checkpoint, got the folder .: give",
}
ACCEPTED = [
    "assert rl.small_normal((np.int64(2), 3, 1), np.arange(2), std=np.float32(.1), bias=np.True_).lanes == 2",
    "assert rl.small_normal(np.array([2, 3, 1]), {4, 5}, root=np.uint8(3)).lanes == 2",
    "assert list(rl.hidden(mlp(), [[1., 2., 3., 4.]])) == ['1'] == list(rl.hidden(mlp(), X.numpy()))",
    "assert rl.Gaussian(np.int32(2)).draw(np.random.RandomState(0), np.int64(3)).shape == (3, 2)",
    "assert rl.specialization.recovered(torch.ones(2, 2), torch.tensor(.5)).all()",
    "same(fit(loss=nn.MSELoss(), optimizer=rl.SGD(torch.tensor(.01, dtype=torch.float64))))",
    "same(fit(loss=nn.MSELoss(), optimizer=rl.SGD(np.float64(.01))))",
    "assert rl.SGD(np.float32(.5)).lr == rl.Adam(torch.tensor(.5)).lr == rl.SGD(np.array(.5)).lr == .5",
    "assert rl.SGD(torch.tensor([.5, .25])).lr == (.5, .25)",
    "same(fit(loss=nn.MSELoss(), data=[X, Y]))",
    "same(fit(loss=nn.MSELoss(), data=(X.numpy(), Y.numpy())))",
    "same(fit(loss=nn.MSELoss(), data=(X.double().numpy(), Y.double().numpy())))",
    "same(fit(loss=nn.MSELoss(), data=rl.TensorTask(X.numpy()[::-1][::-1], Y.numpy())))",
    "same(fit(loss=nn.MSELoss(), epochs=np.int64(1), batch=16.0))",
    "same(no_grad(torch.no_grad()))",
    "same(no_grad(torch.inference_mode()))",
    "same(exits(lambda f: {'first': f, 'none': None}, lambda f: f['first']))",
    "same(exits(lambda f: Pair(f, f), lambda f: f.first))",
    "same(exits(lambda f: [f, (f, f)], lambda f: f[1][0]))",
    "fit(probes=reading({'a': ((), 1.0), 'b': (['x'], np.arange(3))}))",
    "fit(data=(X, torch.arange(74).view(37, 2) % 4), loss=lambda f, y: nn.functional.cross_entropy(f, y[:, 0]))",
]
RUN = """
answers = {}
for code in json.load(sys.stdin):
    try:
        exec(code)
        answers[code] = None
    except Exception as error:
        answers[code] = [type(error).__name__, str(error)]
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> dict:
    """What each piece of code raises, or None."""
    folder: Path = tmp_path_factory.mktemp("mistakes")
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + RUN], input=json.dumps([*MISTAKES, *ACCEPTED]), cwd=folder, text=True,
        capture_output=True,
    )  # fmt: skip
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("code", MISTAKES)
def test_a_mistake_is_reported_in_one_sentence(code, answers):
    assert answers[code] is not None, "accepted"
    kind, says = answers[code]
    assert kind == "UserError" and re.search(MISTAKES[code], says), f"{kind}: {says}"
    assert "\n" not in says


@pytest.mark.parametrize("code", ACCEPTED)
def test_what_is_clear_is_accepted(code, answers):
    assert answers[code] is None
