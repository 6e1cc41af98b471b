"""Pairs of points by class, against two loops."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from relulab import UserError
from relulab.subjects.bias.tools.similarity import KINDS, more_alike, pairs


def naive(x: np.ndarray, y: np.ndarray) -> dict[str, list[tuple[float, float]]]:
    found = {kind: [] for kind in KINDS}
    for i in range(len(x)):
        for j in range(i):
            inner = sum(a * b for a, b in zip(x[i], x[j], strict=True))
            size = np.sqrt(sum(x[i] ** 2) * sum(x[j] ** 2))
            kind = f"both {y[i]}" if y[i] == y[j] else "different"
            found[kind].append((inner, inner / size if size else 0.0))
    return found


@settings(deadline=None, max_examples=40)
@given(labels=st.lists(st.integers(0, 1), min_size=1, max_size=9), seed=st.integers(0, 99))
def test_against_two_loops(labels, seed):
    x, y = np.random.default_rng(seed).standard_normal((len(labels), 4)), np.array(labels)
    x[0] = 0  # a point without a direction
    found, expected = pairs(torch.from_numpy(x), torch.from_numpy(y)), naive(x, y)
    for kind in KINDS:
        rows = sorted(zip(found[kind].inner, found[kind].cosine, strict=True))
        np.testing.assert_allclose(np.array(rows).reshape(-1, 2), np.array(sorted(expected[kind])).reshape(-1, 2),
                                   atol=1e-12)  # fmt: skip


def test_what_breaks_orthogonal_separability():
    x = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, -1.0], [0.0, 0.0], [-1.0, -1.0]])
    found = pairs(x, torch.tensor([0, 0, 1, 1, 1]))
    assert found["both 0"].breaking("both 0").tolist() == [False]
    assert found["both 1"].breaking("both 1").tolist() == [True, False, True]  # a product of 0 is not enough
    assert not found["different"].breaking("different").any()  # but here it is
    assert pairs(x.abs(), torch.tensor([0, 0, 1, 1, 1]))["different"].breaking("different").sum() == 3


def test_more_alike_is_the_share_of_comparisons_won():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 9, 50).astype(float), rng.integers(0, 9, 70).astype(float)
    won = np.mean([1.0 if p > q else 0.5 if p == q else 0.0 for p in a for q in b])
    assert more_alike(a, b) == pytest.approx(won, rel=1e-12) and np.isnan(more_alike(a[:0], b))


def test_other_labels_are_refused():
    with pytest.raises(UserError, match=r"expected labels 0 and 1, got \[-1, 1\]"):
        pairs(torch.ones(2, 2), torch.tensor([-1, 1]))
