"""Read the contents of a data file of any format: one table, or arrays by name."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from relulab.core.errors import UserError
from relulab.io.data_table import Frame, Matrix, Table
from relulab.io.guard import check_columns, check_expanded, checked, enough_memory, one_line
from relulab.io.idx import read_idx
from relulab.io.tensors import (
    NUMBERS,
    check_names,
    check_tensor,
    computed_bytes,
    read_array,
    read_arrays,
    read_safetensors,
)
from relulab.io.torch_file import torch_document, unwrapped
from relulab.io.unpacked import opened

TEXT = (".csv", ".tsv", ".txt")
TORCH = (".pt", ".pth", ".bin")
ENDINGS = (*TEXT, ".parquet", ".npy", ".npz", ".safetensors", *TORCH)
PACKED = (*TEXT, ".npy")  # may be compressed with gzip; the other formats have their own compression
IDX = re.compile(r"([.-]idx\d?|[.-]idx\d?-ubyte|-ubyte)$")


@dataclass(frozen=True)
class Contents:
    """The contents of a data file: a table without a name, or arrays by name; and what was assumed.

    ``labels_from`` says where the labels come from, if they were not in the file itself.
    """

    table: Table | None = None
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    labels_from: str = ""


def read_contents(path: Path | str) -> Contents:
    """Read a data file. Nothing in it is unpickled or executed.

    Args:
        path: The file: .csv, .tsv, .txt, .npy, each also compressed with gzip, .parquet, .npz, .safetensors, .pt, .pth
            or an idx file such as those of MNIST.
    """
    path = checked(path)
    with enough_memory(path):
        return _contents(path)


def _contents(path: Path) -> Contents:
    name = path.name.lower().removesuffix(".gz")
    ending = Path(name).suffix
    if IDX.search(name):
        return _idx(path)
    if ending not in ENDINGS:
        given = path if path.suffix else f"{path}, which has no extension"
        raise UserError(
            f"expected a {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]} file, or an idx file, got {given}: convert it first"
        )
    if name != path.name.lower() and ending not in PACKED:
        raise UserError(f"a compressed {ending} file such as {path} cannot be read: unpack it first with gunzip")
    if ending in TEXT:
        from relulab.io.text_table import read_text_table

        text = read_text_table(path)
        return Contents(Frame(text.frame, text.names, text.left_out), notes=text.notes)
    if ending == ".parquet":
        return Contents(_parquet(path))
    if ending == ".npy":
        return Contents(Matrix(_npy(path)))
    if ending == ".npz":
        return Contents(arrays=read_arrays(path, NUMBERS + "U"))
    return _tensors(path, ending)


def _npy(path: Path) -> np.ndarray:
    with opened(path) as file:
        length = file.seek(0, 2)
        file.seek(0)
        if not length:
            raise UserError(f"{path} is empty: write it again")
        array = read_array(str(path), file, length)
    check_expanded(path, computed_bytes(array))
    return array


def _parquet(path: Path) -> Frame:
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise UserError(
            f"cannot read {path}: Parquet files need pyarrow, which is not installed: run pip install pyarrow"
        ) from None
    try:
        with ParquetFile(path) as file:
            rows, columns = file.metadata.num_rows, file.metadata.num_columns
            kinds = [(field.name, str(field.type)) for field in file.schema_arrow]
            index = _index_columns((file.schema_arrow.metadata or {}).get(b"pandas", b"{}"))
        check_columns(path, columns)
        check_expanded(path, 8 * rows * columns)
        nested = next((name for name, kind in kinds if "<" in kind and not kind.startswith("dictionary")), None)
        if nested is not None:
            raise UserError(f"column {one_line(nested)!r} of {path} contains lists or records: use plain columns")
        # A text that is repeated a million times is kept once. What pandas noted about its types is not needed.
        texts = [name for name, kind in kinds if kind in ("string", "large_string", "binary", "large_binary")]
        with enough_memory(path), ParquetFile(path, read_dictionary=texts) as file:
            frame = file.read().to_pandas(ignore_metadata=True)
        frame = frame.loc[:, ~frame.columns.isin(index)]  # by position, because names may be repeated
        frame = frame.apply(lambda column: column.astype(object) if column.dtype == "category" else column)
        return Frame(frame, [str(name).strip() for name in frame.columns])
    except UserError:
        raise
    except Exception as error:  # a damaged file may raise any error in the readers of Arrow and pandas
        raise UserError(f"{path} is not a valid parquet table: {one_line(error)}") from None


def _index_columns(notes: bytes) -> list[str]:
    """Return the columns in which pandas has stored the index of a table, from its notes in the file."""
    try:
        columns = json.loads(notes)["index_columns"]
        return [name for name in columns if isinstance(name, str)]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []


def _idx(path: Path) -> Contents:
    """Return the images of an idx file as rows, with the labels in the file beside it, if there is one."""
    images = read_idx(path)
    check_expanded(path, 8 * images.size)
    if images.ndim < 2:
        raise UserError(f"{path} contains labels or single numbers, not points: give the file of images")
    rows = images.reshape(len(images), -1)
    pixels = " × ".join(map(str, images.shape[1:]))
    notes = (f"images of {pixels} pixels were read as rows of {rows.shape[1]} numbers from 0 to 255",)
    stem = path.name.removesuffix(".gz").replace("images", "labels").replace(f"idx{images.ndim}", "idx1")
    beside = next((p for p in (path.with_name(stem + end) for end in ("", ".gz")) if p.is_file() and p != path), None)
    if beside is None:
        return Contents(arrays={"X": rows}, notes=notes)
    labels = f"labels were read from {beside}"
    return Contents(arrays={"X": rows, "y": read_idx(beside)}, notes=notes, labels_from=labels)


def _tensors(path: Path, ending: str) -> Contents:
    """Return the tensors of a safetensors or PyTorch file; a tensor alone is a table."""
    if ending == ".safetensors":
        tensors: Any = read_safetensors(path)[0]
    else:
        tensors = torch_document(path, "a tensor or a dictionary of tensors", "x")
        if _is_pair(tensors):
            tensors = dict(zip("Xy", tensors, strict=True))
        elif isinstance(tensors, Tensor):
            return Contents(Matrix(_array(str(path), tensors)))
        tensors = unwrapped(path, tensors)
    check_names(path, tensors)
    return Contents(arrays={name: _array(f"{name} in {path}", tensor) for name, tensor in tensors.items()})


def _is_pair(document: Any) -> bool:
    """Whether a document consists of points and one label for each."""
    if not isinstance(document, tuple | list) or len(document) != 2 or not all(isinstance(t, Tensor) for t in document):
        return False
    points, labels = document
    return points.dim() > 1 and labels.shape in ((len(points),), (len(points), 1))


def _array(where: str, tensor: Tensor) -> np.ndarray:
    """Return a tensor as an array; NumPy has no bfloat16, so it becomes float32."""
    check_tensor(where, tensor)
    tensor = tensor.detach()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).contiguous().numpy()
