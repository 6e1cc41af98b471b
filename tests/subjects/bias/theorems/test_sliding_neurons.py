"""The motion along kinks: what the windows measure, other scales, and paths that show nothing."""

import pytest
import torch

from relulab.core.errors import UserError
from relulab.data.labeled import Labeled
from relulab.lab.theorem import Verdict
from relulab.nets.initial import balanced
from relulab.subjects.bias.theorems import sliding_neurons as module
from relulab.subjects.bias.theorems.sliding_neurons import sliding_neurons


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_the_scale_of_the_points_does_not_matter(scale):
    data = module._data()
    assert sliding_neurons(Labeled(data.X * scale, data.y), width=8, windows=1).verdict is Verdict.HOLDS


def test_neurons_that_do_not_slide_follow_the_formula_step_by_step():
    """Where no kink is crossed, eqs. 45 and 46 summed over the steps are the motion itself."""
    data = module._data()
    start = balanced((2, 8, 1), [0], size=0.3)
    (window,), _ = module._followed(data.X, data.y, (start.W[0].data, start.W[1].data), 0.02, 10, 1)
    free = window.steady & ~window.kinks.any(1)
    assert free.any()
    motion = (window.pushed * window.active) @ data.X
    torch.testing.assert_close(window.moved[:, free], motion[:, free])
    torch.testing.assert_close(window.a_moved[:, free], window.a_pushed[:, free])


def test_steps_must_be_small():
    with pytest.raises(UserError, match=r"at most 0\.1, got step=0\.5"):
        sliding_neurons(module._data(), step=0.5)


def test_neurons_that_reach_a_kink_within_a_window_are_not_compared():
    """In these windows a neuron moves freely, reaches a kink and then slides, which was taken for a refutation."""
    X = [[2.574023189963745, 0.48179797619192904], [0.6435466245355551, -0.2079266799144402]]
    data = Labeled(torch.tensor(X).double(), torch.tensor([1.0, -1.0]).double())
    assert sliding_neurons(data, width=8, seed=34, windows=1).verdict is Verdict.HOLDS
    z = torch.linspace(1, 0, 5)[:, None, None].double()  # comes from afar, and then jumps from side to side
    jumps = 0.01 * (-1.0) ** torch.arange(20)[:, None, None].double()
    assert not module._sliding(torch.cat([z, jumps]))[0].any()
    assert module._sliding(jumps)[0].all()
