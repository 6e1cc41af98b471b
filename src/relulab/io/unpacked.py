"""Open a file that may be compressed with gzip, without unpacking more than is safe."""

import gzip
import zlib
from io import BufferedReader, BytesIO
from pathlib import Path

from relulab.core.errors import UserError
from relulab.io.guard import one_line, size, unpack_limit

GZIP = b"\x1f\x8b"
CHUNK = 1 << 20


def opened(path: Path) -> BufferedReader | BytesIO:
    """Open a file for reading. If it is compressed with gzip, return its unpacked contents.

    Compression is detected from the first bytes, not from the file name.

    Args:
        path: The file.
    """
    with path.open("rb") as file:
        if file.read(2) != GZIP:
            return path.open("rb")
    limit, chunks, length = unpack_limit(path), [], 0
    try:
        with gzip.open(path) as packed:
            while length <= limit and (chunk := packed.read(CHUNK)):
                chunks.append(chunk)
                length += len(chunk)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(f"{path} is a damaged gzip file ({one_line(error)}): save or download it again") from None
    if length > limit:
        raise UserError(
            f"{path} has {size(path.stat().st_size)} but unpacks to more than {size(limit)}, which is not safe to "
            "read: save it without compression, with fewer data"
        )
    return BytesIO(b"".join(chunks))
