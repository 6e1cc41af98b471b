"""Orthogonal separability: against all pairs one by one, whatever the blocks; the greedy subset; features."""

from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import relulab.subjects.bias.tools.signed_points
from relulab import MLP, UserError, torch_default
from relulab.data.labeled import labeled
from relulab.subjects.bias import separability
from relulab.subjects.bias.tools.all_pairs import tally
from relulab.subjects.bias.tools.features import feature_separability
from relulab.subjects.bias.tools.orthants import OppositeOrthants, SpanningSupports
from relulab.subjects.bias.tools.signed_points import signed

EPS = 2.0**-52


def one_by_one(X, y) -> dict[bool, list[tuple[int, int]]]:
    """The broken pairs i ≤ j of equal (True) and of different labels, straight from eq. (1)."""
    found = {True: [], False: []}
    for i in range(len(X)):
        for j in range(i, len(X)):
            inner = sum(a * b for a, b in zip(X[i].tolist(), X[j].tolist(), strict=True))
            zero = abs(inner) <= X.shape[1] * EPS * np.linalg.norm(X[i]) * np.linalg.norm(X[j])
            same = y[i] == y[j]
            if (inner <= 0 or zero) if same else (inner > 0 and not zero):
                found[bool(same)].append((i, j))
    return found


def cosine(X, i, j) -> float:
    size = np.linalg.norm(X[i]) * np.linalg.norm(X[j])
    return float(X[i] @ X[j] / size) if size else 0.0


def greedy(X, y) -> set[int]:
    """The rule of ``separable_subset`` one point at a time, without anybody coming back."""
    left = set(range(len(X)))
    pairs = [pair for kind in one_by_one(X, y).values() for pair in kind]
    while alive := [pair for pair in pairs if set(pair) <= left]:
        count = {i: sum(i in pair for pair in alive) for i in left}
        left.remove(max(left, key=lambda i: (count[i], -i)))
    return left


