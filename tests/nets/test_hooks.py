"""Hooks record the output of each ReLU of a module and are removed afterward."""

import pytest
import torch
from torch import nn

from relulab import MLP, UserError, hidden, torch_default
from relulab.nets.activations import BY_NAME, activation_module
from relulab.nets.mlp import as_mlp


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


def test_a_module_without_activation_modules_is_refused():
    with pytest.raises(UserError, match=r"nn\.ReLU"):
        hidden(nn.Sequential(nn.Linear(3, 4), nn.Softmax(1)), torch.randn(6, 3))


@pytest.mark.parametrize("name", BY_NAME)
def test_other_activations_count_too_but_not_at_the_output(name):
    """The outputs of each activation, compared with a pass by hand; at the output only a ReLU counts as a layer."""
    first, last, x = nn.Linear(3, 4), nn.Linear(4, 2), torch.randn(6, 3)
    module = nn.Sequential(first, activation_module(name), last, activation_module(name))
    found = hidden(module, x)
    torch.testing.assert_close(found["1"], activation_module(name)(first(x)).detach())
    assert list(found) == (["1", "3"] if name in ("relu", "leaky_relu", "relu6") else ["1"])


def test_a_subclass_of_mlp_with_its_own_activation_is_not_taken_for_a_relu_network():
    class Tanh(MLP):
        def layers(self, x):
            f = torch.tanh(torch.baddbmm(self.b[0], x.expand(self.lanes, *x.shape[-2:]), self.W[0]))
            return [f, torch.baddbmm(self.b[1], f, self.W[1])]

    class Silent(MLP):
        def forward(self, x):
            return super().forward(x.tanh())

    net, x = Tanh((3, 4, 2), lanes=2), torch.randn(6, 3)
    for p, q in zip(net.parameters(), torch_default((3, 4, 2), seeds=[0, 1]).parameters(), strict=True):
        p.data.copy_(q.data)
    torch.testing.assert_close(hidden(net, x)["1"], torch.tanh(x @ net.W[0] + net.b[0]).detach())
    torch.testing.assert_close(net.lane(1)(x)[0], net(x)[1])
    for refused in (net.module, lambda: as_mlp(net), lambda: hidden(Silent((3, 4, 2)), x)):
        with pytest.raises(UserError, match="its own forward"):
            refused()


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
