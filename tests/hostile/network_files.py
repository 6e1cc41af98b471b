"""Files that should contain the weights of a network."""

import io
import json
import os
import pickle
import random
import struct
import zipfile
from pathlib import Path

import numpy as np
import torch

from hostile.limits import kind
from relulab import load


def network(path: Path) -> None:
    net = load(path)
    if type(net).__name__ == "Program":
        net(torch.zeros([2 if n is None else n for n in net.sizes]))


class Call:
    """A pickle of a call."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def torch_file(path: Path, content: bytes) -> Path:
    """A file of torch.save with another pickle in it."""
    buffer = io.BytesIO()
    torch.save({"0.weight": torch.zeros(2, 2)}, buffer)
    with zipfile.ZipFile(buffer) as source, zipfile.ZipFile(path, "w") as copy:
        for name in source.namelist():
            copy.writestr(name, content if name.endswith("data.pkl") else source.read(name))
    return path


@kind(network)
def a_dictionary_that_contains_itself(folder: Path, rng: random.Random) -> Path:
    document: dict = {"epoch": rng.randrange(9)}
    document["model"] = document
    document["weights"] = {"a": document, "w": 1.0}
    torch.save(document, folder / "a.pt")
    return folder / "a.pt"


@kind(network)
def a_large_bytearray(folder: Path, rng: random.Random) -> Path:
    content = pickle.dumps({"x": Call(bytearray, rng.choice([8 * 10**9, 2 * 10**9, 10**12]))}, protocol=2)
    return torch_file(folder / "a.pt", content)


@kind(network)
def calls_in_a_pickle(folder: Path, rng: random.Random) -> Path:
    mark = f"touch {folder / 'executed'}"
    call = rng.choice(
        [Call(os.system, mark), Call(eval, "1"), Call(bytes, 10**10), Call(list, range(3)), Call(set, [1])]
    )
    content = pickle.dumps({"x": call}, protocol=rng.choice([2, 4]))
    return torch_file(folder / rng.choice(["a.pt", "a.pth", "a.bin"]), content)


@kind(network)
def deep_or_long_pickles(folder: Path, rng: random.Random) -> Path:
    depth = rng.choice([10, 1000, 100_000])
    content = b"\x80\x02" + rng.choice([b"]" * depth + b"a" * (depth - 1), b"(" * depth, b"}" + b"K\x01K\x02s" * depth])
    return torch_file(folder / "a.pt", content + b".")


@kind(network)
def tensors_of_many_axes_or_kinds(folder: Path, rng: random.Random) -> Path:
    made = [
        lambda: torch.zeros([1] * rng.choice([9, 40, 64])),
        lambda: torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)]),
        lambda: torch.eye(3).to_sparse(), lambda: torch.zeros(2, dtype=torch.complex64),
        lambda: torch.zeros(1).expand(10**6, 10**6), lambda: torch.empty(10**6, 10**6, device="meta"),
        lambda: torch.full((2, 2), float("nan")),
    ]  # fmt: skip
    torch.save({"0.weight": rng.choice(made)()}, folder / "a.pt")
    return folder / "a.pt"


@kind(network, 0.1)
def many_tensors(folder: Path, rng: random.Random) -> Path:
    from safetensors.numpy import save_file

    count = rng.choice([4000, 6000, 20_000])
    save_file({f"{2 * i}.weight": np.zeros((1, 1), np.float32) for i in range(count)}, folder / "a.safetensors")
    return folder / "a.safetensors"


@kind(network, 3)
def odd_safetensors(folder: Path, rng: random.Random) -> Path:
    header = rng.choice([
        {"0.weight": {"dtype": "F32", "shape": [10**9, 10**9], "data_offsets": [0, 4]}},
        {"0.weight": {"dtype": "F32", "shape": [1], "data_offsets": [0, 2**62]}},
        {"0.weight": {"dtype": "F99", "shape": [1], "data_offsets": [0, 4]}},
        {"0.weight": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]}},
        {"0.weight": {"dtype": "F32", "shape": [1] * 70, "data_offsets": [0, 4]}},
        {"\x1b[31m" * rng.randrange(1, 60): {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}},
        {"__metadata__": {"slope": rng.choice(["nan", "9" * 5000, "-1", "\x1b"])},
         "0.weight": {"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 4]}},
    ])  # fmt: skip
    text = json.dumps(header).encode()
    (folder / "a.safetensors").write_bytes(
        struct.pack("<Q", rng.choice([len(text), len(text), 2**40])) + text + b"\0" * 4
    )
    return folder / "a.safetensors"
