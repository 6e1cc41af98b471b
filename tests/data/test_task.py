"""Tasks: the points and batches of a seed are bitwise independent of other seeds."""

import numpy as np
import pytest
import torch

from relulab import Gaussian, Task, Uniform, UserError
from relulab.subjects.specialization import teacher


def make(seeds, polarity=1.0, **options) -> Task:
    net = teacher((8, 4, 3), seeds=seeds, polarity=polarity)
    return Task(net, Gaussian(8, 1.5), seeds=seeds, n_train=50, n_held_out=40, **options)


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_seed_7_alone_and_among_32_to_the_bit(fresh, dtype):
    alone, among = make([7], fresh=fresh, dtype=dtype), make(list(range(32)), fresh=fresh, dtype=dtype)
    assert torch.equal(alone.teacher.W[1].data[0], among.teacher.W[1].data[7])
    for a, b in ((alone.train(3), among.train(3)), (alone.held_out(), among.held_out())):
        for one, many in zip(a.of_lane(0), b.of_lane(7), strict=True):
            assert torch.equal(one, many)
    assert torch.equal(alone.batches(3, 5, 4)[0], among.batches(3, 5, 4)[7])


def test_fresh_points_change_with_the_epoch_and_fixed_ones_do_not():
    fixed, fresh = make([0]), make([0], fresh=True)
    assert torch.equal(fixed.train(0).X, fixed.train(1).X)
    assert not torch.equal(fresh.train(0).X, fresh.train(1).X)
    assert not torch.equal(fixed.train(0).X[:, :40], fixed.held_out().X)


def test_lanes_of_one_seed_share_inputs_and_differ_in_targets():
    task = make([5, 5], polarity=[0.0, 2.0])
    points = task.train()
    assert points.X.shape == (1, 50, 8) and points.Y.shape == (2, 50, 3)
    assert not torch.equal(points.Y[0], points.Y[1])


def test_targets_are_the_teachers_outputs():
    task = make([0, 1], dtype=torch.float64)
    x, y = task.held_out().of_lane(1)
    torch.testing.assert_close(y, task.teacher.module(1)(x), rtol=1e-12, atol=1e-12)


def test_targets_of_many_points_are_computed_in_parts(monkeypatch):
    whole = make([0, 1], dtype=torch.float64).train()
    monkeypatch.setattr("relulab.data.task.LARGEST", 7)
    parts = make([0, 1], dtype=torch.float64).train()
    assert torch.equal(whole.X, parts.X)
    torch.testing.assert_close(whole.Y, parts.Y, rtol=1e-12, atol=1e-12)


def test_batches_cover_all_points_with_replacement():
    rows = make([0]).batches(0, 1000, 4)
    counts = np.bincount(rows.flatten(), minlength=50)
    # 4,000 draws from 50: mean 80, standard deviation 8.9; six of them leave chance no say
    assert len(counts) == 50 and abs(counts - 80).max() < 6 * 8.9


@pytest.mark.parametrize("inputs, spread", [(Gaussian(2, 3.0), 3.0), (Uniform(2, 3.0), 3.0**0.5)])
def test_inputs_have_the_stated_spread(inputs, spread):
    x = inputs.draw(np.random.default_rng(0), 20_000)
    assert abs(x.std() - spread) < 5 * spread / np.sqrt(2 * x.size)


def test_disagreeing_sizes_are_refused():
    net = teacher((8, 4, 3), seeds=[0, 1])
    with pytest.raises(UserError, match="expected one seed per lane of the teacher"):
        Task(net, Gaussian(8), seeds=[0])
    with pytest.raises(UserError, match="got dimension 9"):
        Task(net, Gaussian(9), seeds=[0, 1])


def test_inputs_need_a_dimension_and_a_spread():
    for wrong in (lambda: Gaussian(0), lambda: Gaussian(3, std=-1.0), lambda: Uniform(3, half=0.0)):
        with pytest.raises(UserError, match=r"expected (d of at least 1|std above 0|half above 0)"):
            wrong()


def test_seeds_out_of_range_are_refused():
    for seed in (-1, 2**32):
        with pytest.raises(UserError, match=r"expected seeds from 0 to 2³² − 1 = 4294967295, got"):
            teacher((8, 4, 3), seeds=[seed])
