"""Shuffled results, for controls of claims on a trend."""

import numpy as np
import xarray as xr


def shuffled(values: xr.DataArray, dim: str) -> xr.DataArray:
    """Exchange the values of every seed at random along a dimension, in the same way for all other dimensions.

    Args:
        values: The values, with the dimension ``seed``.
        dim: The dimension along which values are exchanged.

    >>> a = xr.DataArray([[1, 2, 3], [4, 5, 6]], dims=("seed", "kappa"))
    >>> sorted(shuffled(a, "kappa").values[1].tolist()) == [4, 5, 6]
    True
    """
    rng = np.random.default_rng(0)
    orders = [rng.permutation(values.sizes[dim]) for _ in range(values.sizes["seed"])]
    parts = [values.isel({"seed": i, dim: order}) for i, order in enumerate(orders)]
    parts = [part.assign_coords({dim: values[dim]}) if dim in values.coords else part for part in parts]
    return xr.concat(parts, "seed").transpose(*values.dims).assign_coords(values.coords)
