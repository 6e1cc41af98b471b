"""Shapes and types are checked in every call of relulab that the tests make; an int may stand where a float is due."""

import struct
import sys

import numpy as np
import pytest
import torch
from jaxtyping import install_import_hook

install_import_hook("relulab", "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))")

# A process a core is how the tests run; a second thread would only wait, for minutes where the other core is busy.
torch.set_num_threads(1)


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    """Calls the command line in an empty folder: gives exit code, stdout and stderr."""
    from relulab.lab.cli import main

    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["relulab", *words])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code or 0, *capsys.readouterr()

    return call


@pytest.fixture(scope="session")
def made_up_digits(tmp_path_factory):
    """Rings for zeros, strokes for ones, squares for twos, as idx files in the layout of torchvision."""
    root, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    raw = root / "MNIST" / "raw"
    raw.mkdir(parents=True)
    rows, columns = np.mgrid[:28, :28] - 13.5
    distance = np.hypot(rows, columns)
    shapes = [abs(distance - 8) < 2, (abs(columns) < 2) & (abs(rows) < 10), abs(rows) + abs(columns) < 8]

    def idx(array: np.ndarray) -> bytes:
        return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()

    for stem, n in (("train", 270), ("t10k", 36)):
        labels = rng.permutation(np.arange(n) % 3).astype(np.uint8)
        images = np.stack([np.roll(shapes[label] * 255, rng.integers(-2, 3, 2), (0, 1)) for label in labels])
        (raw / f"{stem}-images-idx3-ubyte").write_bytes(idx(images.astype(np.uint8)))
        (raw / f"{stem}-labels-idx1-ubyte").write_bytes(idx(labels))
    return root


@pytest.fixture(scope="session")
def made_up_data(made_up_digits):
    """The made-up digits, and two networks with BatchNorm: with depth, biases fall in one and not in the other.

    Also pictures in the format of CIFAR-10, where each class has a color of its own.
    """
    rng, folder = np.random.default_rng(1), made_up_digits / "nets"
    folder.mkdir()
    pictures = made_up_digits / "cifar-10-batches-bin"
    pictures.mkdir()
    colors = rng.integers(0, 200, (10, 3, 1))
    for name, n in (("data_batch_1", 300), ("test_batch", 120)):
        labels = rng.permutation(np.arange(n) % 10)
        pixels = colors[labels] + rng.integers(0, 56, (n, 3, 1024))
        records = np.concatenate([labels[:, None], pixels.reshape(n, -1)], 1).astype(np.uint8)
        (pictures / f"{name}.bin").write_bytes(records.tobytes())
    for name, drop, layers in (("falling", 0.5, 7), ("flat", 0.0, 6)):
        tensors = {}
        for l in range(layers):
            n = 8 * (1 + l)
            mean = rng.standard_normal(n) if name == "falling" else rng.random(n) + 0.1
            parts = {"weight": rng.random(n) + 0.5, "bias": rng.standard_normal(n) - drop * l, "running_mean": mean}
            tensors |= {f"bn{l}.{part}": v for part, v in {**parts, "running_var": np.ones(n)}.items()}
        np.savez(folder / f"{name}.npz", **tensors)
    return made_up_digits
