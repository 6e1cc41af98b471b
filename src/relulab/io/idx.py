"""The idx format, in which MNIST and its kin are handed on: a big-endian header, then the entries, one byte each."""

import gzip
import math
import zlib
from io import BufferedIOBase
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from relulab.core.errors import UserError

BYTES = 0x08  # the code for unsigned bytes; the format also knows wider numbers, which pictures and labels do not need
GZIP = b"\x1f\x8b"
CHUNK = 1 << 20


def read_idx(path: Path | str) -> UInt8[np.ndarray, "..."]:
    """The array of an idx file, plain or packed by gzip.

    The header has two zero bytes, the code of the entries' type (0x08, unsigned bytes), the number of axes, and the
    length of each axis in four bytes, the most significant first. Entries follow, the last axis running fastest.
    Whether a file is packed is told from its first bytes, not from its name.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            packed = file.read(2) == GZIP
            file.seek(0)
            if not packed:
                return _array(file, path)
            with gzip.GzipFile(fileobj=file) as unpacked:
                return _array(unpacked, path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(f"{path} is packed by gzip and damaged ({error}): get it anew") from None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}; an idx file was expected there") from None


def _array(file: BufferedIOBase, path: Path) -> UInt8[np.ndarray, "..."]:
    head = _take(file, 4)
    if len(head) < 4 or head[:2] != b"\0\0" or head[2] != BYTES or not head[3]:
        shown = head.hex(" ") or "nothing"
        raise UserError(f"{path} begins with {shown}: an idx file of bytes begins with 00 00 08 and its number of axes")
    lengths = _take(file, 4 * head[3])
    if len(lengths) < 4 * head[3]:
        raise UserError(f"{path} ends within its header, which has {head[3]} axes: get it anew")
    shape = tuple(np.frombuffer(lengths, ">u4").tolist())
    content = _take(file, math.prod(shape) + 1)
    if len(content) != math.prod(shape):
        found = f"only {len(content):,}" if len(content) < math.prod(shape) else "more"
        words = " × ".join(map(str, shape))
        raise UserError(f"{path} should hold {words} = {math.prod(shape):,} entries but holds {found}: get it anew")
    return np.frombuffer(content, np.uint8).reshape(shape)


def _take(file: BufferedIOBase, count: int) -> bytearray:
    """At most ``count`` bytes, in pieces: a damaged header may promise more than memory holds."""
    taken = bytearray()
    while len(taken) < count and (piece := file.read(min(CHUNK, count - len(taken)))):
        taken += piece
    return taken
