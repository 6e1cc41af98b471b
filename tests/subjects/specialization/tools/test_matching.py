"""One-to-one matchings against all permutations."""

from itertools import permutations

import pytest
import torch

from relulab.subjects.specialization.tools.matching import one_to_one


@pytest.mark.parametrize("m, n", [(4, 4), (3, 5), (5, 3)])
def test_no_other_matching_has_a_larger_sum(m, n):
    rho = torch.rand(m, n, generator=torch.Generator().manual_seed(m * n))
    partner = one_to_one(rho)
    used = [k for k in partner.tolist() if k >= 0]
    assert len(used) == len(set(used)) == min(m, n)
    total = sum(float(rho[j, k]) for j, k in enumerate(partner.tolist()) if k >= 0)
    wide = rho if m <= n else rho.T
    best = max(sum(float(wide[j, k]) for j, k in enumerate(p)) for p in permutations(range(max(m, n)), min(m, n)))
    assert total == pytest.approx(best)
