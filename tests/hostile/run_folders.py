"""Run folders in which something was changed, with a manifest that fits, as somebody who sends them might make them.

Each case is a folder with ``runs``, which has one changed run, and ``outside``, which must neither be read nor written.
"""

import json
import os
import random
import shutil
import socket
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from resealed import resealed

from hostile.limits import kind
from relulab import Local, UserError, find_study, run_study
from relulab.lab.cli import main
from relulab.lab.run.store import Run

SECRET = "the contents of another file"
CHANGES = {"steps": 10}
COMMANDS = (
    "runs", "runs --json", "watch recovery --json", "watch recovery", "report --out out", 
    "clean --yes", "run SS.F7 --preset smoke --set steps=10 --workers 1", "show SS.F7",
    "run SS.F7 --preset smoke --set steps=10 --workers 1 --redraw --json",
    "run SS.F7 --preset smoke --workers 1 --config CONFIG",
)  # fmt: skip
ODD = (
    b"", b"[]", b"{}", b"null", b'{"schema":1}', b'{"schema":2}', b"[" * 100_000, b"{" * 10, b"\xff\xfe\0", b"NaN",
    b'{"a":' * 50_000, b"[1e999]", b"9" * 5000, b'"\\ud800"', b'{"schema":[],"schema":{}}', b"\0" * 100_000, b"true",
)  # fmt: skip
VALUES = (
    None, [], {}, True, -1, 10**300, 1e308, "", "\x1b[31mred", "\x1b]0;title\x07", "[/b]", "[red]x", "\u202eabc",
    "<script>alert(1)</script>", "javascript:alert(1)", "../../outside/secret", "/etc/passwd", "x" * 100_000,
    [[[[]]]], "{{ 7 * 7 }}", "a\nb", "\ud800", 2**63, "nan", {"a": {"b": [None]}}, "file:///etc/passwd",
)  # fmt: skip


@cache
def finished() -> Path:
    """A folder with one small finished run, made once."""
    root = Path(mkdtemp())
    run_study(find_study("SS.F7").configured("smoke", CHANGES), preset="smoke", runs=root / "runs", engine=Local(1))
    return root


def copied(folder: Path) -> tuple[Path, Path]:
    """Return the run of a case, and the folder outside."""
    shutil.copytree(finished() / "runs", folder / "runs")
    (folder / "outside").mkdir()
    (folder / "outside" / "secret").write_text(SECRET)
    return next((folder / "runs" / "recovery").iterdir()), folder / "outside"


def commands(folder: Path) -> None:
    """Give a command that reads runs; its outcome is an error unless it is an answer or one sentence."""
    rng = random.Random(folder.name)
    words = rng.choice(COMMANDS)
    config = next(folder.glob("runs/*/*/config.json"), folder / "config.json")
    os.chdir(folder)
    out, err = (os.open(folder / name, os.O_CREAT | os.O_WRONLY) for name in ("stdout", "stderr"))
    os.dup2(out, 1), os.dup2(err, 2)
    sys.argv = ["relulab", *(str(config) if word == "CONFIG" else word for word in words.split())]
    code: object = 0
    try:
        main()
    except SystemExit as end:
        code = end.code
    sys.stdout.flush(), sys.stderr.flush()
    said, told = ((folder / name).read_text(errors="replace") for name in ("stdout", "stderr"))
    shown = [c for c in said + told if not (c.isprintable() or c in "\n\t")]
    if shown or "Traceback" in told or "internal error" in told or code not in (0, 1, 2, 3) or len(told) > 20_000:
        raise AssertionError(f"{words}: exit {code}, {shown[:3]}, {told[-300:]!r}")
    if code in (2, 3):
        raise UserError("refused")


def harmed(folder: Path) -> str:
    """What reading a case has leaked or written outside, in words; empty if nothing."""
    outside = folder / "outside"
    if sorted(path.name for path in outside.iterdir()) != ["secret"] or (outside / "secret").read_text() != SECRET:
        return "WRITTEN OUTSIDE"
    files = [
        Path(top) / name
        for start in ("out", "runs")
        if not (folder / start).is_symlink()
        for top, _, names in os.walk(folder / start)
        for name in names
    ]
    plain = [path for path in files if not path.is_symlink() and path.is_file() and path.stat().st_nlink == 1]
    if any(SECRET.encode() in path.read_bytes() for path in plain):
        return "LEAKED"
    pages = [path for path in plain if "out" in path.parts and path.suffix in (".html", ".svg", ".js")]
    return "SCRIPT" if any(b"<script>alert" in path.read_bytes() for path in pages) else ""


def files_of(run: Path) -> list[Path]:
    return sorted(path for path in run.rglob("*") if path.is_file())


def sealed(run: Path, rng: random.Random) -> None:
    """Write a manifest that fits, in most cases."""
    if rng.random() < 0.7:
        try:
            resealed(run)
        except (AssertionError, OSError, ValueError, TypeError, AttributeError, UserError):
            return


@kind(commands, 2)
def odd_contents_of_files_of_a_run(folder: Path, rng: random.Random) -> Path:
    run, _ = copied(folder)
    path = rng.choice(files_of(run))
    path.write_bytes(rng.choice(ODD))
    sealed(run, rng)
    return folder


@kind(commands, 3)
def odd_values_in_documents_of_a_run(folder: Path, rng: random.Random) -> Path:
    run, _ = copied(folder)
    path = rng.choice(sorted(run.glob("*.json")))
    document = json.loads(path.read_text())
    for _ in range(rng.randrange(1, 4)):
        _replace(document, rng)
    path.write_text(json.dumps(document))
    sealed(run, rng)
    return folder


