"""What a look at all pairs of a data set costs, and its max-margin vectors. python benchmarks/separability.py [ROWS]

100,000 rows of 100 columns are five thousand million pairs, whose products would fill 40 GB. Time by the wall clock, on
as many threads as torch takes (max-margin: one), and of the processor; memory is the most that the process had so far.
"""

import os
import resource
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # small products of NumPy: two threads would mostly wait for each other

import numpy as np
import torch

import relulab as rl
from relulab.subjects.bias.tools.orthants import OppositeOrthants, SpanningSupports

D, SIDES = 100, ((1_000, 50), (20_000, 100))


def timed(what: str, work):
    wall, processor = time.perf_counter(), time.process_time()
    found = work()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{what:64} {wall:8.3f} s, {processor:8.3f} s of processor time, {memory:.2f} GB at most", flush=True)
    return found


def naive(X: np.ndarray, y: np.ndarray) -> float:
    """What one would write instead, with the whole Gram matrix; seconds for as many rows as fit into memory."""
    start = time.perf_counter()
    G = X @ X.T
    same = y[:, None] == y
    ((G <= 0) & same).sum(), ((G > 0) & ~same).sum()
    return time.perf_counter() - start


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rng = np.random.default_rng(0)
    data = OppositeOrthants(D).draw(rng, n)
    rl.bias.max_margin(data.X[:500], data.y[:500])  # imports what it needs
    print(f"{n:,} rows, {D} columns, {torch.get_num_threads()} threads")
    found = timed("separable: counts and worst pairs", lambda: rl.bias.separability(data.X, data.y, subset=False))
    print(f"    holds: {found.holds}")
    noise, y = rng.standard_normal((n, D)), data.y
    del data
    found = timed("random, half of all pairs broken", lambda: rl.bias.separability(noise, y, subset=False))
    print(f"    broken: {found.broken:,} of {found.equal.count + found.different.count:,}")
    found = timed("the same with the greedy subset", lambda: rl.bias.separability(noise, y))
    print(f"    kept: {len(found.kept)}")
    torch.set_num_threads(1)
    for k, d in SIDES:
        for kind in (OppositeOrthants, SpanningSupports):
            data = kind(d).draw(rng, 2 * k)
            what = f"max-margin, both sides of {k:,} × {d}, {kind.__name__}"
            plus, minus = timed(what, lambda data=data: rl.bias.max_margin(data.X, data.y))
            print(f"    KKT residual {max(plus.residual, minus.residual):.1e}, supports {len(plus.supports)}")
    rows = min(n, 10_000)
    print(f"the whole Gram matrix of {rows:,} rows: {naive(noise[:rows], y.numpy()[:rows]):.2f} s;", end=" ")
    print(f"that of {n:,} has {8 * n * n / 1e9:.0f} GB")


if __name__ == "__main__":
    main()
