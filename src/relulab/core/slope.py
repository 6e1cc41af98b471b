"""Least-squares slopes and exponents of power laws."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Num

if TYPE_CHECKING:  # slow to import, and theorems need only ``power``, which does not use it
    import xarray as xr


def power(
    x: Num[np.ndarray, " n"], y: Num[np.ndarray, "n *k"] | list[float], *, fewest: int = 2
) -> Float[np.ndarray, "*k"]:
    """Fit y ∝ x^p and return the exponent p: the least-squares slope of log y against log x.

    The result is NaN for fewer than ``fewest`` points, and where a value is missing or not positive.

    Args:
        x: Positive numbers, (n,).
        y: Positive numbers, (n,), or (n, k) for k quantities that share one x.
        fewest: The smallest number of points for a fit.

    >>> x = np.array([1.0, 2.0, 4.0])
    >>> float(power(x, 3 * x**-0.5).round(12)), power(x, np.stack([x, -x], 1)).round(12).tolist()
    (-0.5, [1.0, nan])
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    good = (np.isfinite(y) & (y > 0)).all(0) & (np.isfinite(x) & (x > 0)).all() & (len(x) >= fewest)
    if not good.any():
        return np.full(y.shape[1:], np.nan)
    # Columns that have no logarithm are replaced by 1 here, so that the others can be fitted.
    return np.where(good, np.polyfit(np.log(x), np.log(np.where(good, y, 1.0)), 1)[0], np.nan)


def slopes(x: "xr.DataArray", y: "xr.DataArray") -> np.ndarray:
    """Return the least-squares slopes of y against x, one for each index of the other dimensions of y.

    The slope is NaN where a value is missing.

    Args:
        x: Values along one dimension.
        y: Values along the dimension of x and others, such as ``seed``.

    >>> import xarray as xr
    >>> x = xr.DataArray([0.0, 1.0, 2.0], dims="x")
    >>> slopes(x, 1 + x * xr.DataArray([3.0, -1.0], dims="seed")).tolist()
    [3.0, -1.0]
    """
    x = x - x.mean()
    return ((x * (y - y.mean(x.dims))).sum(x.dims, skipna=False) / (x**2).sum()).values
