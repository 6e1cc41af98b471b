"""Teachers of Luck Matters: the entries, norms and biases that the paper states, and one stream per seed."""

import numpy as np
import pytest
import torch

from relulab import UserError
from relulab.subjects.specialization.tools.luck_teacher import luck_teacher

WIDTHS = (20, 50, 75, 100)


def on_the_grid(column: torch.Tensor) -> bool:
    """Entries in ratios of {−2, …, 2}: the smallest nonzero one is 1 or 2 steps of the grid."""
    smallest = column.abs()[column != 0].min()
    steps = [column / smallest * unit for unit in (1, 2)]
    return any(bool((s - s.round()).abs().max() < 1e-9 and s.abs().max() < 2.5) for s in steps)


def test_filters_are_distinct_grid_vectors_of_norm_one():
    net = luck_teacher(WIDTHS, seeds=[5])
    for W in net.W:
        columns = W.data[0]
        torch.testing.assert_close(columns.norm(dim=0), torch.ones(columns.shape[1], dtype=torch.float64))
        assert all(on_the_grid(column) for column in columns.T)
        cosines = (columns.T @ columns).fill_diagonal_(0)
        assert float(cosines.abs().max()) < 1 - 1e-9
    assert not on_the_grid(torch.tensor([1.0, 0.4, 0.0]))


def test_all_five_entries_are_equally_frequent():
    # The first filters of the stream of a seed, before they are scaled.
    net = luck_teacher((400, 200, 1), seeds=[2])
    W = net.W[0].data[0]
    steps = (W / W.abs().where(W != 0, torch.inf).amin(0)).round()
    shares = [float((steps == value).double().mean()) for value in range(-2, 3)]
    assert np.abs(np.array(shares) - 0.2).max() < 5 * (0.2 * 0.8 / W.numel()) ** 0.5


def test_biases_are_uniform_and_the_lanes_are_independent():
    alone, together = luck_teacher(WIDTHS, seeds=[7]), luck_teacher(WIDTHS, seeds=[3, 7])
    for p, q in zip(alone.parameters(), together.parameters(), strict=True):
        assert torch.equal(p[0], q[1]) and not torch.equal(q[0], q[1])
    biases = torch.cat([b.data.flatten() for b in luck_teacher((20, 3000, 1), seeds=[0]).b][:1])
    assert float(biases.abs().max()) <= 0.5
    assert abs(float(biases.mean())) < 4 * (1 / 12 / 3000) ** 0.5
    assert float(biases.var()) == pytest.approx(1 / 12, rel=0.1)


def test_a_root_of_its_own_and_too_many_filters():
    assert not torch.equal(luck_teacher((4, 3, 1), seeds=[0]).W[0], luck_teacher((4, 3, 1), seeds=[0], root=1).W[0])
    with pytest.raises(UserError, match="could not draw 3 filters"):
        luck_teacher((1, 3, 1), seeds=[0])
