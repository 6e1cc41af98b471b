"""MNIST is found in the usual folders, and the error for missing files is one line."""

import gzip
import struct

import numpy as np
import pytest

from relulab import UserError
from relulab.data.mnist import mnist, mnist_files

COUNTS = {"train": 12, "t10k": 7}


def idx(array) -> bytes:
    return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def contents(stem: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(len(stem))
    n = COUNTS[stem]
    return {"images-idx3": rng.integers(0, 256, (n, 28, 28), dtype=np.uint8),
            "labels-idx1": rng.integers(0, 3, n, dtype=np.uint8)}  # fmt: skip


def lay(folder, dash: str = "-", packed: bool = False) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for stem in COUNTS:
        for name, array in contents(stem).items():
            path = folder / f"{stem}-{name.replace('-idx', f'{dash}idx')}-ubyte{'.gz' if packed else ''}"
            path.write_bytes(gzip.compress(idx(array)) if packed else idx(array))


@pytest.mark.parametrize("place", ["mnist", "MNIST/raw", "MNIST", ""])
@pytest.mark.parametrize("dash, packed", [("-", False), ("-", True), (".", False), (".", True)])
def test_found_in_every_layout(tmp_path, monkeypatch, place, dash, packed):
    lay(tmp_path / place, dash, packed)
    monkeypatch.setenv("RELULAB_DATA", str(tmp_path))
    for part, stem in (("train", "train"), ("held out", "t10k")):
        images, labels = mnist(part)
        assert np.array_equal(images, contents(stem)["images-idx3"])
        assert np.array_equal(labels, contents(stem)["labels-idx1"])


def test_some_classes_alone(tmp_path):
    lay(tmp_path / "mnist")
    everything, some = mnist("train", folder=tmp_path), mnist("train", (0, 2), tmp_path)
    kept = [i for i, label in enumerate(everything.labels) if label in (0, 2)]
    assert 0 < len(kept) < len(everything.labels)
    assert np.array_equal(some.labels, everything.labels[kept]) and np.array_equal(some.images, everything.images[kept])


@pytest.mark.parametrize("value", [None, ""])
def test_without_the_variable(monkeypatch, value):
    monkeypatch.delenv("RELULAB_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("RELULAB_DATA", value)
    with pytest.raises(
        UserError,
        match=r"RELULAB_DATA is not set: download the four idx files.*set the environment variable RELULAB_DATA=DIR$",
    ):
        mnist_files()


def test_the_error_names_missing_files_and_searched_folders(tmp_path):
    lay(tmp_path / "mnist")
    (tmp_path / "mnist" / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(UserError) as error:
        mnist("train", folder=tmp_path)
    message = str(error.value)
    assert (
        f"{tmp_path} does not contain t10k-labels-idx1-ubyte (searched there and in its subfolders mnist, " in message
    )
    assert "train-images" not in message and "RELULAB_DATA=DIR" in message and "\n" not in message
    with pytest.raises(UserError, match=r"does not contain train-images-idx3-ubyte, train-labels-idx1-ubyte, "):
        mnist_files(tmp_path / "nowhere")


def test_files_that_do_not_belong_together(tmp_path):
    lay(tmp_path)
    path = tmp_path / "train-labels-idx1-ubyte"
    path.write_bytes(idx(np.zeros(5, np.uint8)))
    with pytest.raises(UserError, match=r"got 12 images in .* and 5 labels in"):
        mnist("train", folder=tmp_path)
    path.write_bytes(idx(np.zeros((12, 1), np.uint8)))
    with pytest.raises(UserError, match=r"labels of shape \(N,\), got \(12, 28, 28\) in .* and \(12, 1\) in"):
        mnist("train", folder=tmp_path)
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(np.zeros((12, 32, 32), np.uint8)))
    with pytest.raises(UserError, match=r"expected MNIST images of shape \(N, 28, 28\) .*, got \(12, 32, 32\)"):
        mnist("train", folder=tmp_path)
