"""Invalid and malicious files are refused with a one-line error that names the file, and no code in them is run."""

import json
import os
import pickle
import struct
import warnings
import zipfile

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from relulab import UserError, load, torch_default
from relulab.io.guard import one_line
from relulab.io.tensors import read_tensors

STATE = torch_default((3, 5, 2), seeds=[0]).module().state_dict()


def refused(path, says: str | None = None) -> None:
    """One line that names the file and says what is wrong with it."""
    with pytest.raises(UserError, match=says) as refusal:
        load(path)
    line = str(refusal.value)
    assert str(path.name) in line and line.isprintable(), line


def put(path, tensors=STATE):
    """The same tensors in the format of the ending."""
    if path.suffix == ".safetensors":
        save_file(tensors, path)
    elif path.suffix == ".npz":
        np.savez(path, **{name: t.numpy() for name, t in tensors.items()})
    else:
        torch.save(tensors, path)
    return path


def test_the_helper_rejects_a_file_that_loads(tmp_path):
    with pytest.raises(pytest.fail.Exception):
        refused(put(tmp_path / "a.npz"))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("ending", ["safetensors", "npz", "pt"])
def test_nan_and_infinite_weights_are_refused(tmp_path, ending, value):
    state = {name: t.clone() for name, t in STATE.items()}
    state["2.weight"][1, 3] = value
    refused(
        put(tmp_path / f"a.{ending}", state),
        r"2\.weight in .* is NaN or infinite in 1 of \d+ entries, first at index \[1, 3\]",
    )


@pytest.mark.parametrize("dtype", [torch.complex64, torch.float8_e4m3fn])
def test_types_that_are_not_read(tmp_path, dtype):
    refused(put(tmp_path / "a.safetensors", {"0.weight": torch.ones(3, 3).to(dtype)}), "has type")


def test_sparse_and_quantized_tensors(tmp_path):
    with warnings.catch_warnings(action="ignore"):
        torch.save({"0.weight": torch.eye(3).to_sparse()}, tmp_path / "a.pt")
        torch.save({"0.weight": torch.eye(3).to_sparse_csr()}, tmp_path / "b.pt")
        torch.save({"0.weight": torch.quantize_per_tensor(torch.eye(3), 0.1, 0, torch.qint8)}, tmp_path / "c.pt")
    torch.save({"0.weight": torch.eye(3, device="meta")}, tmp_path / "d.pt")
    for name in "abcd":
        refused(tmp_path / f"{name}.pt", r"0\.weight|expected only tensors")


@pytest.mark.parametrize("ending", ["safetensors", "npz", "pt", "pth", "bin"])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.9, 0.999])
def test_files_that_are_cut_off(tmp_path, ending, share):
    path = put(tmp_path / f"a.{ending}")
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    refused(path)


def npy(shape, descr: str = "<f4", content: bytes = b"") -> bytes:
    header = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


@pytest.mark.parametrize("shape", [(10**9, 10**3), (0, 10**30), (10**30,), (-1, 4), (1,) * 40])
@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_a_header_that_claims_too_much(tmp_path, shape, ending):
    path = tmp_path / f"weight.{ending}"
    content = npy(shape, content=bytes(64))
    if ending == "npy":
        path.write_bytes(content)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("weight.npy", content)
    refused(path, "more than the file contains")


@pytest.mark.parametrize("count", [63, 65])
def test_an_array_of_another_length_than_its_header_says(tmp_path, count):
    (tmp_path / "weight.npy").write_bytes(npy((4, 4), content=bytes(count)))
    refused(tmp_path / "weight.npy", "more than the file contains|shorter or longer")


