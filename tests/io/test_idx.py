"""The idx format against a writer of the plainest kind, and every way in which a file can be wrong."""

import gzip
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relulab import UserError
from relulab.io.idx import read_idx


def idx(array) -> bytes:
    """The format as it is described, number by number."""
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
    (b"", "begins with nothing"),
    (b"\0\0", "begins with 00 00: an idx file of bytes"),
    (b"\x89PNG" + WHOLE, "begins with 89 50 4e 47"),
    (b"\0\0\x0d" + WHOLE[3:], "begins with 00 00 0d 03"),
    (b"\0\0\x08\0", "its number of axes"),
    (WHOLE[:10], "ends within its header, which has 3 axes"),
    (WHOLE[:-1], "3 × 4 × 5 = 60 entries but holds only 59"),
    (WHOLE + b"!", "60 entries but holds more"),
    (HUGE, "but holds only 3"),
    (PACKED[:-9], "packed by gzip and damaged"),
    (PACKED[:20] + b"\0\0\0\0\0\0" + PACKED[26:], "packed by gzip and damaged"),
    (gzip.compress(WHOLE[:-1], mtime=0), "but holds only 59"),
], ids=range(12))  # fmt: skip
def test_a_wrong_file_is_one_sentence(tmp_path, content, sentence):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(UserError) as error:
        read_idx(tmp_path / "x")
    assert sentence in str(error.value) and str(tmp_path / "x") in str(error.value) and "\n" not in str(error.value)


def test_no_file_and_a_folder(tmp_path):
    with pytest.raises(UserError, match="none: No such file or directory; an idx file was expected"):
        read_idx(tmp_path / "none")
    with pytest.raises(UserError, match="Is a directory; an idx file was expected"):
        read_idx(tmp_path)
