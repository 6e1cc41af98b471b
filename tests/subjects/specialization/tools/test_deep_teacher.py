"""Teachers of the deep studies: a naive twin, half-active nodes, standardized outputs, and one stream per seed."""

from itertools import pairwise

import numpy as np
import pytest
import torch

import relulab as rl
from relulab import UserError
from relulab.core.seeds import Role, stream
from relulab.subjects.specialization.tools.deep_teacher import deep_teacher

WIDTHS, N = (12, 6, 7, 8, 5), 400


def held_out(seed: int, std: float = 10.0) -> np.ndarray:
    return rl.Gaussian(WIDTHS[0], std).draw(stream(0, Role.HELD_OUT, seed, 0), N)


def naive(seed: int, p: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """The construction of the release, node by node: weights (out, in), and random biases before they are tuned."""
    rng, other, x = stream(0, Role.TEACHER, seed), np.random.default_rng(5), held_out(seed)
    layers = []
    for l, (n, k) in enumerate(pairwise(WIDTHS)):
        rows: list[np.ndarray] = []
        while len(rows) < k:
            row = rng.choice([-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1], size=n)
            same = [abs(row @ r) > (1 - 1e-12) * np.linalg.norm(row) * np.linalg.norm(r) for r in rows]
            if row.any() and not any(same):
                rows.append(row)
        for row in rows:
            for i in range(n):
                row[i] /= (1 + i) ** (p if l else 0)
            row /= np.sqrt(sum(row**2))
        layers.append((np.array(rows), other.uniform(-0.5, 0.5, k)))
    for l in range(len(layers) - 1):
        f = x
        for W, b in layers[:l]:
            f = np.maximum(f @ W.T + b, 0)
        W, b = layers[l]
        for k in range(len(b)):
            b[k] -= np.median(f @ W[k] + b[k])
    W, b = layers[-1]
    f = x
    for below in layers[:-1]:
        f = np.maximum(f @ below[0].T + below[1], 0)
    y = f @ W.T + b
    layers[-1] = (W / y.std(0)[:, None], (b - y.mean(0)) / y.std(0))
    return layers


@pytest.mark.parametrize("p", [0.0, 1.5])
def test_the_same_as_a_naive_construction(p):
    net = deep_teacher(WIDTHS, seeds=[4], polarity=p, n_held_out=N)
    for (W, b), W_l, b_l in zip(naive(4, p), net.W, net.b, strict=True):
        np.testing.assert_allclose(W_l.data[0].T.numpy(), W, rtol=0, atol=1e-12)
        np.testing.assert_allclose(b_l.data[0, 0].numpy(), b, rtol=0, atol=1e-10)
    other = naive(4, p + 0.1)
    assert abs(net.W[1].data[0].T.numpy() - other[1][0]).max() > 0.01


@pytest.mark.parametrize("inputs", [None, rl.Uniform(WIDTHS[0], 15)])
def test_on_held_out_points_nodes_are_half_active_and_outputs_standardized(inputs):
    seeds = [0, 3]  # with few nodes, some receive the same value at many points
    net = deep_teacher((WIDTHS[0], 16, 18, 20, 5), seeds=seeds, inputs=inputs, n_held_out=N)
    task = rl.Task(net, inputs or rl.Gaussian(WIDTHS[0], 10), seeds=seeds, n_train=10, n_held_out=N,
                   dtype=torch.float64)  # fmt: skip
    points = task.held_out()
    for i in range(2):
        *f, y = (f_l.detach() for f_l in net.lane(i).layers(points.of_lane(i)[0]))
        assert all(bool(((f_l[0] > 0).sum(0) == N // 2).all()) for f_l in f)
        assert float(y[0].mean(0).abs().max()) < 1e-12
        assert float((y[0].std(0, correction=0) - 1).abs().max()) < 1e-12
        new = rl.Gaussian(WIDTHS[0], 3).draw(np.random.default_rng(0), N)
        assert not all(bool(((f_l[0] > 0).sum(0) == N // 2).all()) for f_l in net.lane(i).layers(torch.tensor(new)))


def test_strengths_fall_with_the_polarity_in_all_layers_but_the_first():
    flat, steep = (deep_teacher((20, 30, 30, 40), seeds=[1], polarity=p, n_held_out=N) for p in (0, 2))
    for l in (1, 2):
        first, last = steep.W[l].data[0][:5].norm(), steep.W[l].data[0][-5:].norm()
        assert float(first) > 100 * float(last)
        assert float(flat.W[l].data[0][:5].norm()) < 2 * float(flat.W[l].data[0][-5:].norm())
    assert torch.equal(flat.W[0], steep.W[0])


def test_a_lane_depends_on_its_seed_and_polarity_only():
    both = deep_teacher(WIDTHS, seeds=[7, 7, 2], polarity=[0, 1, 1], n_held_out=N)
    for i, (seed, p) in enumerate(((7, 0.0), (7, 1.0), (2, 1.0))):
        alone = deep_teacher(WIDTHS, seeds=[seed], polarity=p, n_held_out=N)
        assert all(torch.equal(a[0], b[i]) for a, b in zip(alone.parameters(), both.parameters(), strict=True))
    assert not torch.equal(both.W[1][0], both.W[1][1]) and not torch.equal(both.W[0][1], both.W[0][2])
    assert not torch.equal(deep_teacher(WIDTHS, seeds=[7], root=1, n_held_out=N).W[0][0], both.W[0][0])


@pytest.mark.parametrize("call, says", [
    (lambda: deep_teacher((4, 2), seeds=[0]), "add a width"),
    (lambda: deep_teacher((4, 3, 2), seeds=[0], n_held_out=1), "n_held_out"),
    (lambda: deep_teacher((4, 3, 2), seeds=[0], inputs=rl.Gaussian(5)), "dimension 5"),
    (lambda: deep_teacher((4, 3, 2), seeds=[0, 1], polarity=[1.0] * 3), "3 polarities for 2 seeds"),
    (lambda: deep_teacher((4, 3, 2), seeds=[]), "at least one seed"),
])  # fmt: skip
def test_bad_input_is_named(call, says):
    with pytest.raises(UserError, match=says):
        call()
