"""Named tensors from safetensors, npz, npy and weights-only state dicts, each checked before it is believed."""

import re
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable, Mapping
from io import BufferedIOBase
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from torch import Tensor

from relulab.core.errors import UserError
from relulab.io.guard import LIMIT, checked, members, said, size

Tensors = dict[str, Tensor]
FLOATS = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.float32: None, torch.float64: None}
HEADER = (ValueError, EOFError, SyntaxError, RecursionError, MemoryError, OverflowError, TypeError, Warning,
          tokenize.TokenError)  # fmt: skip
MEMBER = (ValueError, zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError, zlib.error)
NUMBERS = "fiub"  # kinds of arrays: floats, whole numbers with and without sign, truth values
DIMS = 8  # axes of an array
LONGEST = 200  # characters in the name of a tensor


def read_tensors(path: Path | str) -> tuple[Tensors, dict[str, str]]:
    """All tensors of a file by name, as float32 or float64, finite; and the notes that a safetensors file carries.

    The format is told by the ending: .safetensors, .npz, .npy, .pt, .pth or .bin (a state dict).
    """
    path = checked(path)
    notes: dict[str, str] = {}
    if path.suffix == ".safetensors":
        tensors, notes = _safetensors(path)
    else:
        tensors = _reader(path)(path)
    if not tensors:
        raise UserError(f"{path} holds no tensors")
    odd = next((name for name in tensors if not name.isprintable() or len(name) > LONGEST), None)
    if odd is not None:
        raise UserError(f"{path} holds a tensor called {said(odd)!r}: refused")
    if sum(tensor.numel() * tensor.element_size() for tensor in tensors.values()) > LIMIT:
        raise UserError(f"{path} unpacks to more than the {size(LIMIT)} that are read")
    return {name: _sound(path, name, tensor) for name, tensor in tensors.items()}, notes


def _reader(path: Path) -> Callable[[Path], Tensors]:
    readers = {".npz": _numpy, ".npy": _numpy} | dict.fromkeys((".pt", ".pth", ".bin"), _state_dict)
    if path.suffix.lower() not in readers:
        raise UserError(
            f"{path}: read are .safetensors, .npz, .npy, PyTorch state dicts (.pt, .pth) and, as networks, programs "
            "(.pt2); a state dict under another ending may be renamed to .pt. Points are written by np.savez(path, X=x)"
            ", weights by safetensors.torch.save_file(model.state_dict(), path)"
        )
    return readers[path.suffix.lower()]


def _safetensors(path: Path) -> tuple[Tensors, dict[str, str]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, RuntimeError, KeyError, AttributeError, TypeError) as error:
        raise UserError(f"{path} is no safetensors file, or a damaged one: {said(error)}") from None


def read_arrays(path: Path, kinds: str = NUMBERS) -> dict[str, np.ndarray]:
    """The arrays of an npz or npy file by name, if they are of these kinds (as NumPy letters them), never unpickled."""
    if path.suffix.lower() == ".npy":
        with path.open("rb") as file:
            return {path.stem: _array(str(path), file, path.stat().st_size, kinds)}
    found = {}
    for name, member in members(path).items():
        if not name.endswith(".npy"):
            raise UserError(f"{path} holds {name!r}, which is no array")
        try:
            with zipfile.ZipFile(path) as archive, archive.open(member) as file:
                found[name.removesuffix(".npy")] = _array(f"{path}, {name}", file, member.file_size, kinds)
        except UserError:
            raise
        except MEMBER as error:
            raise UserError(f"{path}, {name} is damaged: {said(error)}") from None
    return found


def _numpy(path: Path) -> Tensors:
    found = {}
    for name, array in read_arrays(path).items():
        single = array.dtype in (np.float16, np.float32)
        found[name] = torch.from_numpy(array.astype(np.float32 if single else np.float64))
    return found


