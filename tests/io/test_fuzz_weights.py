"""Ten thousand damaged weight files: each is refused with a one-line error, or gives a network that can be evaluated.

The files are read in a separate process, so that a crash of the interpreter can be attributed to its case.
"""

import faulthandler
import io
import json
import random
import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

CASES = 10_000
HANG = 20  # seconds after which a single file counts as one that hangs
MEMORY = 6_000_000_000  # bytes of address space over what is in use: a file of a few kilobytes needs none of it


def seeds(folder: Path) -> list[Path]:
    """Small valid files of every format."""
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
    pictures = nn.Sequential(
        nn.Conv2d(1, 2, 2, padding=1), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 2)
    ).eval()
    state = plain.state_dict()
    arrays = {name: tensor.numpy() for name, tensor in state.items()}
    save_file(state, folder / "a.safetensors", {"slope": "0.1"})
    save_file({name: t.to(torch.bfloat16) for name, t in state.items()}, folder / "b.safetensors")
    np.savez(folder / "a.npz", **arrays)
    np.savez_compressed(folder / "b.npz", W1=arrays["0.weight"].T, b1=arrays["0.bias"], W2=arrays["2.weight"].T)
    np.save(folder / "weight.npy", arrays["0.weight"])
    np.save(folder / "kernel.npy", np.asfortranarray(arrays["2.weight"].astype(np.float16)))
    torch.save(state, folder / "a.pt")
    torch.save({"state_dict": state, "epoch": 3, "lr": [0.1, None, True]}, folder / "b.pth")
    for name, module, shape in (("a", plain, (5, 3)), ("b", pictures, (5, 1, 4, 4))):
        dynamic = {"input": {0: torch.export.Dim.AUTO}}
        program = torch.export.export(module, (torch.zeros(shape),), dynamic_shapes=dynamic)
        torch.export.save(program, folder / f"{name}.pt2")
    return sorted(folder.iterdir())


NUMBERS = (b"0", b"-1", b"2", b"65", b"99999", b"4294967296", b"9223372036854775807", b"1e999", b"NaN", b"1" * 5000)
WORDS = (
    b'"',
    b"{",
    b"}",
    b"[" * 3000,
    b"null",
    b"true",
    b"'",
    b"\\d",
    b"\x00",
    b"\xff\xfe",
    b"\n",
    b"\x1b[2J",
    b"()",
    b",",
)
BYTES = (b"\x00", b"\x01", b"\x7f", b"\x80", b"\xff", b"\xff\xff\xff\x7f", b"\xff" * 8)


def mutated(rng: random.Random, content: bytes, other: bytes) -> bytes:
    """Apply one to four mutations: flip, cut, insert, splice, replace a number or a word, or duplicate a part."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        # Half of the changes hit the first bytes, where formats keep their headers.
        end = len(data) if rng.random() < 0.5 else min(len(data), 200)
        at = rng.randrange(end) if end else 0
        kind = rng.randrange(8)
        if kind == 0 and data:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[at : at + rng.choice((1, 8, len(data)))]
        elif kind == 2:
            data[at:at] = rng.choice(WORDS + BYTES)
        elif kind == 3:
            start = rng.randrange(len(other))
            data[at : at + rng.choice((0, 16, len(data)))] = other[start : start + rng.choice((16, 200, len(other)))]
        elif kind == 4:
            digits = [i for i, byte in enumerate(data) if 48 <= byte < 58]
            if digits:
                where = rng.choice(digits)
                data[where : where + 1] = rng.choice(NUMBERS)
        elif kind == 5:
            new = rng.choice(BYTES)
            data[at : at + len(new)] = new
        elif kind == 6:
            data[at:at] = data[at : at + rng.choice((1, 30, 300))]
        else:
            one, two = rng.choice(NAMES), rng.choice(NAMES)
            data = bytearray(bytes(data).replace(one, two, rng.choice((1, 2, 50))))
    return bytes(data)


NAMES = (
    b"weight", b"bias", b"F32", b"BF16", b"F8_E4M3", b"I64", b"shape", b"<f4", b"|O", b">c8", b"<U4", b"0.", b"2.",
    b"relu", b"linear", b"conv2d", b"default", b"out", b"as_int", b"as_none", b"as_tensor", b"true", b"false",
    b"FloatStorage", b"HalfStorage", b"_rebuild_tensor_v2", b"OrderedDict", b"cpu", b"meta", b"cuda", b"little", b"big",
    b"storage", b"torch", b"dtype", b"sizes", b"strides", b"flatten", b"max_pool2d", b"batch_norm", b"view", b"cat",
)  # fmt: skip


def rezipped(rng: random.Random, content: bytes, path: Path) -> None:
    """Change a member of a zip archive and keep its checksums valid, so that the change reaches the reader."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(path, "w") as changed:
        inside = {member.filename: archive.read(member) for member in archive.infolist()}
        heads = [n for n in inside if n.endswith((".json", ".pkl", ".npy", "byteorder", ".format_version"))]
        chosen = rng.choice(heads if rng.random() < 0.9 else list(inside))
        for name, data in inside.items():
            changed.writestr(name, mutated(rng, data, content) if name == chosen else data)


