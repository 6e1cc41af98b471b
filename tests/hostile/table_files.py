"""Files that should contain a table of data."""

import gzip
import random
import struct
import zipfile
from pathlib import Path

import numpy as np

from hostile.limits import kind
from relulab.io.data_file import read_data


def table(path: Path) -> None:
    read_data(path)


def npz(path: Path, packed: bool = True, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


def npy(shape: str, kind: str = "<f8", data: bytes = b"") -> bytes:
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


@kind(table, 0.05)
def bytes_in_an_npz(folder: Path, rng: random.Random) -> Path:
    count = rng.choice([10**8, 5 * 10**8, 10**9])
    return npz(folder / "a.npz", X=npy(f"({count // 10}, 10)", "|u1", b"\0" * min(count, 3 * 10**8)))


@kind(table, 0.1)
def many_members(folder: Path, rng: random.Random) -> Path:
    content = npy("(2, 2)", "<f8", b"\0" * 32)
    return npz(folder / "a.npz", **{f"a{i}": content for i in range(rng.choice([2000, 4900, 6000]))})


@kind(table, 3)
def odd_arrays(folder: Path, rng: random.Random) -> Path:
    shape = rng.choice(
        [
            "(True, 12)",
            "(-1, 4)",
            "(10**9,)",
            "(2.0, 2)",
            f"({'1, ' * 70})",
            "(999999999999, 999999999)",
            "()",
            "(0, 5)",
            "(3,)",
            "'abc'",
            "None",
            f"({'(' * 99})",
        ]
    )
    dtype = rng.choice(["<f8", "|O", "<M8[ns]", "|V8", "<U5", "<c16", "|u1", ">f4", "<f99", "|b1"])
    content = npy(shape, dtype, b"\0" * rng.choice([0, 8, 96, 1000]))
    path = folder / rng.choice(["a.npy", "a.npz"])
    if path.suffix == ".npz":
        return npz(path, X=content)
    path.write_bytes(content)
    return path


@kind(table, 0.1)
def packed_idx_files(folder: Path, rng: random.Random) -> Path:
    shape = rng.choice([(4 * 10**6, 28, 28), (10**5, 28, 28), (2**32 - 1,) * 4, (3, 0, 5), (60000, 28, 28)])
    head = bytes([0, 0, 8, len(shape)]) + struct.pack(f">{len(shape)}I", *shape)
    path = folder / "train-images-idx3-ubyte.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(head)
        for _ in range(rng.choice([0, 10, 150])):
            file.write(b"\0" * 10**6)
    return path


@kind(table, 0.1)
def repeated_texts_in_parquet(folder: Path, rng: random.Random) -> Path:
    import pyarrow
    from pyarrow.parquet import write_table

    rows, length = rng.choice([(10**6, 3000), (8 * 10**6, 400), (10**7, 100), (1000, 10**6)])
    text = pyarrow.DictionaryArray.from_arrays(pyarrow.array(np.zeros(rows, np.int32)), pyarrow.array(["x" * length]))
    write_table(
        pyarrow.table({"a": text, "b": pyarrow.array(np.zeros(rows))}), folder / "a.parquet", compression="zstd"
    )
    return folder / "a.parquet"


@kind(table, 1.5)
def odd_parquet(folder: Path, rng: random.Random) -> Path:
    import pyarrow
    from pyarrow.parquet import write_table

    column = rng.choice(
        [[[1, 2], [3]], [{"a": 1}, {"a": 2}], [b"\xff", b"\0"], ["\x1b[31m", "b"], [None, None], [1, 2]]
    )
    name = rng.choice(["a", "\x1b]0;owned\x07", "x" * 10_000, "", "a\nb"])
    made = pyarrow.table({name: pyarrow.array(column), "b": [0.5, 1.5]})
    notes = rng.choice([b"{", b'{"index_columns": [{"kind": "range"}]}', b"[]", b'{"columns": 7}', b"\xff"])
    write_table(made.replace_schema_metadata({b"pandas": notes}), folder / "a.parquet")
    return folder / "a.parquet"


@kind(table, 0.3)
def wide_or_odd_text(folder: Path, rng: random.Random) -> Path:
    separator = rng.choice([",", ";", "\t", " "])
    wide = rng.choice([10, 30_000, 100_000, 400_000])
    odd = ["\x1b[2J", "x" * 100_000, '"', '"unclosed', "1e999", "nan", "\0", "é", "=cmd()", "9" * 5000, ""]
    first = separator.join(rng.choice([*odd, *map(str, range(9))]) for _ in range(wide))
    rows = [separator.join(str(rng.randrange(9)) for _ in range(wide)) for _ in range(3 if wide > 999 else 40)]
    path = folder / rng.choice(["a.csv", "a.tsv", "a.txt", "a.csv.gz"])
    content = "\n".join([first, *rows]).encode("utf-8", "replace")
    path.write_bytes(gzip.compress(content, 1) if path.suffix == ".gz" else content)
    return path


@kind(table, 0.1)
def packed_text(folder: Path, rng: random.Random) -> Path:
    row = rng.choice([b"1,2,3\n", b"0" * 10**6, b",", b"\n", b'"a\n'])
    with gzip.open(folder / "a.csv.gz", "wb", 1) as file:
        for _ in range(rng.choice([3, 300])):
            file.write((row * (10**6 // len(row) + 1))[: 10**6])
    return folder / "a.csv.gz"
