"""Shuffled weights: the same numbers in another order, and correlations that say what chance gives."""

import numpy as np
import pytest
import torch
from torch import nn

from relulab import UserError, torch_default
from relulab.subjects.specialization.tools.chance import chance_correlations, shuffled


def test_a_shuffled_network_has_the_same_weights_in_another_order():
    net = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 2))
    other = shuffled(net, np.random.default_rng(0))
    for p, q in zip(net.parameters(), other.parameters(), strict=True):
        assert torch.equal(p.flatten().sort().values, q.flatten().sort().values)
    assert not torch.equal(net[0].weight, other[0].weight)


def test_chance_is_below_the_correlation_with_a_copy_and_like_that_with_a_stranger():
    a, stranger = torch_default((20, 16, 3), seeds=[0]), torch_default((20, 16, 3), seeds=[1])
    x = torch.randn(2000, 20, generator=torch.Generator().manual_seed(0))
    chance = chance_correlations(a, stranger, x, draws=6)["1"]
    assert chance.shape == (6, 1, 16) and chance.max() < 0.9
    assert torch.equal(chance, chance_correlations(a, stranger, x, draws=6)["1"])
    assert not torch.equal(chance, chance_correlations(a, stranger, x, draws=6, root=1)["1"])
    with pytest.raises(UserError, match="at least one draw"):
        chance_correlations(a, stranger, x, draws=0)
