"""A negative control of studies that measure networks before and after training."""

import xarray as xr


def untrained(result: xr.Dataset) -> xr.Dataset:
    """Replace everything that was measured after training by what was measured before.

    Args:
        result: A result with the dimension ``when``, which has the values ``start`` and ``end``.

    >>> result = xr.Dataset({"share": ("when", [0.1, 0.9])}, coords={"when": ["start", "end"]})
    >>> untrained(result).share.sel(when="end").item()
    0.1
    """
    return result.sel(when=["start", "start"]).assign_coords(when=["start", "end"])
