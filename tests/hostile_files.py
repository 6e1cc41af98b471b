"""Thousands of hostile files, each read in a process with 1 GB more memory than it has and 10 seconds.

Run ``python tests/hostile_files.py`` for the whole table; tests/io/test_bombs.py reads a few files of each kind.
"""

import gzip
import io
import json
import os
import pickle
import random
import resource
import signal
import struct
import sys
import tempfile
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from relulab import UserError, load
from relulab.io.data_file import read_data

SECONDS, MEMORY = 10, 1_000_000_000
Maker = Callable[[Path, random.Random], Path]
KINDS: dict[str, tuple[Maker, Callable[[Path], object], float]] = {}


def kind(reader: Callable[[Path], object], share: float = 1.0):
    """Adds a kind of files. ``share`` is less than 1 for files that take long to make, and more for the most varied."""

    def add(make: Maker) -> Maker:
        KINDS[make.__name__.replace("_", " ")] = (make, reader, share)
        return make

    return add


def outcome(reader: Callable[[Path], object], path: Path) -> str:
    """What reading a file ends in: "read", "refused", or what should not be."""
    out, into = os.pipe()
    child = os.fork()
    if not child:
        os.close(out)
        with os.fdopen(into, "w") as pipe:
            pipe.write(_read(reader, path))
            pipe.flush()
            os._exit(0)
    os.close(into)
    with os.fdopen(out) as pipe:
        words = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return "hangs" if name == "SIGALRM" else f"crash by {name}"
    return words or "crash"


def _read(reader: Callable[[Path], object], path: Path) -> str:
    torch.set_num_threads(1)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(SECONDS)
    try:
        reader(path)
        return "read"
    except UserError as error:
        said = str(error)
        return (
            "refused"
            if "\n" not in said and said.isprintable() and len(said) < 1500
            else f"not a sentence: {said[:200]!r}"
        )
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {Path(where.filename).name}:{where.lineno}"


def network(path: Path) -> None:
    net = load(path)
    if type(net).__name__ == "Program":
        net(torch.zeros([2 if n is None else n for n in net.sizes]))


def table(path: Path) -> None:
    read_data(path)


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


def npz(path: Path, packed: bool = True, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


def npy(shape: str, kind: str = "<f8", data: bytes = b"") -> bytes:
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


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


def programs(folder: Path) -> Path:
    """One small exported program for all that are changed."""
    path = folder / "plain.pt2"
    if not path.exists():
        net = torch.nn.Sequential(
            torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU(), torch.nn.Linear(4, 2), torch.nn.Softmax(1)
        ).eval()
        dynamic = {"input": {0: torch.export.Dim.AUTO}}
        torch.export.save(torch.export.export(net, (torch.zeros(3, 4),), dynamic_shapes=dynamic), path)
    return path


@kind(network, 5)
def changed_programs(folder: Path, rng: random.Random) -> Path:
    """A program in which some numbers, names and operations are others."""
    with zipfile.ZipFile(programs(folder.parent)) as source:
        members = {name: source.read(name) for name in source.namelist()}
    name = next(n for n in members if n.endswith("models/model.json"))
    document = json.loads(members[name])
    graph = document["graph_module"]["graph"]
    for _ in range(rng.randrange(1, 4)):
        _change(graph, rng)
    if rng.random() < 0.1:
        graph["nodes"] = graph["nodes"] * rng.choice([100, 20_000])
    if rng.random() < 0.2:
        config = next(n for n in members if n.endswith("weights_config.json"))
        rows = json.loads(members[config])
        for row in rows["config"].values():
            sizes = row["tensor_meta"]["sizes"]
            if sizes and rng.random() < 0.5:
                sizes[0]["as_int"] = rng.choice([1, 2, 10**9, -1, 200_000])
        members[config] = json.dumps(rows).encode()
    members[name] = json.dumps(document).encode()
    with zipfile.ZipFile(folder / "a.pt2", "w") as archive:
        for each, content in members.items():
            archive.writestr(each, content)
    return folder / "a.pt2"


OPERATIONS = [
    "softmax.int",
    "log_softmax.int",
    "batch_norm.default",
    "view.default",
    "mm.default",
    "sum.default",
    "_softmax.default",
    "cat.default",
    "conv2d.default",
    "max_pool2d.default",
    "adaptive_avg_pool2d.default",
    "group_norm.default",
    "layer_norm.default",
    "transpose.int",
    "select.int",
    "slice.Tensor",
    "chunk.default",
    "split.Tensor",
    "prelu.default",
    "pow.Tensor_Scalar",
    "as_strided.default",
    "avg_pool2d.default",
]


def _change(graph: dict, rng: random.Random) -> None:
    node = rng.choice(graph["nodes"])
    what = rng.random()
    if what < 0.3:
        node["target"] = f"torch.ops.aten.{rng.choice(OPERATIONS)}"
    elif what < 0.6 and node["inputs"]:
        odd = [
            {"as_int": rng.choice([-1, 0, 44, 127, 2**31, 2**62, -(2**63), 10**30])}, {"as_float": 1e308},
            {"as_ints": [rng.choice([0, -1, 2**40, 10**6])] * rng.choice([0, 2, 4, 70])}, {"as_none": True},
            {"as_tensor": {"name": rng.choice(["input", "p_0_weight", "nothing"])}}, {"as_tensors": []},
            {"as_bool": True}, {"as_string": "x"},
        ]  # fmt: skip
        rng.choice(node["inputs"])["arg"] = rng.choice(odd)
    elif what < 0.8:
        node["inputs"] = node["inputs"][: rng.randrange(4)] * rng.choice([1, 1, 5])
    else:
        values = rng.choice(list(graph["tensor_values"].values()))
        values["sizes"] = rng.choice(
            [[], [{}], [{"as_int": -1}], [{"as_int": 10**12}, {"as_int": 4}], [{"as_int": "2"}]]
        )


def main(each: int) -> int:
    """Reads files of every kind and prints a table; the exit code is 1 if any ends as it should not."""
    bad = total = 0
    with tempfile.TemporaryDirectory() as top:
        programs(Path(top))
        load(Path(top) / "plain.pt2")  # starts the process in which programs are tried
        for name, (make, reader, share) in KINDS.items():
            ends: Counter[str] = Counter()
            for number in range(max(1, round(each * share))):
                folder = Path(top) / f"{number}"
                folder.mkdir(exist_ok=True)
                path = make(folder, random.Random(number))
                if path.suffix == ".pt2":
                    load(Path(top) / "plain.pt2")  # so that the process for programs lives before the fork
                ends[outcome(reader, path)] += 1
                executed = (folder / "executed").exists()
                ends["EXECUTED"] += executed
                for old in folder.iterdir():
                    old.unlink()
            total += ends["read"] + ends["refused"]
            wrong = {end: count for end, count in ends.items() if end not in ("read", "refused") and count}
            bad += sum(wrong.values())
            total += sum(wrong.values())
            print(
                f"{name:40} read {ends['read']:4}, refused {ends['refused']:4}, {wrong or 'nothing else'}", flush=True
            )
    print(f"{total} files, {bad} ended as they should not")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