def messy(seed: int, n: int = 40, d: int = 4):
    """Data of which many pairs are broken, of all lengths, with a zero point and a point that bears both labels."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-3, 3, (n, 1)), rng.choice([-1.0, 1.0], n)
    X[:, 0] += 2 * y * np.abs(X).sum(1)  # on the whole classes are apart
    X[rng.integers(n)] = 0
    X[1], y[0], y[1] = X[0], 1, -1
    return X, y


@pytest.mark.parametrize("block", [512, 16, 7])
@pytest.mark.parametrize("seed", range(4))
def test_all_pairs_one_by_one(seed, block, monkeypatch):
    monkeypatch.setattr(relulab.subjects.bias.tools.signed_points, "BLOCK", block)
    X, y = messy(seed)
    broken = one_by_one(X, y)
    found = separability(X, y, pairs=7)
    n, equal = len(X), y[:, None] == y
    same, other = np.triu(equal), np.triu(~equal)
    assert found.equal.broken == len(broken[True]) > 0 and found.different.broken == len(broken[False]) > 0
    assert found.equal.count == same.sum() and found.different.count == other.sum()
    assert not found.holds and found.broken == len(broken[True]) + len(broken[False])
    G = X @ X.T
    assert found.equal.inner.inner == pytest.approx(G[same].min(), rel=1e-12)
    assert found.different.inner.inner == pytest.approx(G[other].max(), rel=1e-12)
    assert G[found.equal.inner[:2]] == G[same].min() and G[found.different.inner[:2]] == G[other].max()
    assert found.violation == pytest.approx(max(-G[same].min(), G[other].max()))
    cosines = np.array([[cosine(X, i, j) for j in range(n)] for i in range(n)])
    assert found.equal.cosine.cosine == pytest.approx(cosines[same].min(), abs=1e-14)
    assert found.different.cosine.cosine == pytest.approx(cosines[other].max(), abs=1e-14)
    assert found.cosine_violation == pytest.approx(max(-cosines[same].min(), cosines[other].max()), abs=1e-14)


@pytest.mark.parametrize("separable", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_extremes_are_found_in_whichever_block_they_are(seed, separable, monkeypatch):
    """Norms of one size, so that no block can be told by its norms alone, then of many sizes."""
    monkeypatch.setattr(relulab.subjects.bias.tools.signed_points, "BLOCK", 8)
    rng = np.random.default_rng(seed)
    for sizes in (rng.uniform(1, 2, (160, 1)), 10 ** rng.uniform(-2, 2, (160, 1))):
        y = rng.choice([-1.0, 1.0], 160)
        X = rng.standard_normal((160, 3))
        X = sizes * (np.abs(X) * y[:, None] if separable else X)
        found, G, equal = separability(X, y, subset=False), X @ X.T, y[:, None] == y
        assert found.holds == separable
        assert found.equal.inner.inner == pytest.approx(G[equal].min(), rel=1e-12)
        assert found.different.inner.inner == pytest.approx(G[~equal].max(), rel=1e-12)


def test_every_point_knows_its_broken_pairs(monkeypatch):
    monkeypatch.setattr(relulab.subjects.bias.tools.signed_points, "BLOCK", 16)
    X, y = messy(2)
    pairs = [pair for kind in one_by_one(X, y).values() for pair in kind]
    s = signed(labeled(X, y, strict=False))
    degree = np.zeros(len(X), dtype=int)
    degree[s.order.numpy()] = tally(s, 0).degree
    assert degree.tolist() == [sum(i in pair for pair in pairs) for i in range(len(X))]


@pytest.mark.parametrize("wanted", [0, 1, 5, 10_000])
def test_the_worst_pairs_are_broken_and_in_order(wanted, monkeypatch):
    monkeypatch.setattr(relulab.subjects.bias.tools.signed_points, "BLOCK", 8)
    X, y = messy(5)
    broken = [pair for kind in one_by_one(X, y).values() for pair in kind]
    worst = separability(X, y, pairs=wanted, subset=False).worst
    by_hand = sorted(y[i] * y[j] * cosine(X, i, j) for i, j in broken)[:wanted]
    assert len(worst) == len(set(worst)) == min(wanted, len(broken)) and {p[:2] for p in worst} <= set(broken)
    assert [y[p.i] * y[p.j] * p.cosine for p in worst] == pytest.approx(by_hand, abs=1e-14)
    assert all(p.inner == pytest.approx(X[p.i] @ X[p.j], rel=1e-12) and p.i <= p.j for p in worst)


@pytest.mark.parametrize("kind", [OppositeOrthants(6), SpanningSupports(6)])
def test_data_that_are_separable_by_construction(kind):
    data = kind.draw(np.random.default_rng(0), 80)
    found = separability(data.X, data.y)
    assert found.holds and not found.worst and found.violation == found.cosine_violation == 0
    assert found.kept.tolist() == list(range(80)) and found.equal.inner.inner > 0 > found.different.inner.inner


def test_zero_breaks_equal_labels_and_keeps_different_ones():
    X = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    assert separability(X, [1, -1]).holds
    three = torch.cat([X, -X[:1]])
    found = separability(three, [1, 1, -1])
    assert (found.equal.broken, found.different.broken, found.worst[0][:2]) == (1, 0, (0, 1)) and found.violation == 0


def test_tiny_and_huge_points_have_their_signs():
    X = np.array([[3e-310, 0.0], [1e149, 1e149], [-5e-324, 0.0], [-1e149, -1e-300]])
    found = separability(X, [1, 1, -1, -1])
    assert found.holds and found.equal.cosine.cosine == pytest.approx(2**-0.5)
    assert not separability(X, [1, 1, 1, -1]).holds


def test_a_zero_point_breaks_it_with_itself():
    found = separability([[1.0, 0.0], [0.0, 0.0]], [1, -1])
    assert (found.broken, found.worst) == (1, ((1, 1, 0.0, 0.0),)) and found.kept.tolist() == [0]


@pytest.mark.parametrize("d", [2, 3, 100])
def test_products_that_only_rounding_parts_from_zero_count_as_zero(d):
    """Orthogonal vectors in exact arithmetic, of which the sum in floating point is not zero."""
    rng = np.random.default_rng(d)
    off = 0
    for _ in range(10):
        x = rng.standard_normal(d)
        a, b = x.copy(), x[::-1] * np.where(np.arange(d) < d // 2, 1, -1)  # bᵀa = 0, term by term, for even d
        if d % 2:
            b[d // 2] = 0
        off += a @ b != 0
        assert separability(np.stack([a, b]), [1, -1]).holds
        assert separability(np.stack([a, b, -a - b]), [1, 1, -1]).equal.broken == 1
    assert off or d < 100
    above = np.stack([np.eye(d)[0], 3 * d * EPS * np.eye(d)[0] + np.eye(d)[1]])
    assert not separability(above, [1, -1]).holds


@given(st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_rescaling_rotating_and_permuting_change_nothing(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((12, 3)) + 0.7, rng.permutation([1, -1] * 6)
    before = separability(X, y, pairs=100)
    scaled = separability(X * 10.0 ** rng.uniform(-5, 5, (12, 1)), y, pairs=100)
    turned = separability(X @ np.linalg.qr(rng.standard_normal((3, 3)))[0], y, pairs=100)
    order = rng.permutation(12)
    moved = separability(X[order], y[order], pairs=100)
    for after in (scaled, turned, moved):
        assert (after.equal.broken, after.different.broken) == (before.equal.broken, before.different.broken)
        assert after.cosine_violation == pytest.approx(before.cosine_violation, abs=1e-12)
    assert {p[:2] for p in scaled.worst} == {p[:2] for p in turned.worst} == {p[:2] for p in before.worst}
    assert {frozenset(order[list(p[:2])].tolist()) for p in moved.worst} == {frozenset(p[:2]) for p in before.worst}


@pytest.mark.parametrize("seed", range(4))
def test_the_subset_by_its_rule(seed):
    X, y = messy(seed, 24)
    kept = set(separability(X, y).kept.tolist())
    assert kept >= greedy(X, y) and not any(one_by_one(X[sorted(kept)], y[sorted(kept)]).values())
    for i in set(range(len(X))) - kept:
        rows = sorted({i, *kept})
        assert any(one_by_one(X[rows], y[rows]).values()), "a point that could be added"


def test_many_points_go_in_batches_and_the_subset_holds():
    rng = np.random.default_rng(0)
    data = OppositeOrthants(4).draw(rng, 1500)
    X, y = data.X.numpy().copy(), data.y.numpy().copy()
    wrong = rng.permutation(1500)[:300]
    y[wrong] *= -1
    found = separability(X, y)
    assert set(found.kept.tolist()) == set(range(1500)) - set(wrong.tolist())
    again = separability(X[found.kept], y[found.kept])
    assert again.holds
    noise = rng.standard_normal((2500, 5))
    kept = separability(noise, np.arange(2500) % 2).kept
    assert len(kept) >= 5 and separability(noise[kept], np.arange(2500)[kept] % 2, subset=False).holds


def test_tiny_sets_against_the_largest_subset():
    """Greedy is not the best, but never better than it, and of such small sets it misses few."""
    missed = 0
    for seed in range(12):
        X, y = messy(seed, 9, 3)
        broken = [set(pair) for kind in one_by_one(X, y).values() for pair in kind]
        subsets = (set(some) for k in range(9, 0, -1) for some in combinations(range(9), k))
        largest = next(some for some in subsets if not any(pair <= some for pair in broken))
        missed += len(largest) - len(separability(X, y).kept)
    assert 0 <= missed <= 4


def test_threads_and_torch_are_left_as_they_were():
    X, y = messy(0, 700)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = separability(X, y, subset=False)
        torch.set_num_threads(3)
        assert separability(X, y, subset=False) == one and torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(threads)


def test_features_of_an_mlp_by_layer():
    net = torch_default((3, 6, 5, 1), seeds=[2]).double()
    X, y = torch.randn(20, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64), [0, 1] * 10
    found = feature_separability(net, X, y)
    assert list(found) == ["input", "1", "2"] and [one.d for one in found.values()] == [3, 6, 5]
    first = (X @ net.W[0][0] + net.b[0][0]).clamp(min=0).detach()
    second = (first @ net.W[1][0] + net.b[1][0]).clamp(min=0).detach()
    for one, f in zip(found.values(), (X, first, second), strict=True):
        expected = separability(f, y)
        assert (one.equal.broken, one.different.broken) == (expected.equal.broken, expected.different.broken)
        assert one.cosine_violation == pytest.approx(expected.cosine_violation, abs=1e-12)
        assert torch.equal(one.kept, expected.kept)


def test_features_that_do_not_tell_labels_apart_are_a_violation_and_no_mistake():
    found = feature_separability(MLP((2, 1, 1)), torch.tensor([[1.0, 2.0], [-1.0, 0.5], [3.0, 1.0]]), [1, 0, 1])
    assert found["1"].d == 1 and found["1"].equal.broken == 4 and not len(found["1"].kept)
    twins = separability([[1.0, 1.0], [1.0, 1.0]], [0, 1])
    assert twins.different.broken == 1 and twins.cosine_violation == pytest.approx(1)


def test_a_picture_is_one_feature_vector():
    parts = (nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 1))
    net = nn.Sequential(*parts).double()
    X, y = torch.randn(9, 1, 4, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64), [0, 1, 1] * 3
    found = feature_separability(net, X, y)
    assert {name: (one.n, one.d) for name, one in found.items()} == {"input": (9, 16), "1": (9, 8), "4": (9, 4)}
    assert found["1"][:5] == separability(net[:3](X).detach(), y)[:5]


@pytest.mark.parametrize(
    "X, y, says",
    [
        ([[1.0, 2.0]], [1], "expected labels of two classes"),
        ([[1.0, np.nan], [1.0, 2.0]], [1, 0], "NaN or infinite values in 1 of 2 rows"),
        ([[1.0, 2.0], [1.0, 2.0]], [1, 0, 1], "with one label per point"),
        ([[1e200, 2.0], [1.0, 2.0]], [1, 0], "1e\\+200"),
        (np.zeros((2, 0)), [1, 0], "got d = 0"),
    ],
)
def test_mistakes_are_sentences(X, y, says):
    with pytest.raises(UserError, match=says):
        separability(X, y)


def test_mistakes_of_other_kinds():
    with pytest.raises(UserError, match="expected pairs ≥ 0, got -1"):
        separability([[1.0], [-1.0]], [1, 0], pairs=-1)
    with pytest.raises(UserError, match="expected one network, got 2 lanes"):
        feature_separability(MLP((2, 3, 1), lanes=2), torch.ones(2, 2), [0, 1])
    with pytest.raises(UserError, match="a network with 3 inputs"):
        feature_separability(MLP((3, 3, 1)), torch.ones(2, 2), [0, 1])
    with pytest.raises(UserError, match="failed on points of shape"):
        feature_separability(nn.Sequential(nn.Conv2d(1, 1, 1), nn.ReLU()), torch.ones(2, 2), [0, 1])
