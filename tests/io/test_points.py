"""Reading points: by name or as the only array, finite, and of a shape that networks accept."""

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from relulab import UserError, read_points

X = np.random.default_rng(0).standard_normal((7, 3))


def test_an_array_alone(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.savez(tmp_path / "x.npz", whatever=X)
    save_file({"whatever": torch.from_numpy(X)}, tmp_path / "x.safetensors")
    for name in ("x.npy", "x.npz", "x.safetensors"):
        points = read_points(tmp_path / name)
        assert points.dtype == torch.float64 and np.array_equal(points.numpy(), X)


@pytest.mark.parametrize("name", ["X", "x", "data", "inputs", "points", "features", "images"])
def test_an_array_among_others_by_its_name(tmp_path, name):
    np.savez(tmp_path / "x.npz", **{"A": X + 1, name: X, "y": np.arange(7)})
    assert np.array_equal(read_points(tmp_path / "x.npz").numpy(), X)


def test_images_and_integers(tmp_path):
    pictures = np.arange(2 * 1 * 4 * 4, dtype=np.uint8).reshape(2, 1, 4, 4)
    np.save(tmp_path / "x.npy", pictures)
    assert np.array_equal(read_points(tmp_path / "x.npy").numpy(), pictures)


def test_several_arrays_without_a_known_name_are_refused(tmp_path):
    np.savez(tmp_path / "x.npz", a=X, b=X)
    with pytest.raises(UserError, match=r"expected points named X in .*x\.npz, got a, b: rename"):
        read_points(tmp_path / "x.npz")


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4), (0, 3), (3, 0), (1, 2, 3, 4, 5)])
def test_invalid_shapes_are_refused(tmp_path, shape):
    np.save(tmp_path / "x.npy", np.ones(shape))
    with pytest.raises(
        UserError, match=r"x\.npy(: expected nonempty points of shape .*, got| contains no points.*) \("
    ):
        read_points(tmp_path / "x.npy")


@pytest.mark.parametrize("value, says", [
    (np.nan, r"column 2 has missing values \(NaN\) in 1 of 7 rows, first in row 4 .* add --drop-missing"),
    (np.inf, "expected finite points, got infinite values in 1 of 7 rows, first in row 4"),
    (-np.inf, "expected finite points, got infinite values in 1 of 7 rows, first in row 4"),
])  # fmt: skip
@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_nan_and_infinite_points_are_refused(tmp_path, ending, value, says):
    x = X.copy()
    x[4, 2] = value
    path = tmp_path / f"x.{ending}"
    np.save(path, x) if ending == "npy" else np.savez(path, x)
    with pytest.raises(UserError, match=says) as refusal:
        read_points(path)
    assert path.name in str(refusal.value)


def test_missing_values_in_arrays_can_be_dropped(tmp_path):
    x = X.copy()
    x[4, 2] = np.nan
    np.save(tmp_path / "x.npy", x)
    assert np.array_equal(read_points(tmp_path / "x.npy", drop_missing=True), np.delete(X, 4, axis=0))
    images = np.ones((3, 1, 2, 2))
    images[1, 0, 1, 1] = np.nan
    np.savez(tmp_path / "x.npz", X=images, y=[0, 1, 2])
    with pytest.raises(UserError, match=r"the array of images has missing values .* in 1 of 3 rows, first in row 1"):
        read_points(tmp_path / "x.npz")
    assert read_points(tmp_path / "x.npz", drop_missing=True).shape == (2, 1, 2, 2)


@pytest.mark.parametrize("name", ["x.xlsx", "x.pkl", "x"])
def test_other_endings(tmp_path, name):
    (tmp_path / name).write_text("1,2,3\n")
    with pytest.raises(UserError, match=r"expected a \.csv, \.tsv, .* file, or an idx file, got"):
        read_points(tmp_path / name)


def test_the_number_of_inputs_is_checked(tmp_path):
    np.save(tmp_path / "x.npy", X)
    assert read_points(tmp_path / "x.npy", inputs=3).shape == (7, 3)
    with pytest.raises(UserError, match=r"expected 2 columns, one per input, got 3: select .* --label, .* --drop"):
        read_points(tmp_path / "x.npy", inputs=2)
    with pytest.raises(UserError, match="expected 4 columns, one per input, got 3: use points with as many columns"):
        read_points(tmp_path / "x.npy", inputs=4)
    assert np.array_equal(read_points(tmp_path / "x.npy", label=-1, inputs=2), X[:, :2])
    assert np.array_equal(read_points(tmp_path / "x.npy", drop=[0], inputs=2), X[:, 1:])
