"""The probability that all neurons turn off: exact where it is known, bounded elsewhere."""

import pytest
import torch

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.core.share import clopper_pearson
from relulab.data.labeled import Labeled
from relulab.lab.theorem import Verdict
from relulab.subjects.bias.theorems import surviving_neurons as module
from relulab.subjects.bias.theorems.surviving_neurons import all_off, random_starts, surviving_neurons
from relulab.subjects.bias.tools.orthants import OppositeOrthants


def opposite() -> Labeled:
    return Labeled(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]).double(), torch.tensor([1.0, -1.0]).double())


def test_with_one_point_per_class_at_a_right_angle_the_bound_is_attained():
    """A neuron is off for good exactly if it starts inactive on the point of its sign."""
    data = module._two_points()
    for p in (1, 3):
        start = random_starts(2, p, 200, 0)
        own = torch.where(start.a[..., None] > 0, data.X[0], data.X[1]).mul(start.W).sum(-1)
        expected = int((own <= 0).all(1).sum())
        assert all_off(data.X, data.y, p, 200, 0) == (expected, 0)
        low, high = clopper_pearson(expected, 200, confidence=0.999)
        assert low < 2.0**-p < high


def test_with_opposite_points_every_neuron_survives():
    """A neuron that is driven off the point of the other class becomes active on its own at the same moment."""
    assert all_off(opposite().X, opposite().y, 1, 100, 0) == (0, 0)


def test_copies_survive_or_die_together():
    data = module._two_points()
    assert all_off(data.X, data.y, 3, 100, 0, copies=True)[0] > 30
    start = random_starts(2, 3, 5, 0, copies=True)
    assert torch.equal(start.W[:, 0], start.W[:, 2]) and torch.equal(start.a[:, 0], start.a[:, 1])


def test_starts_are_balanced_and_differ():
    start = random_starts(3, 4, 50, 1)
    torch.testing.assert_close(start.W.norm(dim=-1), start.a.abs())
    assert 60 < int((start.a > 0).sum()) < 140 and not torch.equal(start.W, random_starts(3, 4, 50, 2).W)


def test_a_bound_that_is_attained_is_not_decided_and_few_starts_say_little():
    assert surviving_neurons(module._two_points(), widths=(2,), starts=300).verdict is Verdict.INCONCLUSIVE
    data = OppositeOrthants(3).draw(stream(0, Role.DEMONSTRATION, 19), 8)
    assert surviving_neurons(data, widths=(4,), starts=5).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_the_scale_of_the_points_does_not_matter(scale):
    data = OppositeOrthants(3).draw(stream(0, Role.DEMONSTRATION, 19), 8)
    plain, scaled = (surviving_neurons(Labeled(data.X * s, data.y), widths=(1,), starts=100) for s in (1.0, scale))
    assert scaled.verdict is Verdict.HOLDS and scaled.conclusion[0].measured == plain.conclusion[0].measured


def test_starts_that_are_not_decided_count_for_neither_side(monkeypatch):
    monkeypatch.setattr(module, "STEPS", 1)
    data = OppositeOrthants(3).draw(stream(0, Role.DEMONSTRATION, 19), 8)
    finding = surviving_neurons(data, widths=(1,), starts=100)
    assert finding.verdict is Verdict.INCONCLUSIVE and "undecided" in finding.conclusion[0].detail


def test_widths_must_be_given():
    with pytest.raises(UserError, match="widths from 1"):
        surviving_neurons(opposite(), widths=())