def _array(where: str, file: BufferedIOBase | IO[bytes], whole: int, kinds: str) -> np.ndarray:
    """An array in npy format, believed only when its header fits the bytes that follow."""
    try:
        with warnings.catch_warnings(action="error"):  # of odd headers NumPy only warns
            version = np.lib.format.read_magic(file)
            header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, fortran, dtype = header(file)
    except HEADER as error:
        raise UserError(f"{where} is no array of NumPy, or a damaged one: {said(error)}") from None
    if dtype.hasobject:
        raise UserError(f"{where} is an array of Python objects, which only unpickling could read: refused")
    if dtype.kind not in kinds:
        raise UserError(f"{where} has type {dtype}: real numbers were expected")
    count = 1
    for n in shape:
        count *= n
    if any(not 0 <= n <= LIMIT for n in shape) or len(shape) > DIMS or count * dtype.itemsize > min(whole, LIMIT):
        raise UserError(f"{where} says it has shape {shape} of {dtype}, which is more than the file holds")
    content = file.read(count * dtype.itemsize + 1)
    if len(content) != count * dtype.itemsize:
        raise UserError(f"{where} is cut off, or longer than its header says")
    flat = np.frombuffer(content, dtype=dtype)
    return flat.reshape(shape, order="F" if fortran else "C")


def _state_dict(path: Path) -> Tensors:
    with path.open("rb") as file:
        start = file.read(4)
    if start != b"PK\x03\x04":  # PyTorch takes any other start for a pickle, whatever follows
        raise UserError(
            f"{path} is a plain pickle, or saved by PyTorch before 1.6: refused, since reading it could run code. Save "
            "it again with torch.save(model.state_dict(), path), better with safetensors"
        )
    if "constants.pkl" in {name.rpartition("/")[2] for name in members(path)}:
        raise UserError(f"{path} is a TorchScript program: export it with torch.export, or save its state_dict")
    try:
        document = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # whatever a damaged archive makes of the reader, it is the file's fault
        stray = re.search(r"GLOBAL ([\w.]+)", str(error))
        reason = f"{stray[1]} is in it" if stray else error
        raise UserError(
            f"{path} cannot be read as weights alone ({said(reason)}): save model.state_dict() and nothing else"
        ) from None
    return _unwrapped(path, document)


def _unwrapped(path: Path, document: Any) -> Tensors:
    """The state dict itself, out of a checkpoint that has it beside other things."""
    while isinstance(document, Mapping) and not _plain(document):
        inside = [key for key, value in document.items() if isinstance(value, Mapping) and _has_tensors(value)]
        if len(inside) != 1:
            several = f"; it holds several, {said(', '.join(map(str, inside[:4])))}: save one of them" if inside else ""
            raise UserError(
                f"{path}: a dictionary of named tensors was expected, as model.state_dict() gives it{several}"
            )
        document = document[inside[0]]
    if not isinstance(document, Mapping):
        raise UserError(f"{path}: a dictionary of named tensors was expected, as model.state_dict() gives it")
    return dict(document)


def _plain(document: Mapping) -> bool:
    return all(isinstance(name, str) and isinstance(tensor, Tensor) for name, tensor in document.items())


def _has_tensors(document: Mapping, depth: int = 3) -> bool:
    """Whether a network may be in it; the state of an optimizer has its tensors by number."""
    return any(
        isinstance(name, str)
        and (isinstance(value, Tensor) or (depth and isinstance(value, Mapping) and _has_tensors(value, depth - 1)))
        for name, value in document.items()
    )


def _sound(path: Path, name: str, tensor: Tensor) -> Tensor:
    where = f"{path}, {name}"
    if tensor.is_sparse or tensor.is_quantized or tensor.is_meta or tensor.layout != torch.strided:
        raise UserError(f"{where}: a plain tensor was expected")
    if tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
        raise UserError(f"{where} says it has {tensor.numel():,} entries, more than the file holds")
    if tensor.dtype not in FLOATS:
        if tensor.is_complex() or tensor.is_floating_point():
            raise UserError(f"{where} has type {tensor.dtype}: float16, bfloat16, float32 or float64 were expected")
        return tensor.to(torch.float64)
    tensor = tensor.detach().to(FLOATS[tensor.dtype] or tensor.dtype).contiguous()
    bad = ~torch.isfinite(tensor)
    if bad.any():
        first = tuple(bad.nonzero()[0].tolist()) if tensor.dim() else ()
        raise UserError(f"{where} has {int(bad.sum())} entries that are NaN or infinite, the first at {list(first)}")
    return tensor