def _replace(document: object, rng: random.Random) -> None:
    """Replace one value at any depth."""
    while True:
        keys = list(document) if isinstance(document, dict) else list(range(len(document)))
        if not keys:
            return
        key = rng.choice(keys)
        inner = document[key]
        if not (isinstance(inner, dict | list) and inner and rng.random() < 0.7):
            break
        document = inner
    if isinstance(document, dict) and rng.random() < 0.2:
        document[str(rng.choice(VALUES))] = document.pop(key)
    else:
        document[key] = rng.choice(VALUES)


@kind(commands, 2)
def links_pipes_and_devices_in_a_run(folder: Path, rng: random.Random) -> Path:
    run, outside = copied(folder)
    path = rng.choice([*files_of(run), run / "lock", run / "log.jsonl", run / "progress.json"])
    if rng.random() < 0.5:
        sealed(run, rng)
    path.unlink(missing_ok=True)
    kinds: list[Callable[[], object]] = [
        lambda: path.symlink_to(outside / "secret"), lambda: path.symlink_to("/dev/zero"),
        lambda: path.symlink_to(path), lambda: path.symlink_to("nowhere"), lambda: path.symlink_to(outside),
        lambda: os.link(outside / "secret", path), lambda: os.mkfifo(path), path.mkdir, lambda: _socket(path),
        lambda: path.symlink_to("/dev/full"), lambda: path.symlink_to("/proc/self/environ"),
    ]  # fmt: skip
    rng.choice(kinds)()
    return folder


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the path of a socket must be short
    try:
        socket.socket(socket.AF_UNIX).bind(path.name)
    finally:
        os.chdir(here)


@kind(commands)
def linked_folders(folder: Path, rng: random.Random) -> Path:
    run, outside = copied(folder)
    path = rng.choice([run, run.parent, run / "units", run / "figures", run / "checkpoints", folder / "out"])
    if path.exists() and rng.random() < 0.8:
        shutil.rmtree(path)
    elif path.exists():
        path = path.with_name("x" + path.name)
    path.symlink_to(rng.choice([outside, finished() / "nothing", Path("/"), path]))
    return folder


@kind(commands)
def changed_bytes_of_results_and_figures(folder: Path, rng: random.Random) -> Path:
    run, _ = copied(folder)
    path = rng.choice([path for path in files_of(run) if path.suffix != ".json"])
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 3, 100])):
        if content:
            content[rng.randrange(len(content))] = rng.randrange(256)
    path.write_bytes(bytes(content[: rng.choice([len(content), len(content), len(content) // 2])]))
    sealed(run, rng)
    return folder


@kind(commands)
def hostile_pictures(folder: Path, rng: random.Random) -> Path:
    run, _ = copied(folder)
    path = rng.choice(sorted(run.glob("figures/*.svg")))
    bombs = "".join(f'<!ENTITY a{i + 1} "{f"&a{i};" * 10}">' for i in range(12))
    inner = rng.choice([
        "<script>alert(1)</script>", '<image href="file:///etc/passwd"/>', '<a href="javascript:alert(1)">x</a>',
        "<foreignObject><body onload='alert(1)'/></foreignObject>", '<g onclick="alert(1)"/>', "<g>" * 100_000,
        '<style>@import "http://x/y"</style>', '<use href="http://x/y.svg#z"/>', "<animate attributeName='href'/>",
    ])  # fmt: skip
    start = rng.choice(["", f'<!DOCTYPE svg [<!ENTITY a0 "x">{bombs}]>', '<?xml-stylesheet href="x"?>'])
    shown = "&a12;" if "ENTITY" in start else ""
    path.write_text(f'{start}<svg xmlns="http://www.w3.org/2000/svg">{shown}{inner}</svg>')
    pdf = path.with_suffix(".pdf")
    pdf.write_bytes(rng.choice([b"%PDF-1.4 /OpenAction /JavaScript (alert)", b"MZ", pdf.read_bytes() + b"/Launch"]))
    sealed(run, rng)
    return folder


@kind(commands)
def odd_manifests(folder: Path, rng: random.Random) -> Path:
    run, outside = copied(folder)
    path = run / "manifest.json"
    document = json.loads(path.read_text())
    names = ["../../../outside/secret", str(outside / "secret"), "x/../../y", "", ".", "\0", "units", "a" * 300]
    entries = {rng.choice(names): rng.choice(["0" * 64, None, 7, []]) for _ in range(3)}
    many = {f"f{i}": "0" * 64 for i in range(200_000)} if rng.random() < 0.1 else {}
    files = next((key for key, value in document.items() if isinstance(value, dict) and "result.nc" in value), "files")
    document[files] = {**document.get(files, {}), **entries, **many}
    path.write_text(json.dumps(document))
    return folder


@kind(commands)
def odd_names_of_folders(folder: Path, rng: random.Random) -> Path:
    run, _ = copied(folder)
    names = ["[red]", "[bold", "\x1b[31m", "a\nb", "x" * 200, "\u202e", "smoke-", "-rf", "<b>", "'\"", " ", "%s{0}"]
    target = rng.choice([run, run.parent])
    target.rename(target.with_name(rng.choice(names)))
    return folder


@kind(commands)
def half_written_files(folder: Path, rng: random.Random) -> Path:
    run, _ = copied(folder)
    for _ in range(3):
        path = rng.choice(files_of(run))
        names = [".relulab-99999999-abc.tmp", ".relulab-1-abc.tmp", f".{path.name}.99999999.part", path.name + "~"]
        path.with_name(rng.choice(names)).write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    for lost in rng.sample(files_of(run), rng.randrange(4)):
        if lost.name != "relulab-run.json":
            lost.unlink()
    assert Run(run).path.exists()
    return folder
