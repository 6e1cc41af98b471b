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
    with pytest.raises(UserError, match=r"x\.npy: expected nonempty points of shape .*, got \("):
        read_points(tmp_path / "x.npy")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_nan_and_infinite_points_are_refused(tmp_path, ending, value):
    x = X.copy()
    x[4, 2] = value
    path = tmp_path / f"x.{ending}"
    np.save(path, x) if ending == "npy" else np.savez(path, x)
    with pytest.raises(UserError, match=r"is NaN or infinite in 1 of \d+ entries, first at index \[4, 2\]") as refusal:
        read_points(path)
    assert path.name in str(refusal.value)


@pytest.mark.parametrize("name", ["x.csv", "x.txt", "x.pkl", "x"])
def test_other_endings(tmp_path, name):
    (tmp_path / name).write_text("1,2,3\n")
    with pytest.raises(UserError, match=r"expected a \.safetensors, \.npz or \.npy file"):
        read_points(tmp_path / name)
