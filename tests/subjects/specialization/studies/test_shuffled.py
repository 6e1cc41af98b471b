"""Results of negative controls: shuffled values and students before training."""

import numpy as np
import xarray as xr

from relulab.subjects.specialization.studies.shuffled import before_training, shuffled


def result() -> xr.Dataset:
    values = np.arange(4 * 2 * 6, dtype=float).reshape(4, 2, 6)
    values[:, 0, 4:] = np.nan
    return xr.Dataset(
        {"a": (("seed", "over", "node"), values), "b": (("over", "seed", "node"), values.swapaxes(0, 1)),
         "c": ("seed", np.arange(4.0)), "t": (("epoch", "seed"), np.arange(12.0).reshape(3, 4))},
        coords={"seed": range(4), "epoch": [0, 1, 5]},
    )  # fmt: skip


def test_values_change_places_within_their_row_and_padding_stays():
    made = shuffled(result(), "node")
    assert made.a.dims == result().a.dims and made.c.equals(result().c) and made.t.equals(result().t)
    assert not made.a.equals(result().a) and np.array_equal(np.isnan(made.a), np.isnan(result().a))
    np.testing.assert_array_equal(np.sort(made.a, -1), result().a)
    assert made.a.equals(made.b.transpose(*made.a.dims))  # variables are shuffled together


def test_the_second_seed_of_a_pair_has_the_order_backward():
    a = shuffled(result(), "node", "a").a.isel(over=1).values % 6
    np.testing.assert_array_equal(a[0], a[1][::-1])
    np.testing.assert_array_equal(a[2], a[3][::-1])
    assert not np.array_equal(a[0], a[2])


def test_only_named_variables_change():
    made = shuffled(result(), "node", "a")
    assert made.b.equals(result().b) and not made.a.equals(result().a)


def test_before_training_all_times_show_the_start():
    made = before_training(result())
    assert made.t.dims == ("epoch", "seed") and made.a.equals(result().a)
    np.testing.assert_array_equal(made.t, np.tile(np.arange(4.0), (3, 1)))
