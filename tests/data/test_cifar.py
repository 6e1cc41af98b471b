"""CIFAR in its binary version: read byte by byte by hand, found where it may be, and one sentence for what is wrong."""

import os

import numpy as np
import pytest
import torch

from relulab import UserError, cifar
from relulab.data.cifar import cifar_files
from relulab.data.standardized import channel_statistics, standardized

BATCHES = "cifar-10-batches-bin"
HUNDRED = "cifar-100-binary"
RECORD = 1 + 3 * 32 * 32


def record(rng: np.random.Generator, *labels: int) -> bytes:
    return bytes(labels) + rng.integers(0, 256, 3 * 32 * 32, dtype=np.uint8).tobytes()


def batch(seed: int, count: int = 3) -> bytes:
    """Records of CIFAR-10 with the labels seed, seed + 1, …"""
    rng = np.random.default_rng(seed)
    return b"".join(record(rng, (seed + i) % 10) for i in range(count))


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Two of the five training batches and the test batch of CIFAR-10, with names, and CIFAR-100 without."""
    (tmp_path / BATCHES).mkdir()
    (tmp_path / HUNDRED).mkdir()
    for name, seed in (("data_batch_2", 2), ("data_batch_5", 5), ("test_batch", 0)):
        (tmp_path / BATCHES / f"{name}.bin").write_bytes(batch(seed))
    (tmp_path / BATCHES / "batches.meta.txt").write_text("".join(f"class {i}\n" for i in range(10)) + "\n")
    rng = np.random.default_rng(0)
    for name in ("train", "test"):
        content = record(rng, 19, 99) + record(rng, 0, 7)
        (tmp_path / HUNDRED / f"{name}.bin").write_bytes(content)
    monkeypatch.setenv("RELULAB_DATA", str(tmp_path))
    return tmp_path


def test_every_byte_is_in_its_place(data):
    train = cifar(10, "train")
    content = batch(2) + batch(5)
    assert train.images.shape == (6, 3, 32, 32) and train.images.dtype == train.labels.dtype == np.uint8
    for n, channel, row, column in ((0, 0, 0, 0), (1, 2, 31, 30), (4, 1, 5, 17), (5, 2, 31, 31)):
        assert train.images[n, channel, row, column] == content[n * RECORD + 1 + channel * 1024 + row * 32 + column]
    assert train.labels.tolist() == [2, 3, 4, 5, 6, 7] and train.coarse is None and train.coarse_names == ()
    assert train.files == ("data_batch_2.bin", "data_batch_5.bin")
    assert train.names == tuple(f"class {i}" for i in range(10))
    held_out = cifar(10, "held out")
    assert held_out.labels.tolist() == [0, 1, 2] and held_out.files == ("test_batch.bin",)


def test_fine_and_coarse_classes(data):
    train = cifar(100, "train")
    content = (data / HUNDRED / "train.bin").read_bytes()
    assert train.labels.tolist() == [99, 7] and train.coarse.tolist() == [19, 0] and train.names == ()
    assert train.images[1].tobytes() == content[2 + 3072 + 2 :]
    (data / HUNDRED / "fine_label_names.txt").write_text("\n".join(f"fine {i}" for i in range(100)))
    (data / HUNDRED / "coarse_label_names.txt").write_text("\n".join(f"coarse {i}" for i in range(20)))
    held_out = cifar(100, "held out", classes=[7])
    assert (held_out.labels.tolist(), held_out.coarse.tolist(), len(held_out.images)) == ([7], [0], 1)
    assert held_out.names[99] == "fine 99" and held_out.coarse_names[19] == "coarse 19"


def test_found_in_the_folder_itself_and_some_classes_alone(data):
    everything = cifar(10, "train")
    inside = cifar(10, "train", folder=data / BATCHES)
    assert np.array_equal(inside.images, everything.images) and inside.names == everything.names
    some = cifar(10, "train", classes=(3, 7))
    assert some.labels.tolist() == [3, 7] and np.array_equal(some.images, everything.images[[1, 5]])


@pytest.mark.parametrize("kind, archive", [(10, "cifar-10-binary.tar.gz"), (100, "cifar-100-binary.tar.gz")])
def test_what_is_missing_is_named_with_how_to_get_it(tmp_path, monkeypatch, kind, archive):
    monkeypatch.delenv("RELULAB_DATA", raising=False)
    with pytest.raises(UserError, match=rf"CIFAR-{kind} is required, but RELULAB_DATA is not set: .*{archive}.*=DIR$"):
        cifar(kind, "train")
    with pytest.raises(UserError, match=rf"does not contain .*\.bin \(searched there and in its subfolder .*{archive}"):
        cifar_files(kind, "train", tmp_path)
    (tmp_path / ("cifar-10-batches-py" if kind == 10 else "cifar-100-python")).mkdir()
    with pytest.raises(UserError, match=r"the version in cifar-.* is pickled") as error:
        cifar_files(kind, "held out", tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content, says", [
    (batch(0)[:-1], r"records of 3,073 bytes in .*, got 9,218 bytes, which are 2 records and 3,072 bytes"),
    (batch(0) + b"\0", r"got 9,220 bytes, which are 3 records and 1 byte:"),
    (b"", "is empty"),
    (batch(0, 2) + bytes([10]) + bytes(3072), r"every class in .* to be from 0 to 9, got 10 in record 2"),
])  # fmt: skip
def test_damaged_files_are_refused_in_one_sentence(data, content, says):
    (data / BATCHES / "data_batch_5.bin").write_bytes(content)
    with pytest.raises(UserError, match=says) as error:
        cifar(10, "train")
    assert "data_batch_5.bin" in str(error.value) and "\n" not in str(error.value)
    assert len(cifar(10, "held out").labels) == 3


def test_damaged_labels_of_cifar_100(data):
    path = data / HUNDRED / "train.bin"
    rng = np.random.default_rng(0)
    path.write_bytes(record(rng, 0, 0) + record(rng, 20, 0))
    with pytest.raises(UserError, match=r"every coarse class in .* from 0 to 19, got 20 in record 1"):
        cifar(100, "train")
    path.write_bytes(record(rng, 0, 100))
    with pytest.raises(UserError, match=r"every class in .* from 0 to 99, got 100 in record 0"):
        cifar(100, "train")
    path.write_bytes(batch(0))
    with pytest.raises(UserError, match="of another data set"):
        cifar(100, "train")


@pytest.mark.parametrize("content, says", [
    (b"cat\ndog\n", "10 names of classes in .*batches.meta.txt, one per line, got 2"),
    (b"\xff\xfe" * 10, "names of classes in .*batches.meta.txt, got 'utf-8' codec"),
])  # fmt: skip
def test_damaged_names(data, content, says):
    (data / BATCHES / "batches.meta.txt").write_bytes(content)
    with pytest.raises(UserError, match=says):
        cifar(10, "train")


def test_control_characters_in_names_do_not_reach_the_terminal(data):
    lines = ["\x1b[31mred", *map(str, range(9))]
    (data / BATCHES / "batches.meta.txt").write_text("\n".join(lines))
    assert cifar(10, "train").names[0] == "�[31mred"


@pytest.mark.parametrize("call, says", [
    (lambda: cifar(50, "train"), "10|100"),
    (lambda: cifar(10, "test"), "held out"),
    (lambda: cifar(10, "train", classes=[3, 10]), "classes from 0 to 9, got 10"),
])  # fmt: skip
def test_mistakes_in_arguments(data, call, says):
    with pytest.raises(UserError, match=says):
        call()


def test_standardized_by_the_training_set():
    rng = np.random.default_rng(0)
    train, held_out = (rng.integers(0, 256, (n, 3, 5, 4), dtype=np.uint8) for n in (1700, 6))
    train[:, 1] //= 4
    mean, std = channel_statistics(train)
    for c in range(3):
        assert float(mean[c]) == pytest.approx(train[:, c].mean(), rel=1e-14)
        assert float(std[c]) == pytest.approx(train[:, c].std(), rel=1e-12)
    x = standardized(held_out, train)
    assert x.dtype is torch.float32
    by_hand = (held_out[3, 1, 2, 3] - train[:, 1].mean()) / train[:, 1].std()
    assert float(x[3, 1, 2, 3]) == pytest.approx(by_hand, rel=1e-5)
    own = standardized(train, train).double()
    torch.testing.assert_close(own.mean((0, 2, 3)), torch.zeros(3).double(), rtol=0, atol=1e-6)
    torch.testing.assert_close(own.std((0, 2, 3), correction=0), torch.ones(3).double(), rtol=1e-6, atol=0)


def test_pictures_that_cannot_be_standardized(data):
    train = cifar(10, "train")
    held_out = cifar(10, "held out")
    assert torch.equal(held_out.standardized(train), standardized(held_out.images, train.images))
    train.images[:, 2] = 7
    with pytest.raises(UserError, match="channel 2 has the same value"):
        train.standardized(train)
    with pytest.raises(UserError, match=r"of shape \(N, 3, H, W\).* got uint8 of shape \(6, 1, 32, 32\)"):
        standardized(train.images[:, :1], cifar(10, "train").images)
    with pytest.raises(UserError, match="give them as they are in the file"):
        standardized(train.images, train.images[:0])


def test_the_real_pictures():
    if not os.environ.get("RELULAB_DATA"):
        pytest.skip("needs CIFAR-10 and CIFAR-100 below the folder RELULAB_DATA")
    train, held_out = cifar(10, "train"), cifar(10, "held out")
    assert len(train.labels) == 10_000 * len(train.files) and held_out.images.shape == (10_000, 3, 32, 32)
    assert np.bincount(held_out.labels).tolist() == [1000] * 10
    mean, std = channel_statistics(train.images)  # as known of the whole training set, up to the batches left out
    torch.testing.assert_close(mean / 255, torch.tensor([0.4914, 0.4822, 0.4465]).double(), rtol=0, atol=2e-3)
    torch.testing.assert_close(std / 255, torch.tensor([0.2470, 0.2435, 0.2616]).double(), rtol=0, atol=2e-3)
    fine = cifar(100, "held out")
    assert np.bincount(fine.labels).tolist() == [100] * 100
    pairs = np.unique(np.stack([fine.coarse, fine.labels]), axis=1)
    assert pairs.shape == (2, 100) and (np.bincount(pairs[0]) == 5).all()  # five fine classes in each coarse one
