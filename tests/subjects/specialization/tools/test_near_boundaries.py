"""Teacher-aware inputs: their distances from boundaries, and their random streams in a task."""

import numpy as np
import pytest
import torch

from relulab import Gaussian, Task, UserError, sgd, small_normal
from relulab.subjects.specialization import NearBoundaries, Nodes, lowest, teacher

M, D = 3, 8


def make(lane: int = 0, **options) -> NearBoundaries:
    return NearBoundaries(lowest(teacher((D, M, 2), seeds=[4, 5], bias=-0.7), lane), **options)


def distances(inputs: NearBoundaries, x: np.ndarray, each: int) -> np.ndarray:
    """Signed distance of every row from the boundary of its node, which is the next one every ``each`` rows."""
    w, b = inputs.nodes.w.numpy(), inputs.nodes.b.numpy()
    return np.array([(x[i] @ w[j] + b[j]) / np.linalg.norm(w[j]) for i in range(len(x)) for j in [i // each % len(w)]])


def test_one_of_three_points_is_on_the_boundary_and_two_are_at_equal_distance():
    inputs = make(low=2.0, high=4.0)
    signed = distances(inputs, inputs.unscaled(np.random.default_rng(0), 900), 3).reshape(300, 3)
    assert abs(signed[:, 0]).max() < 1e-12 and abs(signed[:, 1] + signed[:, 2]).max() < 1e-12
    alpha = signed[:, 1]
    assert 2 <= alpha.min() < 2.1 and 3.9 < alpha.max() <= 4
    assert abs(alpha.mean() - 3) < 5 * np.sqrt(4 / 12 / 300)  # U[2, 4]


def test_points_beside_the_boundary_only():
    inputs = make(low=1.0, high=1.5, on_boundary=False)
    signed = distances(inputs, inputs.unscaled(np.random.default_rng(0), 100), 2)
    assert (abs(signed) >= 1).all() and (abs(signed) <= 1.5).all() and (np.sign(signed) == [1, -1] * 50).all()


@pytest.mark.parametrize("n", [1, 2, 10, 31])
def test_any_number_of_points_with_equal_norms(n):
    x = make(std=1.5).draw(np.random.default_rng(0), n)
    assert x.shape == (n, D) and x.dtype == np.float64
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1.5 * np.sqrt(D))


def test_scaling_changes_lengths_only():
    inputs = make()
    before, after = (draw(np.random.default_rng(3), 60) for draw in (inputs.unscaled, inputs.draw))
    np.testing.assert_allclose(after / np.linalg.norm(after, axis=1)[:, None],
                               before / np.linalg.norm(before, axis=1)[:, None], atol=1e-14)  # fmt: skip


def test_rescaled_nodes_give_the_same_points():
    short = make()
    long = NearBoundaries(Nodes(5 * short.nodes.w, 5 * short.nodes.b))
    np.testing.assert_allclose(*(i.draw(np.random.default_rng(0), 9) for i in (short, long)), atol=1e-13)


def test_wrong_sizes_and_dead_nodes_raise_an_error():
    for options in ({"std": 0.0}, {"low": 3.0, "high": 2.0}, {"low": -1.0}, {"high": float("inf")}):
        with pytest.raises(UserError, match="0 ≤ low ≤ high"):
            make(**options)
    with pytest.raises(UserError, match="1 of 1 nodes have zero weights and so no boundary, the first is node 0"):
        NearBoundaries(Nodes(torch.zeros(1, 3), torch.zeros(1)))


def task(seeds: list[int], **options) -> Task:
    """Each seed twice: aware, then agnostic."""
    lanes = [seed for seed in seeds for _ in range(2)]
    star, plain = teacher((D, M, 2), seeds=lanes), Gaussian(D, 1.5)
    inputs = [plain if i % 2 else NearBoundaries(lowest(star, i)) for i in range(len(lanes))]
    return Task(star, inputs, held_out_inputs=plain, seeds=lanes, n_train=30, n_held_out=20, **options)


def test_a_seed_gives_the_same_bits_alone_and_among_others():
    alone, among = task([7]), task([2, 7, 9])
    for single, several in ((alone.train(), among.train()), (alone.held_out(), among.held_out())):
        for lane in (0, 1):
            for a, b in zip(single.of_lane(lane), several.of_lane(2 + lane), strict=True):
                assert torch.equal(a, b)
    batches = among.batches(3, 5, 4)
    assert torch.equal(alone.batches(3, 5, 4), batches[2:4])


def test_the_two_kinds_share_batches_and_held_out_points_but_no_training_points():
    both = task([7])
    aware, agnostic = (both.train().of_lane(lane)[0] for lane in (0, 1))
    assert not torch.equal(aware, agnostic) and torch.equal(*both.batches(0, 5, 4))
    assert both.train().X.shape == (2, 30, D) and both.held_out().X.shape == (1, 20, D)
    torch.testing.assert_close(aware.norm(dim=1), torch.full((30,), 1.5 * D**0.5))


def test_agnostic_lanes_train_as_they_would_without_the_aware_ones():
    both = task([7], dtype=torch.float64)
    plain = Task(teacher((D, M, 2), seeds=[7]), Gaussian(D, 1.5), seeds=[7], n_train=30, dtype=torch.float64)
    two, one = (small_normal((D, 6, 2), t.seeds, dtype=torch.float64) for t in (both, plain))
    for student, data in ((two, both), (one, plain)):
        sgd(student, data, epochs=2, steps=50)
    torch.testing.assert_close(two.W[0].data[1], one.W[0].data[0], rtol=1e-12, atol=1e-12)
    assert not torch.allclose(two.W[0].data[0], one.W[0].data[0])


def test_inputs_are_one_or_one_a_lane():
    star = teacher((D, M, 2), seeds=[0, 1])
    with pytest.raises(UserError, match="got 3 for 2 lanes"):
        Task(star, [Gaussian(D)] * 3, seeds=[0, 1])
    with pytest.raises(UserError, match="dimension 9"):
        Task(star, Gaussian(D), held_out_inputs=[Gaussian(D), Gaussian(9)], seeds=[0, 1])
