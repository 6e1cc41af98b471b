"""Exact intervals against the binomial distribution itself."""

import pytest
from scipy.stats import binom

from relulab import UserError
from relulab.core.share import clopper_pearson, share


@pytest.mark.parametrize("count, total", [(0, 10), (3, 10), (10, 10), (998, 1000)])
def test_at_each_end_the_observed_count_is_just_unlikely_enough(count, total):
    value, low, high = share(count, total)
    assert low <= value == count / total <= high
    assert low == 0 if count == 0 else binom.sf(count - 1, total, low) == pytest.approx(0.025)
    assert high == 1 if count == total else binom.cdf(count, total, high) == pytest.approx(0.025)


def test_confidence_outside_0_to_1_is_refused():
    with pytest.raises(UserError, match="between 0 and 1"):
        clopper_pearson(1, 2, confidence=95)
