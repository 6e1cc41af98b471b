"""What networks, tasks and results look like in a notebook."""

import numpy as np
import pytest
import torch
from torch import nn

import relulab as rl
from relulab.core.short_repr import brief
from relulab.data.task import Points
from relulab.flow.trajectory import Trajectory
from relulab.subjects.specialization.instruments.history import History
from relulab.subjects.specialization.tools.observation import Observation

DATA = rl.labeled(torch.tensor([[1.0, 2.0], [2.0, 1.0], [-1.0, -3.0]]), ["yes", "yes", "no"])
CHECKS = rl.Check("It is small", 0.5, "<=", 1.0), rl.Check("It is zero", 0.5, "==", 0.0)


def twins() -> rl.MLP:
    """Three hidden nodes, two of them with the same hyperplane, and one with zero weights."""
    net = rl.MLP((1, 4, 1), dtype=torch.float64)
    net.W[0].data[0], net.W[1].data[0] = torch.tensor([[1.0, 2.0, -1.0, 0.0]]), torch.ones(4, 1)
    return net


REPRS = {
    "MLP(100-20-50, 8 lanes, float32)": lambda: rl.MLP((100, 20, 50), lanes=8),
    "MLP(2-3-1, 1 lane, float64, no biases, slope 0.1)": lambda: rl.MLP(
        (2, 3, 1), bias=False, slope=0.1, dtype=torch.float64
    ),
    "Residual(2-3-1, 2 lanes, float32, depth 4)": lambda: rl.Residual((2, 3, 1), depth=4, lanes=2),
    "Task(MLP(2-3-1, 1 lane, float32), Gaussian(d=2, std=1.5), 10,000 training points, 50 held-out, float32)": lambda: (
        rl.Task(rl.MLP((2, 3, 1)), rl.Gaussian(2, 1.5), seeds=[0], n_held_out=50)
    ),
    "Task(MLP(2-3-1, 2 lanes, float32), 2 input distributions, 1 training point, new ones in every epoch, 10,000 "
    "held-out, float64)": lambda: rl.Task(
        rl.MLP((2, 3, 1), lanes=2), [rl.Gaussian(2), rl.Uniform(2)], seeds=[0, 1], n_train=1, fresh=True,
        dtype=torch.float64,
    ),
    "LabeledTask(1 lane, 3 points with 2 inputs, float32)": lambda: rl.LabeledTask([DATA], seeds=[0]),
    "TensorTask(8 points, inputs (1, 4, 4), 3 classes, float32, 2 lanes)": lambda: rl.TensorTask(
        torch.zeros(8, 1, 4, 4), torch.arange(8) % 3, seeds=[0, 1]
    ),
    "TensorTask(8 points, inputs (2,), targets (3,), float32, 1 lane)": lambda: rl.TensorTask(
        torch.zeros(8, 2), torch.zeros(8, 3)
    ),
    "Labeled(3 points with 2 inputs: 1 of class no and 2 of class yes)": lambda: DATA,
    "Points(X=float32 (1, 9, 2), Y=float32 (3, 9, 1), group=[0, 0, 0])": lambda: Points(
        torch.zeros(1, 9, 2), torch.zeros(3, 9, 1), torch.zeros(3, dtype=torch.int64)
    ),
    "Finding: REFUTED, the conditions hold, the conclusion does not\n"
    "  ✓ condition: It is small: measured 0.5, must be at most 1\n"
    "  ✗ conclusion: It is zero: measured 0.5, must be 0": lambda: rl.Finding(CHECKS[:1], CHECKS[1:]),
    "Theorem(IB.L3: Neurons do not leave extremal sectors, IB lemma 3)": lambda: rl.find_theorem("IB.L3"),
    "Groups(4 nodes in 2 groups, 1 with several, 1 node with zero weights)": lambda: rl.specialization.groups(twins()),
    "Trajectory(2 snapshots from t = 0 to 2: w (2, 1), loss (2,); the end)": lambda: Trajectory(
        np.array([0.0, 2.0]), {"w": np.array([[4.0], [1.0]]), "loss": np.array([8.0, 0.5])}, says="the end"
    ),
    "History(layer 1: 2 snapshots, 1 teacher node, 3 student nodes, 1 recovered)": lambda: History(
        "1", torch.tensor([[[0.1, 0.2, 0.3]], [[0.99, 0.2, 0.3]]]), None
    ),
    "Observation(2 lanes, 1 teacher node, 3 student nodes: mean best correlation 0.75, mean loss 0.5)": lambda: (
        Observation(torch.tensor([[[0.5, 0, 0]], [[1.0, 0, 0]]]), torch.tensor([0.25, 0.75]), torch.zeros(2, 3))
    ),
    "Nodes(w=float64 (2, 3), b=[0, 0])": lambda: rl.specialization.Nodes(
        torch.zeros(2, 3).double(), torch.zeros(2).double()
    ),
    "Box(low=[-0.5, -0.5], high=[0.5, 0.5])": lambda: rl.specialization.Box.around(2, 0.5),
    "Separability(3 points with 2 inputs: separable)": lambda: rl.bias.separability(DATA.X, DATA.y),
    "Bound(value=0.75, beta=0.7854)": lambda: rl.distillation.transfer_bound(rl.distillation.PolynomialAngles(), 2),
    "MSE()": rl.MSE,
    "CrossEntropy(soft=True)": lambda: rl.CrossEntropy(soft=True),
    "Logistic()": rl.Logistic,
}  # fmt: skip


@pytest.mark.parametrize("text", REPRS)
def test_repr(text):
    assert repr(REPRS[text]()) == text


def test_a_network_in_a_network_is_one_line():
    assert repr(nn.Sequential(rl.MLP((2, 3, 1)))) == "Sequential(\n  (0): MLP(2-3-1, 1 lane, float32)\n)"


def test_a_pruned_network():
    text = repr(rl.specialization.prune(twins(), torch.linspace(-1, 1, 9).double()[:, None]))
    assert text.startswith("Pruned(MLP(1-2-1, 1 lane, float64) from 4 nodes in 2 groups: lost ") and len(text) < 200


def test_a_subclass_has_its_own_name():
    class Own(rl.MLP):
        pass

    assert repr(Own((2, 3, 1))) == "Own(2-3-1, 1 lane, float32)"


def test_brief():
    assert [brief(x) for x in (torch.zeros(7), torch.tensor(0.5), None, "a", (1, [2.0]), {})] == [
        "float32 (7,)", "0.5", "None", "'a'", "(1, [2])", "{}"
    ]  # fmt: skip
