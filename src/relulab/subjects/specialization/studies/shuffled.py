"""Results for negative controls: values assigned at random, and students before training."""

import numpy as np
import xarray as xr

from relulab.core.seeds import Role, stream


def shuffled(result: xr.Dataset, dim: str, *names: str, root: int = 0) -> xr.Dataset:
    """Assign the values along a dimension to its places at random, in each seed anew.

    Seeds come in pairs: the second gets the order of the first backward. So if places differ in the same way in all
    seeds, the differences cancel over a pair, and a control does not hold by chance.

    Args:
        result: The result of a study, with the dimension "seed".
        dim: The dimension. Places that are NaN, which pad narrow networks, stay NaN.
        names: Variables to shuffle, all in the same order. Default: all with this dimension.
        root: Root of the random streams.
    """
    chosen = names or tuple(str(name) for name, values in result.items() if {dim, "seed"} <= {*values.dims})
    return result.assign({name: _shuffled(result[name], dim, root) for name in chosen})


def _shuffled(values: xr.DataArray, dim: str, root: int) -> xr.DataArray:
    along = values.transpose("seed", ..., dim)
    rows = along.values.copy().reshape(along.sizes["seed"], -1, along.sizes[dim])
    for place, seed in enumerate(along.seed.values.tolist()):
        for row in rows[place]:
            here = np.flatnonzero(~np.isnan(row))
            order = stream(root, Role.CHANCE, seed // 2).permutation(len(here))
            row[here] = row[here][order[:: -1 if seed % 2 else 1]]
    return along.copy(data=rows.reshape(along.shape)).transpose(*values.dims)


def before_training(result: xr.Dataset, dim: str = "epoch") -> xr.Dataset:
    """Replace the values at all times by those of the start.

    Args:
        result: The result of a study.
        dim: The dimension of time, which starts at 0.
    """
    start = result.sel({dim: 0}, drop=True)
    return result.assign(
        {name: start[name].expand_dims({dim: result[dim]}).transpose(*values.dims)
         for name, values in result.items() if dim in values.dims}
    )  # fmt: skip
