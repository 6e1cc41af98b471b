"""Agreement of functions: counts by hand, intervals that cover as often as they say."""

import pytest
import torch
from torch import nn

from relulab import MLP, UserError
from relulab.subjects.specialization.tools.agreement import agreement


class Table(nn.Module):
    """A network that answers from a table: x is the row."""

    def __init__(self, outputs: torch.Tensor):
        super().__init__()
        self.outputs = outputs

    def forward(self, x):
        return self.outputs[x[:, 0].long()]


def test_counts_and_distances_by_hand():
    f_a = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [0.0, 3.0]])
    f_b = torch.tensor([[1.0, 0.0], [1.0, 0.0], [2.0, 1.0], [0.0, 3.0]])
    x, labels = torch.arange(4.0)[:, None], torch.tensor([0, 1, 0, 0])
    found = agreement(Table(f_a), Table(f_b), x, labels)
    assert (found.same.value, found.largest, found.points) == (0.75, 1.0, 4)
    assert found.distance.value == pytest.approx((2 / 4) ** 0.5)
    spread = float((f_a - f_a.mean(0)).square().sum(1).mean())
    assert found.relative.value == pytest.approx((0.5 / spread) ** 0.5)
    assert (found.accuracy_a.value, found.accuracy_b.value) == (0.75, 0.5)


@pytest.mark.parametrize("labels", [[0, 1, 1], [-1, 1, 1]])
def test_a_single_output_predicts_by_its_sign(labels):
    f_a, f_b, x = torch.tensor([[-1.0], [2.0], [-3.0]]), torch.tensor([[-2.0], [-2.0], [-1.0]]), torch.arange(3.0)
    found = agreement(Table(f_a), Table(f_b), x[:, None], torch.tensor(labels))
    assert found.same.value == pytest.approx(2 / 3) and found.accuracy_a.value == pytest.approx(2 / 3)


def test_the_interval_of_the_distance_covers_the_truth():
    """Gaps from an exponential distribution with mean 1: at least 90 of 100 intervals must contain 1."""
    g, covered = torch.Generator().manual_seed(0), 0
    x = torch.arange(400.0)[:, None]
    for _ in range(100):
        gap = torch.empty(400, 1).exponential_(generator=g).sqrt()
        _, low, high = agreement(Table(torch.zeros(400, 1)), Table(gap), x).distance
        covered += low <= 1 <= high
    assert covered >= 90


@pytest.mark.parametrize("call, says", [
    (lambda x: agreement(MLP((1, 2, 2), lanes=2), MLP((1, 2, 2)), x), "2 lanes"),
    (lambda x: agreement(MLP((1, 2, 2)), MLP((1, 2, 3)), x), "got 2 and 3"),
    (lambda x: agreement(MLP((1, 2, 2)), MLP((1, 2, 2)), x[:1]), "at least 2 points"),
    (lambda x: agreement(MLP((1, 2, 2)), MLP((1, 2, 2)), x, torch.tensor([0, 5])), "from 0 to 1"),
    (lambda x: agreement(MLP((1, 2, 2)), MLP((1, 2, 2)), x, torch.tensor([0.5, 1])), "whole numbers"),
    (lambda x: agreement(MLP((1, 2, 2)), MLP((1, 2, 2)), x, torch.tensor([0])), "one label per point"),
])  # fmt: skip
def test_errors(call, says):
    with pytest.raises(UserError, match=says):
        call(torch.ones(2, 1))
