"""The relative difference of two expectations: against a pair-by-pair sum, and its rejection of plain norms."""

import itertools

import numpy as np
import pytest
import torch

from relulab.subjects.specialization.tools.group_gap import GROUPS, GroupGap, group_gap, groups_of


def sides(seed: int = 0, gap: float = 0.5, noise: float = 0.1) -> list[tuple[torch.Tensor, torch.Tensor]]:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((4, 5))
    B = A + gap * rng.standard_normal((4, 5))
    return [tuple(torch.from_numpy(M + noise * rng.standard_normal((4, 5))) for M in (A, B)) for _ in range(GROUPS)]


def ratio(pairs: list) -> float:
    top, bottom = 0.0, 0.0
    for (a, b), (c, d) in itertools.permutations(pairs, 2):
        top += float(((a - b) * (c - d)).sum())
        bottom += float((a * c).sum())
    return top / bottom


def test_it_is_the_mean_over_pairs_of_groups_with_the_error_of_the_jackknife():
    pairs = sides()
    found = group_gap(pairs)
    left_out = [ratio(pairs[:i] + pairs[i + 1 :]) for i in range(GROUPS)]
    error = np.sqrt((GROUPS - 1) / GROUPS * sum((r - np.mean(left_out)) ** 2 for r in left_out))
    assert tuple(found) == pytest.approx((ratio(pairs), error))
    assert found.relative == pytest.approx(found.squared**0.5)


def test_noise_alone_is_not_a_difference():
    found = [group_gap(sides(seed, gap=0.0, noise=1.0)) for seed in range(60)]
    squared = np.array([gap.squared for gap in found])
    assert abs(squared.mean()) < 4 * squared.std() / 60**0.5
    a, b = zip(*sides(0, gap=0.0, noise=1.0), strict=True)
    naive = (torch.stack(a).mean(0) - torch.stack(b).mean(0)).square().sum() / torch.stack(a).mean(0).square().sum()
    assert float(naive) > 4 * squared.std() / 60**0.5  # a plain norm of the means would not be zero


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_sizes_do_not_matter(scale):
    pairs = sides()
    found = group_gap([(scale * a, scale * b) for a, b in pairs])
    assert tuple(found) == pytest.approx(tuple(group_gap(pairs)))


def test_zeros_single_groups_and_few_points():
    zero = torch.zeros(2, 2)
    assert group_gap([(zero, zero)] * GROUPS) == GroupGap(0.0, 0.0)
    assert GroupGap(-1e-3, 4e-4).relative == 0 and GroupGap(-1e-3, 4e-4).relative_error == pytest.approx(0.01)
    assert group_gap(sides()[:1]).error == float("inf")
    x = torch.arange(40.0)[:, None]
    assert torch.equal(torch.cat(groups_of(x)).sort(0).values, x) and len(groups_of(x)) == GROUPS
    assert len(groups_of(x[:15])) == 1