def tried(path: Path) -> str:
    """Load a file and evaluate the network; every error other than a one-line UserError is raised."""
    from relulab import UserError, load

    try:
        net = load(path)
        shape = [3 if size is None else size for size in net.sizes] if hasattr(net, "sizes") else [3, net.widths[0]]
        net(torch.ones(shape, dtype=next((p.dtype for p in net.parameters() if p.is_floating_point()), None)))
    except UserError as error:
        if len(str(error).splitlines()) != 1 or not str(error).isprintable():
            raise AssertionError(f"not one line: {str(error)!r}") from None
        return "refused"
    return "loaded"


def fuzz(folder: Path, count: int) -> dict[str, int]:
    torch.set_num_threads(1)
    contents = {path: path.read_bytes() for path in seeds(folder)}
    assert {tried(path) for path in contents} == {"loaded"}
    if (pages := Path("/proc/self/statm")).exists():
        in_use = int(pages.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (in_use + MEMORY,) * 2)
    counts = {"loaded": 0, "refused": 0}
    paths = list(contents)
    for case in range(count):
        rng = random.Random(case)
        seed, other = paths[case % len(paths)], rng.choice(paths)
        path = folder / f"case{seed.suffix}" if seed.suffix != ".npy" else folder / "case" / seed.name
        path.parent.mkdir(exist_ok=True)
        if seed.suffix in (".npz", ".pt", ".pth", ".pt2") and rng.random() < 0.6:
            rezipped(rng, contents[seed], path)
        else:
            path.write_bytes(mutated(rng, contents[seed], contents[other]))
        faulthandler.dump_traceback_later(HANG, exit=True)
        (folder / "now").write_text(f"case {case}, from {seed.name}")
        counts[tried(path)] += 1
    faulthandler.cancel_dump_traceback_later()
    return counts


def test_damaged_files_are_refused_or_compute(tmp_path):
    words = [sys.executable, "-W", "error", __file__, str(tmp_path), str(CASES)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{(tmp_path / 'now').read_text()}, exit {done.returncode}: {done.stderr[-3000:]}"
    counts = json.loads(done.stdout)
    assert counts["loaded"] + counts["refused"] == CASES
    # The test is meaningful only if some files are loaded and some are refused.
    assert counts["loaded"] > CASES / 100 and counts["refused"] > CASES / 2


def test_a_crash_of_the_interpreter_has_an_exit_code():
    code = "import ctypes; ctypes.string_at(0)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode not in (0, 1)


def test_other_errors_of_the_reader_are_raised(tmp_path, monkeypatch):
    monkeypatch.setattr("relulab.io.network.read_tensors", lambda path: 1 / 0)
    (tmp_path / "a.npz").write_bytes(b"x")
    with pytest.raises(ZeroDivisionError):
        tried(tmp_path / "a.npz")


if __name__ == "__main__":
    print(json.dumps(fuzz(Path(sys.argv[1]), int(sys.argv[2]))))
