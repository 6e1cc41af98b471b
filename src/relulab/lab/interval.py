"""Means over seeds with their 95% intervals."""

import numpy as np
import xarray as xr

from relulab.core.errors import UserError
from relulab.lab.claim import half_width


def interval(values: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the mean over seeds and half the width of its 95% interval (Student's t).

    Args:
        values: Values with the dimension "seed". If a seed is NaN, so is the mean.

    Returns:
        The mean m and the half width h, without the dimension "seed": the interval is m ± h.

    >>> mean, half = interval(xr.DataArray([0.0, 1.0, 2.0], dims="seed"))
    >>> float(mean), round(float(half), 2)
    (1.0, 2.48)
    """
    if "seed" not in values.dims:
        raise UserError(
            f"interval: expected values with the dimension 'seed', got the dimensions {values.dims}: rename the one "
            "that counts the seeds, values.rename(lane='seed')"
        )
    n = values.sizes["seed"]
    mean = values.mean("seed", skipna=False)
    return mean, values.std("seed", ddof=1, skipna=False) * half_width(n) if n > 1 else mean * np.nan
