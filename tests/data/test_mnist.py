"""MNIST: found where people have it, and one sentence when it is not there."""

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
    whole, some = mnist("train", folder=tmp_path), mnist("train", (0, 2), tmp_path)
    kept = [i for i, label in enumerate(whole.labels) if label in (0, 2)]
    assert 0 < len(kept) < len(whole.labels)
    assert np.array_equal(some.labels, whole.labels[kept]) and np.array_equal(some.images, whole.images[kept])


@pytest.mark.parametrize("value", [None, ""])
def test_without_the_variable(monkeypatch, value):
    monkeypatch.delenv("RELULAB_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("RELULAB_DATA", value)
    with pytest.raises(UserError, match=r"RELULAB_DATA is not set: get the four idx files.*set RELULAB_DATA=DIR$"):
        mnist_files()


def test_what_is_missing_is_named_and_where_it_was_sought(tmp_path):
    lay(tmp_path / "mnist")
    (tmp_path / "mnist" / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(UserError) as error:
        mnist("train", folder=tmp_path)
    said = str(error.value)
    assert f"t10k-labels-idx1-ubyte is missing below {tmp_path} (looked there and in mnist, MNIST/raw" in said
    assert "train-images" not in said and "RELULAB_DATA=DIR" in said and "\n" not in said
    with pytest.raises(
        UserError, match=r"train-images-idx3-ubyte and train-labels-idx1-ubyte and .* are missing below"
    ):
        mnist_files(tmp_path / "nowhere")


def test_files_that_do_not_belong_together(tmp_path):
    lay(tmp_path)
    path = tmp_path / "train-labels-idx1-ubyte"
    path.write_bytes(idx(np.zeros(5, np.uint8)))
    with pytest.raises(UserError, match="12 pictures and 5 labels"):
        mnist("train", folder=tmp_path)
    path.write_bytes(idx(np.zeros((12, 1), np.uint8)))
    with pytest.raises(UserError, match="a label for each"):
        mnist("train", folder=tmp_path)
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(np.zeros((12, 32, 32), np.uint8)))
    with pytest.raises(UserError, match="pictures of 28 × 28"):
        mnist("train", folder=tmp_path)
