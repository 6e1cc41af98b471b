"""Least-squares slopes: how fast one quantity follows another, and with which power."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Num

if TYPE_CHECKING:  # it takes long to import, and theorems, which need powers alone, do not use it
    import xarray as xr


def power(
    x: Num[np.ndarray, " n"], y: Num[np.ndarray, "n *k"] | list[float], *, fewest: int = 2
) -> Float[np.ndarray, "*k"]:
    """The power with which y changes with x: the slope of log y on log x, by least squares.

    NaN from fewer than ``fewest`` points, and where a number is missing or has no logarithm.

    Args:
        x: n positive numbers.
        y: as many, or a column each for several that go with one x.
        fewest: points below which no power is given.

    >>> x = np.array([1.0, 2.0, 4.0])
    >>> float(power(x, 3 * x**-0.5).round(12)), power(x, np.stack([x, -x], 1)).round(12).tolist()
    (-0.5, [1.0, nan])
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    good = (np.isfinite(y) & (y > 0)).all(0) & (np.isfinite(x) & (x > 0)).all() & (len(x) >= fewest)
    if not good.any():
        return np.full(y.shape[1:], np.nan)
    # A column without a logarithm must not stop the others.
    return np.where(good, np.polyfit(np.log(x), np.log(np.where(good, y, 1.0)), 1)[0], np.nan)


def slopes(x: "xr.DataArray", y: "xr.DataArray") -> np.ndarray:
    """The slope of y on x by least squares, for every place along the other dimensions; NaN where a value is missing.

    Args:
        x: along one dimension.
        y: along that one and others, such as seeds.

    >>> import xarray as xr
    >>> x = xr.DataArray([0.0, 1.0, 2.0], dims="x")
    >>> slopes(x, 1 + x * xr.DataArray([3.0, -1.0], dims="seed")).tolist()
    [3.0, -1.0]
    """
    x = x - x.mean()
    return ((x * (y - y.mean(x.dims))).sum(x.dims, skipna=False) / (x**2).sum()).values
