"""Hooks record the output of each ReLU of a module and are removed afterward."""

import pytest
import torch
from torch import nn

from relulab import UserError, hidden, torch_default


def test_an_mlp_and_its_plain_module_show_the_same():
    net = torch_default((3, 4, 5, 2), seeds=[0])
    x = torch.randn(6, 3)
    for lanes, plain in zip(hidden(net, x).values(), hidden(net.module(), x).values(), strict=True):
        torch.testing.assert_close(lanes[0], plain)


def test_a_relu_used_twice_is_two_layers():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.relu = nn.Linear(3, 4), nn.Linear(4, 5), nn.ReLU()

        def forward(self, x):
            return self.relu(self.b(self.relu(self.a(x))))

    activations = hidden(Twice(), torch.randn(6, 3))
    assert [tuple(f.shape) for f in activations.values()] == [(6, 4), (6, 5)]


def test_hooks_are_gone_afterward():
    module = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
    hidden(module, torch.randn(6, 3))
    assert not module[1]._forward_hooks


def test_a_module_without_relu_modules_is_refused():
    with pytest.raises(UserError, match=r"nn\.ReLU"):
        hidden(nn.Sequential(nn.Linear(3, 4), nn.Tanh()), torch.randn(6, 3))


def test_the_module_is_in_eval_mode_meanwhile_and_unchanged_afterward():
    module = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 4), nn.ReLU())
    module[2].eval()
    x = torch.randn(6, 3) + 5
    first, again = hidden(module, x), hidden(module, x)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert module[2].running_mean.abs().max() == 0
    assert module.training and module[3].training and not module[2].training


def test_activations_of_other_shapes_are_refused():
    with pytest.raises(UserError, match=r"\(6, 2, 4\)"):
        hidden(nn.Sequential(nn.Linear(3, 4), nn.ReLU()), torch.randn(6, 2, 3))
