"""The BatchNorm layers of modules, and where they stand."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from relulab.nets.batch_norm_layers import BatchNormLayer, Place, batch_norm_layers, by_statistics, kind_of


class Block(nn.Module):
    """A residual block, whose modules are not declared in the order of their calls, and a BatchNorm after its ReLU."""

    def __init__(self):
        super().__init__()
        self.last, self.second, self.first = nn.BatchNorm2d(3), nn.BatchNorm2d(3), nn.BatchNorm2d(3)
        self.one, self.two = (nn.Conv2d(3, 3, 3, padding=1) for _ in range(2))
        self.bare = nn.BatchNorm2d(3, affine=False)

    def forward(self, x):
        y = F.relu(self.first(self.one(x)))
        y = self.second(self.two(y)) + self.bare(x)
        return self.last(F.max_pool2d(torch.relu(y), 2))


class Odd(nn.Module):
    """A module that cannot be traced."""

    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(2, 12), nn.BatchNorm1d(12)

    def forward(self, x):
        return self.norm(self.linear(x)).relu() if float(x.sum()) > 0 else x


def found(net: nn.Module) -> list[tuple[str, str]]:
    return [(layer.name, layer.place.value) for layer in by_statistics(batch_norm_layers(net))]


def test_layers_in_the_order_of_their_calls():
    net = nn.Sequential(Block(), nn.Flatten(), nn.Linear(12, 3), nn.BatchNorm1d(3), nn.Dropout(), nn.LeakyReLU())
    assert found(net) == [
        ("0.first", "before a ReLU"), ("0.second", "before an addition"), ("0.last", "after a ReLU"),
        ("3", "before a ReLU"),
    ]  # fmt: skip


def test_neither_before_nor_after_a_relu():
    assert found(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Tanh())) == [("1", "elsewhere")]
    assert found(nn.Sequential(nn.ReLU(), nn.BatchNorm1d(3), nn.ReLU())) == [("1", "before a ReLU")]


def test_a_module_that_cannot_be_traced_tells_by_its_running_means():
    net = Odd()
    assert found(net) == [("norm", "unknown")]  # as at the start
    net.norm.running_mean.copy_(torch.linspace(0.1, 1, 12))
    assert found(net) == [("norm", "after a ReLU")]
    net.norm.running_mean[3] = -0.1
    assert found(net) == [("norm", "before a ReLU")]


def test_few_units_may_have_positive_means_by_chance():
    layer = BatchNormLayer("bn", torch.zeros(9), None, torch.ones(9))
    assert by_statistics([layer, layer._replace(mean=None)])[0].place is Place.UNKNOWN


@pytest.mark.parametrize(("name", "kind"), [
    ("relu_", "relu"), ("LeakyReLU", "relu"), ("AdaptiveAvgPool2d", "same"), ("Dropout1d", "same"),
    ("MaxPooling2D", "same"), ("ZeroPadding2D", "same"), ("adaptive_avg_pool1d", "same"), ("Add", "addition"),
    ("iadd", "addition"), ("Conv2d", "other"), ("gelu", "other"), ("", "other"),
])  # fmt: skip
def test_kinds_of_operations(name, kind):
    assert kind_of(name) == kind