@pytest.mark.parametrize("header", ["{'descr': '\\d', (", "{'descr':", "'" * 3, "(" * 200, "[1]", "{1: \x00}"])
def test_invalid_headers_are_refused(tmp_path, header):
    text = header.encode()
    (tmp_path / "weight.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text)
    refused(tmp_path / "weight.npy", "not a valid NumPy array")


@pytest.mark.parametrize(
    "array", [np.array([{}], dtype=object), np.array(["a"]), np.array([1 + 1j]), np.zeros(2, "M8[s]")]
)
@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_arrays_of_other_things_than_numbers(tmp_path, array, ending):
    path = tmp_path / f"weight.{ending}"
    np.save(path, array) if ending == "npy" else np.savez(path, weight=array)
    refused(path, "Python objects|has type|not a valid NumPy array")


def test_a_zip_bomb(tmp_path):
    path, count = tmp_path / "bomb.npz", 75_000_000
    archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
    with archive, archive.open("weight.npy", "w") as file:
        file.write(npy((count, 1)))
        for _ in range(count * 4 // 1_000_000):
            file.write(bytes(1_000_000))
    assert path.stat().st_size < 3_000_000
    refused(path, "unpacks to 0.3 GB")


def test_a_zip_bomb_that_hides_its_size(tmp_path):
    """The table of contents says 100 bytes: no more of it is unpacked."""
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("weight.npy", npy((2_000_000,), content=bytes(8_000_000)))
    content = path.read_bytes()
    size = struct.pack("<I", len(npy((2_000_000,))) + 8_000_000)
    assert content.count(size) == 2
    path.write_bytes(content.replace(size, struct.pack("<I", 100)))
    refused(path, "Bad CRC|more than the file contains")


def test_many_names_for_the_same_bytes(tmp_path):
    """A state dict may name one block of memory often: together these would be 40 GB."""
    block = torch.zeros(10_000_000)
    torch.save({f"{i}.weight": block.view(1000, 10_000) for i in range(1000)}, tmp_path / "a.pt")
    refused(tmp_path / "a.pt", "unpacks to more than")
    torch.save({f"{i}.weight": block[:1] for i in range(5001)}, tmp_path / "b.pt")
    refused(tmp_path / "b.pt", "at most 5,000 are read")


def test_a_small_block_spread_over_a_large_tensor(tmp_path):
    torch.save({"0.weight": torch.ones(1).expand(20_000, 20_000)}, tmp_path / "a.pt")
    refused(tmp_path / "a.pt", "more than the file contains")


def test_a_tensor_that_says_it_is_longer_than_its_bytes(tmp_path):
    """If only its declared length were used, reading would go beyond the memory of the tensor."""
    torch.save({"0.weight": torch.ones(7, 31)}, tmp_path / "original.pt")
    claim, larger = b"K\x07K\x1f", b"M`\xeaM`\xea"  # 7 and 31, 60,000 twice
    with zipfile.ZipFile(tmp_path / "original.pt") as original, zipfile.ZipFile(tmp_path / "a.pt", "w") as changed:
        for name in original.namelist():
            data = original.read(name)
            if name.endswith("data.pkl"):
                assert claim in data and b"K\xd9" in data  # 217 entries
                data = data.replace(claim, larger).replace(b"K\xd9", b"J" + struct.pack("<i", 2_000_000_000))
                data = data.replace(b"K\x1fK\x01", b"M`\xeaK\x01")
            changed.writestr(name, data)
    refused(tmp_path / "a.pt", "does not match expected size")


class Payload:
    """Unpickled, it leaves a mark."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return (os.mkdir, (str(self.mark),))


def test_the_payload_works(tmp_path):
    pickle.loads(pickle.dumps(Payload(tmp_path / "mark")))
    assert (tmp_path / "mark").exists()


@pytest.mark.parametrize(
    "name", ["a.pt", "a.pth", "a.bin", "a.npz", "a.npy", "a.safetensors", "a.pkl", "a.pickle", "a.pt2", "a"]
)
@pytest.mark.parametrize("how", ["plain", "with a state dict", "legacy", "zip", "numpy"])
def test_a_pickle_is_never_run(tmp_path, name, how):
    mark, path = tmp_path / "mark", tmp_path / name
    if how == "plain":
        path.write_bytes(pickle.dumps(Payload(mark)))
    elif how == "numpy":
        with path.open("wb") as file:
            np.save(file, np.array([Payload(mark)], dtype=object), allow_pickle=True)
    else:
        document = Payload(mark) if how == "legacy" else {"state_dict": dict(STATE), "extra": Payload(mark)}
        torch.save(document, path, _use_new_zipfile_serialization=how == "zip")
    refused(path)
    assert not mark.exists()


def test_a_pickle_before_a_zip_archive_is_a_pickle(tmp_path):
    """A zip archive may have anything in front."""
    mark = tmp_path / "mark"
    archive = put(tmp_path / "whole.pt").read_bytes()
    (tmp_path / "a.pt").write_bytes(pickle.dumps(Payload(mark)) + archive)
    refused(tmp_path / "a.pt", "plain pickle")
    assert not mark.exists()


def test_a_whole_model_says_what_to_save_instead(tmp_path):
    torch.save(nn.Sequential(nn.Linear(3, 2)), tmp_path / "a.pt")
    refused(tmp_path / "a.pt", r"it contains .*Sequential.*state_dict\(\)")


@pytest.mark.parametrize("document", [[1, 2], {"lr": 0.1}, torch.ones(3, 3), {1: torch.ones(3, 3)}])
def test_other_documents_are_refused(tmp_path, document):
    torch.save(document, tmp_path / "a.pt")
    refused(tmp_path / "a.pt", "expected named tensors in")


def test_torchscript_is_refused(tmp_path):
    with warnings.catch_warnings(action="ignore"):
        torch.jit.script(nn.Sequential(nn.Linear(3, 2))).save(tmp_path / "a.pt")
    refused(tmp_path / "a.pt", "TorchScript")


@pytest.mark.parametrize("ending", ["safetensors", "npz", "npy", "pt", "pt2"])
def test_a_huge_file_is_not_read(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    path.touch()
    os.truncate(path, 10_000_000_000)
    refused(path, "has 10.0 GB, but at most 4.0 GB can be read")


@pytest.mark.parametrize("ending", ["safetensors", "npz", "npy", "pt", "pt2"])
def test_folders_and_files_that_are_empty_or_missing(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    refused(path, "No such file")
    path.touch()
    refused(path, "is empty")
    path.unlink()
    path.mkdir()
    refused(path, "is a folder")


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.npz")
    refused(tmp_path / "a.npz", "not a regular file")


def test_a_name_with_a_zero_byte(tmp_path):
    with pytest.raises(UserError, match="null"):
        load(f"{tmp_path}/a\0.npz")


def test_an_encrypted_archive(tmp_path):
    path = put(tmp_path / "a.npz")
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    refused(path, "encrypted")


@pytest.mark.parametrize("name", ["a.npz", "a.pt", "a.pt2"])
def test_two_members_of_one_name(tmp_path, name):
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(tmp_path / name, "w") as archive:
        for _ in range(2):
            archive.writestr("weight.npy", npy((2, 2), content=bytes(16)))
    refused(tmp_path / name, "two members with the same name")


def test_members_that_are_no_arrays(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("setup.py", "raise SystemExit")
    refused(tmp_path / "a.npz", r"'setup\.py', which is not a \.npy array")


@pytest.mark.parametrize("name", ["fc\n1.weight", "\x1b[2Jweight", "a" * 5000 + ".weight"])
def test_unprintable_and_long_names_are_refused(tmp_path, name):
    put(tmp_path / "a.safetensors", {name: torch.ones(2, 2)})
    refused(tmp_path / "a.safetensors", "expected printable tensor names")
    put(tmp_path / "a.pt", {name: torch.ones(2, 2)})
    refused(tmp_path / "a.pt", "expected printable tensor names")


@pytest.mark.parametrize(
    "header",
    [
        {"0.weight": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 160]}},
        {"0.weight": {"dtype": "F32", "shape": [9, 9], "data_offsets": [0, 16]}},
        {"0.weight": {"dtype": "F32", "shape": [2**62, 4], "data_offsets": [0, 16]}},
        {"0.weight": {"dtype": "X99", "shape": [2, 2], "data_offsets": [0, 16]}},
        {"0.weight": {"dtype": "F32", "shape": [2, 2], "data_offsets": [16, 0]}},
        {"0.weight": 3},
        {},
        [],
    ],
)
def test_headers_of_safetensors_that_lie(tmp_path, header):
    text = json.dumps(header).encode()
    (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + bytes(16))
    refused(tmp_path / "a.safetensors", "not a valid safetensors file|contains no tensors")


def test_endings_in_capitals(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.ones((2, 3)))
    (tmp_path / "a.npz").rename(tmp_path / "a.NPZ")
    assert read_tensors(tmp_path / "a.NPZ")[0]["X"].shape == (2, 3)


def test_numbers_of_other_types_are_taken_as_such(tmp_path):
    np.savez(tmp_path / "a.npz", i=np.arange(3), u=np.ones(2, np.uint8), b=np.array([True]), h=np.ones(2, np.float16))
    tensors, _ = read_tensors(tmp_path / "a.npz")
    assert [tensors[k].dtype for k in "iubh"] == [torch.float64] * 3 + [torch.float32]
    assert tensors["i"].tolist() == [0, 1, 2]


def test_arrays_in_the_order_of_fortran_and_of_big_endian_machines(tmp_path):
    array = np.arange(6, dtype=">f8").reshape(2, 3)
    np.savez(tmp_path / "a.npz", a=np.asfortranarray(array), b=array)
    tensors, _ = read_tensors(tmp_path / "a.npz")
    assert tensors["a"].tolist() == tensors["b"].tolist() == array.tolist()


def test_text_from_readers_fits_on_one_line():
    assert (
        one_line("a\n b\x1b\tc") == "a b� c" and len(one_line("x" * 999)) == 200 and one_line(KeyError()) == "KeyError"
    )
