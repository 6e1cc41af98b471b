"""Inputs that are constant on the points become biases."""

import pytest
import torch

from relulab import UserError, torch_default
from relulab.subjects.specialization.tools.constant_inputs import fold_constant_inputs


def test_outputs_at_the_points_stay_the_same():
    nets = [torch_default((6, 5, 3), seeds=[seed], dtype=torch.float64) for seed in (0, 1)]
    x = torch.randn(20, 6, generator=torch.Generator().manual_seed(0)).double()
    x[:, 2], x[:, 5] = 0.7, 0.0
    kept, folded = fold_constant_inputs(x, *nets)
    assert kept.shape == (20, 4) and [net.widths for net in folded] == [(4, 5, 3)] * 2
    for net, smaller in zip(nets, folded, strict=True):
        torch.testing.assert_close(smaller(kept), net(x))
        assert net.widths == (6, 5, 3)


def test_nothing_changes_without_constant_inputs_and_equal_points_are_refused():
    net, x = torch_default((2, 3, 1), seeds=[0]), torch.eye(2)
    kept, (same,) = fold_constant_inputs(x, net)
    assert kept is x and same is net
    with pytest.raises(UserError, match="all points are the same"):
        fold_constant_inputs(torch.ones(4, 2), net)
