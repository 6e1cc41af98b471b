"""Slopes compared with explicit sums, and NaN for undefined slopes."""

import numpy as np
import pytest
import xarray as xr

from relulab.core.slope import power, slopes


def by_hand(x, y):
    """Covariance over variance."""
    x, y = x - x.mean(), y - y.mean()
    return (x * y).sum() / (x * x).sum()


def test_a_power_is_the_slope_of_the_logarithms():
    rng = np.random.default_rng(0)
    x, y = np.exp(rng.standard_normal((2, 9)))
    assert power(x, y) == pytest.approx(by_hand(np.log(x), np.log(y)), rel=1e-12)
    assert power(x, y) != pytest.approx(by_hand(np.log(x), y), rel=1e-3)
    assert power(x, 5 * x**-1.5) == pytest.approx(-1.5, rel=1e-12)


def test_columns_are_fitted_independently():
    x = np.array([1.0, 2.0, 3.0, 7.0])
    together = power(x, np.stack([x**2, 0 * x, x**-1, np.where(x > 2, np.nan, x)], 1))
    assert together[[0, 2]] == pytest.approx([2.0, -1.0])
    assert np.isnan(together[[1, 3]]).all()


@pytest.mark.parametrize(("x", "y"), [
    ([1.0], [2.0]), ([1.0, 2.0], [1.0, 0.0]), ([0.0, 2.0], [1.0, 1.0]), ([1.0, 2.0], [np.nan, 1.0]),
    ([1.0, np.inf], [1.0, 1.0]), ([], []),
])  # fmt: skip
def test_undefined_exponents_are_nan(x, y):
    assert np.isnan(power(np.array(x), np.array(y)))


def test_the_smallest_number_of_points_can_be_set():
    x = np.array([1.0, 2.0])
    assert power(x, x) == pytest.approx(1.0) and np.isnan(power(x, x, fewest=3))


def test_slopes_of_every_seed():
    rng = np.random.default_rng(1)
    x, y = xr.DataArray(rng.standard_normal(5), dims="n"), xr.DataArray(rng.standard_normal((3, 5)), dims=("seed", "n"))
    assert slopes(x, y) == pytest.approx([by_hand(x.values, row) for row in y.values], rel=1e-12)
    y[1, 2] = np.nan
    fitted = slopes(x, y)
    assert np.isnan(fitted).tolist() == [False, True, False]
