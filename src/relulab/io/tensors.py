"""Read named tensors from safetensors, npz, npy and PyTorch state dicts safely: nothing is unpickled unchecked."""

import math
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable
from io import BufferedIOBase
from pathlib import Path
from typing import IO

import numpy as np
import torch
from torch import Tensor

from relulab.core.errors import UserError
from relulab.io.guard import LIMIT, TENSORS, check_expanded, checked, enough_memory, members, one_line, size
from relulab.io.torch_file import torch_document, unwrapped

Tensors = dict[str, Tensor]
FLOATS = {
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
    torch.float32: torch.float32,
    torch.float64: torch.float64,
}
HEADER = (ValueError, EOFError, SyntaxError, RecursionError, MemoryError, OverflowError, TypeError, Warning,
          tokenize.TokenError)  # fmt: skip
MEMBER = (ValueError, zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError, zlib.error)
NUMBERS = "fiub"  # NumPy's letters for floats, signed and unsigned integers, and booleans
DIMS = 8  # largest number of axes of an array
LONGEST = 200  # largest number of characters in the name of a tensor


def read_tensors(path: Path | str, *, texts: bool = False) -> tuple[Tensors, dict[str, str]]:
    """Read all tensors of a file and check that they are finite.

    Args:
        path: The file: .safetensors, .npz, .npy, or a PyTorch state dict (.pt, .pth, .bin). Its extension determines
            the format.
        texts: Whether an npz file may also contain texts, such as a configuration; otherwise it is refused.

    Returns:
        The tensors by name, as float32 or float64, and the metadata of a safetensors file or the texts.
    """
    path = checked(path)
    notes: dict[str, str] = {}
    with enough_memory(path):
        if path.suffix == ".safetensors":
            tensors, notes = read_safetensors(path)
        elif path.suffix.lower() == ".npz" and texts:
            tensors, notes = _numbers_and_texts(path)
        else:
            tensors = _reader(path)(path)
    if not tensors:
        raise UserError(f"{path} contains no tensors: save at least one")
    check_names(path, tensors)
    if sum(tensor.numel() * tensor.element_size() for tensor in tensors.values()) > LIMIT:
        raise UserError(f"{path} unpacks to more than {size(LIMIT)}, the largest size that can be read: use less data")
    for name, tensor in tensors.items():
        check_tensor(f"{name} in {path}", tensor)
    kinds = {name: FLOATS.get(tensor.dtype, torch.float64) for name, tensor in tensors.items()}
    check_expanded(path, sum(tensor.numel() * kinds[name].itemsize for name, tensor in tensors.items()))
    with enough_memory(path):
        return {name: _sound(path, name, tensor, kinds[name]) for name, tensor in tensors.items()}, notes


def _reader(path: Path) -> Callable[[Path], Tensors]:
    readers = {".npz": _numpy, ".npy": _numpy} | dict.fromkeys((".pt", ".pth", ".bin"), _state_dict)
    if path.suffix.lower() not in readers:
        raise UserError(
            f"expected a .safetensors, .npz or .npy file, a PyTorch state dict (.pt, .pth, .bin) or, for networks, an "
            f"exported program (.pt2), got {path}. Save points with np.savez(path, X=x) and weights with "
            "safetensors.torch.save_file(model.state_dict(), path)"
        )
    return readers[path.suffix.lower()]


