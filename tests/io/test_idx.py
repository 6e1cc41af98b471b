"""Reading idx files, compared with a simple writer, and errors for every kind of invalid file."""

import gzip
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relulab import UserError
from relulab.io.idx import read_idx


def idx(array) -> bytes:
    """Write an array in idx format."""
    content = bytes([0, 0, 8, array.ndim])
    for length in array.shape:
        content += struct.pack(">I", length)
    return content + bytes(int(v) for v in array.flatten())


ARRAY = np.random.default_rng(0).integers(0, 256, (3, 4, 5), dtype=np.uint8)


@settings(deadline=None, max_examples=30)
@given(shape=st.lists(st.integers(0, 5), min_size=1, max_size=4), packed=st.booleans())
def test_what_was_written_is_read(tmp_path_factory, shape, packed):
    array = np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)
    path = tmp_path_factory.mktemp("idx") / "x"
    path.write_bytes(gzip.compress(idx(array)) if packed else idx(array))
    read = read_idx(path)
    assert read.dtype == np.uint8 and read.shape == array.shape and np.array_equal(read, array)


def test_axes_longer_than_a_byte(tmp_path):
    array = np.arange(300, dtype=np.uint8).reshape(300, 1)
    (tmp_path / "x").write_bytes(idx(array))
    assert np.array_equal(read_idx(tmp_path / "x"), array)


WHOLE = idx(ARRAY)
HUGE = b"\0\0\x08\x04" + b"\xff" * 16 + b"123"


PACKED = gzip.compress(WHOLE, mtime=0)  # without the time, so that every process collects the same tests


@pytest.mark.parametrize("content, sentence", [
    (b"", "starts with nothing"),
    (b"\0\0", "expected an idx file of bytes"),
    (b"\x89PNG" + WHOLE, "starts with 89 50 4e 47: download it again"),
    (b"\0\0\x0d" + WHOLE[3:], "starts with 00 00 0d 03"),
    (b"\0\0\x08\0", "the number of axes"),
    (WHOLE[:10], "ends inside its header, which declares 3 axes"),
    (WHOLE[:-1], "but it has only 59: download it again"),
    (WHOLE + b"!", "but it has more"),
    (HUGE, "but it has only 3"),
    (PACKED[:-9], "is a damaged gzip file"),
    (PACKED[:20] + b"\0\0\0\0\0\0" + PACKED[26:], "is a damaged gzip file"),
    (gzip.compress(WHOLE[:-1], mtime=0), "expected 3 × 4 × 5 = 60 entries in"),
], ids=range(12))  # fmt: skip
def test_the_error_for_an_invalid_file_is_one_line(tmp_path, content, sentence):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(UserError) as error:
        read_idx(tmp_path / "x")
    assert sentence in str(error.value) and str(tmp_path / "x") in str(error.value) and "\n" not in str(error.value)


def test_no_file_and_a_folder(tmp_path):
    with pytest.raises(UserError, match=r"expected an idx file, but cannot read .*none: No such file or directory"):
        read_idx(tmp_path / "none")
    with pytest.raises(UserError, match=r"expected an idx file, but cannot read .*: Is a directory"):
        read_idx(tmp_path)
