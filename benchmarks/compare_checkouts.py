"""Compares what two checkouts of relulab compute: every study on `smoke`, every theorem, every measurement of files.

    python benchmarks/compare_checkouts.py OLD NEW [--work DIR]

Prints one line for each difference and exits with 1 if there is one. Both checkouts run in the same environment,
through the command line alone, so that they may differ in everything else. Finished work in DIR is used again.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

CALL = "from relulab.lab.cli import main; main()"


def relulab(checkout: Path, *words: str, cwd: Path) -> tuple[int, str]:
    """Exit code and standard output of one command."""
    env = os.environ | {"PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", CALL, *words], env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    return done.returncode, done.stdout.decode()


def network(rng: np.random.Generator, *widths: int, bias: bool = True) -> dict[str, Any]:
    """Weights named as ``nn.Sequential`` names them."""
    found = {}
    for i, (n, k) in enumerate(pairwise(widths)):
        found[f"{2 * i}.weight"] = rng.standard_normal((k, n)) / n**0.5
        if bias:
            found[f"{2 * i}.bias"] = rng.standard_normal(k) / 3
    return found


def files(folder: Path) -> None:
    """Networks and data for the measurements, the same for both checkouts."""
    rng = np.random.default_rng(0)
    a, b = network(rng, 6, 8, 3), network(rng, 6, 12, 3)
    np.savez(folder / "a.npz", **a)
    np.savez(folder / "b.npz", **b)
    for i in range(1, 4):
        np.savez(folder / f"epoch{i}.npz", **{k: v + 0.5**i * rng.standard_normal(v.shape) for k, v in a.items()})
    np.savez(folder / "deep.npz", **network(rng, 6, 8, 7, 3))
    np.savez(folder / "plain.npz", **network(rng, 4, 10, 1, bias=False))
    np.save(folder / "x.npy", rng.standard_normal((300, 6)))
    X, y = np.abs(rng.standard_normal((40, 4))), rng.integers(0, 2, 40)
    np.savez(folder / "separable.npz", X=X * np.where(y, 1, -1)[:, None], y=y)
    np.savez(folder / "mixed.npz", X=rng.standard_normal((40, 4)), y=y)
    Z, w = rng.standard_normal((200, 6)), rng.standard_normal(6)
    np.save(folder / "z.npy", Z)
    np.save(folder / "w.npy", w)
    np.savez(folder / "soft.npz", X=Z, q=1 / (1 + np.exp(-Z @ w)))


MEASUREMENTS = (
    "measure correlation a.npz b.npz --data x.npy --out correlation.nc",
    "measure correlation deep.npz deep.npz --data x.npy --slope 0.1 --threshold 0.9",
    "measure alignment a.npz b.npz --data x.npy --band 0.2",
    "measure gradient-rule a.npz b.npz --data x.npy",
    "measure gradient-rule a.npz deep.npz --data x.npy",
    "measure strength a.npz epoch1.npz epoch2.npz epoch3.npz --data x.npy --threshold 0.8",
    "measure separability separable.npz --out separability.npz",
    "measure separability mixed.npz --network plain.npz --pairs 3",
    "measure max-margin separable.npz --out margins.npz",
    "measure transfer-risk z.npy --teacher w.npy --out risk.npz",
    "measure transfer-risk soft.npz --label q --n 1,2,5 --sets 20 --tight --risk 0.1",
    "prune b.npz --data x.npy --keep 6 -o small.safetensors",
    "prune b.npz --data x.npy --teacher a.npz --tolerance 0.01 --refit",
)


def theorem_files(theorem: str) -> list[str]:
    """Checks of a theorem on files; those that a theorem does not take end alike in both checkouts."""
    return [
        f"check {theorem} --teacher a.npz --student b.npz --data x.npy",
        f"check {theorem} --data separable.npz",
        f"check {theorem} --data separable.npz --network plain.npz",
        f"check {theorem} --data z.npy --teacher w.npy",
        f"check {theorem} --data soft.npz --label q",
    ]


def outcomes(checkout: Path, work: Path) -> dict[str, str]:
    """What the checkout computes, by command."""
    kept = work / "outcomes.json"
    known = json.loads(kept.read_text()) if kept.exists() else {}
    work.mkdir(parents=True, exist_ok=True)
    files(work)
    rows = json.loads(relulab(checkout, "list", "--json", cwd=work)[1])
    names = {kind: [row for row in rows if row["kind"] == kind] for kind in ("study", "theorem", "instrument")}
    known["instruments"] = " ".join(sorted(row["name"] for row in names["instrument"]))
    jobs = [("study", row["name"]) for row in names["study"]]
    for row in names["theorem"]:
        jobs += [("json", f"check {row['ids'][0]}"), *(("json", words) for words in theorem_files(row["ids"][0]))]
    jobs += [("json", words) for words in MEASUREMENTS]

    def one(job: tuple[str, str]) -> None:
        kind, words = job
        if words not in known:
            known[words] = study(checkout, words, work) if kind == "study" else answer(checkout, words, work)
            print(f"{checkout}: {words}", file=sys.stderr)

    with ThreadPoolExecutor(2) as pool:
        try:
            list(pool.map(one, jobs))
        finally:
            kept.write_text(json.dumps(known, indent=1))
    return known


def study(checkout: Path, name: str, work: Path) -> str:
    """Checksum of result.nc, and the claims."""
    words = ("run", name, "--preset", "smoke", "--workers", "1", "--runs", str(work / "runs"), "--json")
    code, text = relulab(checkout, *words, cwd=work)
    if code == 2:
        return "not run: its data are missing"
    summary = json.loads(text)
    digest = hashlib.sha256((Path(summary["run"]) / "result.nc").read_bytes()).hexdigest()
    return json.dumps([digest, Path(summary["run"]).name, summary["claims"]])


def answer(checkout: Path, words: str, work: Path) -> str:
    """Exit code and document, and a checksum of the arrays that --out wrote."""
    code, text = relulab(checkout, *words.split(), "--json", cwd=work)
    found = {"code": code, "document": json.loads(text) if text.strip() else None}
    for option in ("--out", "-o"):
        if option in words.split():
            found["written"] = _digest(work / words.split()[words.split().index(option) + 1])
    return json.dumps(found)


def _digest(path: Path) -> str:
    """Of the arrays in a file: formats may add time stamps and keep their notes in any order."""
    if path.suffix == ".npz":
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
    elif path.suffix == ".safetensors":
        from safetensors.numpy import load_file

        arrays = load_file(path)
    else:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    return hashlib.sha256(b"".join(name.encode() + arrays[name].tobytes() for name in sorted(arrays))).hexdigest()


def same(old: str, new: str | None) -> bool:
    """Whether an outcome is the same; a document of the newer checkout may have more fields."""
    if new is None or old == new or not old.startswith("{"):
        return old == new
    before, after = json.loads(old), json.loads(new)
    if isinstance(before["document"], dict) and isinstance(after["document"], dict):
        after["document"] = {key: after["document"].get(key) for key in before["document"]}
    return before == after


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--work", type=Path, default=Path("compared"))
    options = parser.parse_args()
    old, new = (
        outcomes(path.resolve(), (options.work / name).resolve())
        for name, path in (("old", options.old), ("new", options.new))
    )
    differences = [words for words in old if not same(old[words], new.get(words))]
    for words in differences:
        print(f"different: {words}\n  old: {old[words][:600]}\n  new: {(new.get(words) or 'nothing')[:600]}")
    print(f"{len(old)} outcomes, {len(differences)} differ; {len(set(new) - set(old))} are new")
    sys.exit(bool(differences))


if __name__ == "__main__":
    main()
