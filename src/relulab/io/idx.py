"""The idx format of MNIST and similar data sets: a big-endian header, then the entries, one byte each."""

import math
from io import BufferedIOBase
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from relulab.core.errors import UserError
from relulab.io.unpacked import CHUNK, opened

BYTES = 0x08  # the code for unsigned bytes; the format has wider types too, but images and labels do not use them


def read_idx(path: Path | str) -> UInt8[np.ndarray, "..."]:
    """Read an idx file, plain or compressed with gzip.

    The header has two zero bytes, the type code of the entries (0x08, unsigned bytes), the number of axes, and the
    length of each axis as a big-endian 4-byte integer. The entries follow in C order (the last axis varies fastest).
    Compression is detected from the first bytes, not from the file name.

    Args:
        path: The file.

    Returns:
        The entries as unsigned bytes, with the shape given in the header.
    """
    path = Path(path)
    try:
        with opened(path) as file:
            return _array(file, path)
    except OSError as error:
        raise UserError(f"expected an idx file, but cannot read {path}: {error.strerror or error}") from None


def _array(file: BufferedIOBase, path: Path) -> UInt8[np.ndarray, "..."]:
    head = _take(file, 4)
    if len(head) < 4 or head[:2] != b"\0\0" or head[2] != BYTES or not head[3]:
        shown = head.hex(" ") or "nothing"
        raise UserError(
            f"expected an idx file of bytes, which starts with 00 00 08 and the number of axes, but {path} starts with "
            f"{shown}: download it again"
        )
    lengths = _take(file, 4 * head[3])
    if len(lengths) < 4 * head[3]:
        raise UserError(f"{path} ends inside its header, which declares {head[3]} axes: download it again")
    shape = tuple(np.frombuffer(lengths, ">u4").tolist())
    content = _take(file, math.prod(shape) + 1)
    if len(content) != math.prod(shape):
        count = f"only {len(content):,}" if len(content) < math.prod(shape) else "more"
        product = " × ".join(map(str, shape))
        raise UserError(
            f"expected {product} = {math.prod(shape):,} entries in {path}, but it has {count}: download it again"
        )
    return np.frombuffer(content, np.uint8).reshape(shape)


def _take(file: BufferedIOBase, count: int) -> bytearray:
    """Read at most ``count`` bytes in chunks, because a damaged header may claim more bytes than fit into memory."""
    content = bytearray()
    while len(content) < count and (chunk := file.read(min(CHUNK, count - len(content)))):
        content += chunk
    return content