def read_safetensors(path: Path) -> tuple[Tensors, dict[str, str]]:
    """Read the tensors of a safetensors file as they are, and its metadata.

    Args:
        path: The file.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            check_count(path, file.keys())
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, RuntimeError, KeyError, AttributeError, TypeError) as error:
        raise UserError(f"{path} is not a valid safetensors file: {one_line(error)}") from None


def read_arrays(path: Path, kinds: str = NUMBERS) -> dict[str, np.ndarray]:
    """Read the arrays of an npz or npy file by name, without unpickling.

    Args:
        path: The file.
        kinds: The allowed data types, as letters of ``numpy.dtype.kind``.
    """
    if path.suffix.lower() == ".npy":
        with path.open("rb") as file:
            return {path.stem: read_array(str(path), file, path.stat().st_size, kinds)}
    arrays, taken = {}, 0
    inside = members(path)
    with zipfile.ZipFile(path) as archive:
        for name, member in inside.items():
            if not name.endswith(".npy"):
                raise UserError(
                    f"{path} contains {one_line(name)!r}, which is not a .npy array: save arrays with np.savez"
                )
            where = f"{one_line(name)} in {path}"
            try:
                with archive.open(member) as file:
                    array = read_array(where, file, member.file_size, kinds)
            except UserError:
                raise
            except MEMBER as error:
                raise UserError(f"{where} is damaged ({one_line(error)}): save it again") from None
            taken += computed_bytes(array)
            check_expanded(path, taken)
            arrays[name.removesuffix(".npy")] = array
    return arrays


def _numpy(path: Path) -> Tensors:
    return _tensors(read_arrays(path))


def _tensors(arrays: dict[str, np.ndarray]) -> Tensors:
    return {name: torch.from_numpy(array.astype(_computed(array))) for name, array in arrays.items()}


def _numbers_and_texts(path: Path) -> tuple[Tensors, dict[str, str]]:
    """Read an npz file whose arrays may also be single texts."""
    arrays = read_arrays(path, NUMBERS + "U")
    texts = {name: str(array.item()) for name, array in arrays.items() if array.dtype.kind == "U" and array.size == 1}
    return _tensors({name: array for name, array in arrays.items() if array.dtype.kind != "U"}), texts


def _computed(array: np.ndarray) -> type:
    """The type in which the numbers of an array are computed with."""
    return np.float32 if array.dtype in (np.float16, np.float32) else np.float64


def computed_bytes(array: np.ndarray) -> int:
    """Return the bytes that the numbers of an array take when they are computed with.

    Args:
        array: The array.
    """
    return array.size * np.dtype(_computed(array)).itemsize


def read_array(where: str, file: BufferedIOBase | IO[bytes], length: int, kinds: str = NUMBERS) -> np.ndarray:
    """Read an array in npy format, without unpickling, if its header matches the bytes that follow.

    Args:
        where: The name of the file, for error messages.
        file: The open file.
        length: The size of the file in bytes.
        kinds: The allowed data types, as letters of ``numpy.dtype.kind``.
    """
    try:
        with warnings.catch_warnings(action="error"):  # NumPy only warns about invalid headers
            version = np.lib.format.read_magic(file)
            header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, fortran, dtype = header(file)
    except HEADER as error:
        raise UserError(f"{where} is not a valid NumPy array: {one_line(error)}") from None
    if dtype.hasobject:
        raise UserError(
            f"{where} is an array of Python objects, which cannot be read safely: save numbers (dtype float) instead"
        )
    if dtype.kind not in kinds:
        raise UserError(f"expected real numbers, but {where} has type {dtype}: convert it")
    whole = all(type(n) is int and 0 <= n <= LIMIT for n in shape)
    count = math.prod(shape) if whole else 0
    if not whole or len(shape) > DIMS or count * dtype.itemsize > min(length, LIMIT):
        raise UserError(
            f"{where} declares shape {one_line(shape)} of {dtype}, which is impossible or more than the file contains: "
            "save it again"
        )
    content = file.read(count * dtype.itemsize + 1)
    if len(content) != count * dtype.itemsize:
        raise UserError(f"{where} is shorter or longer than its header declares: save it again")
    flat = np.frombuffer(content, dtype=dtype)
    return flat.reshape(shape, order="F" if fortran else "C")


def _state_dict(path: Path) -> Tensors:
    return unwrapped(path, torch_document(path, "a state dict", "model.state_dict()"))


def _sound(path: Path, name: str, tensor: Tensor, kind: torch.dtype) -> Tensor:
    """Return the tensor with another type, float32 or float64, after checking that it is finite."""
    where = f"{name} in {path}"
    tensor = tensor.detach().to(kind).contiguous()
    bad = ~torch.isfinite(tensor)
    if bad.any():
        first = tuple(bad.nonzero()[0].tolist()) if tensor.dim() else ()
        raise UserError(
            f"expected finite values, but {where} is NaN or infinite in {int(bad.sum())} of {bad.numel()} entries, "
            f"first at index {list(first)}: remove or replace them"
        )
    return tensor


def check_count(path: Path, names: Collection[str]) -> None:
    """Raise a ``UserError`` if a file has too many tensors.

    Args:
        path: The file, for error messages.
        names: The names of its tensors.
    """
    if len(names) > TENSORS:
        raise UserError(f"{path} has {len(names):,} tensors, but at most {TENSORS:,} are read: use a smaller file")


def check_names(path: Path, names: Iterable[str]) -> None:
    """Raise a ``UserError`` if a name is too long or cannot be printed.

    Args:
        path: The file, for error messages.
        names: The names of its tensors.
    """
    names = list(names)
    check_count(path, names)
    odd = next((name for name in names if not name.isprintable() or len(name) > LONGEST), None)
    if odd is not None:
        raise UserError(
            f"expected printable tensor names of at most {LONGEST} characters in {path}, got {one_line(odd)!r}: rename "
            "the tensor"
        )


def check_tensor(where: str, tensor: Tensor) -> None:
    """Raise a ``UserError`` unless a tensor is dense, has real entries, and no more of them than its file contains.

    Args:
        where: The name of the tensor and its file, for error messages.
        tensor: The tensor.
    """
    odd = tensor.is_nested or tensor.is_sparse or tensor.is_quantized or tensor.is_meta
    if odd or tensor.layout != torch.strided:
        raise UserError(f"expected a dense tensor, but {where} is nested, sparse, quantized or has no data: convert it")
    if tensor.dim() > DIMS:
        raise UserError(f"expected at most {DIMS} axes, but {where} has {tensor.dim()}: reshape it")
    if tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
        raise UserError(f"{where} declares {tensor.numel():,} entries, more than the file contains: save a full copy")
    if tensor.dtype not in FLOATS and (tensor.is_complex() or tensor.is_floating_point()):
        raise UserError(
            f"expected float16, bfloat16, float32 or float64, but {where} has type {tensor.dtype}: convert it"
        )
