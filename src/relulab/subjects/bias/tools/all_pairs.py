"""All pairs of a data set with two classes, checked in blocks: the pairs that violate IB eq. 1, and the worst ones."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations_with_replacement

import numpy as np
import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from relulab.subjects.bias.tools.signed_points import BLOCK, Chunk, Signed

STRIPES = 8  # parts of the work, each with its own tally; fixed, so that results do not depend on the number of cores


@dataclass
class Kind:
    """Counts and extremes over pairs with equal labels, or over pairs with different labels. Pairs are sorted rows."""

    broken: int = 0
    cosine: tuple[float, int, int] = (np.inf, 0, 0)
    """least u_iᵀu_j, with its pair"""
    inner: tuple[float, int, int] = (np.inf, 0, 0)
    """least y_i y_j x_iᵀx_j, in units of the squared largest norm, with its pair"""


@dataclass
class Tally:
    """Counts and extremes over some blocks of pairs."""

    n: int
    wanted: int
    kinds: dict[bool, Kind] = field(default_factory=lambda: {True: Kind(), False: Kind()})
    worst: list[tuple[float, int, int]] = field(default_factory=list)
    degree: np.ndarray = field(init=False)
    """number of violating pairs of every sorted row"""

    def __post_init__(self):
        self.degree = np.zeros(self.n, dtype=np.int64)

    def see(self, s: Signed, a: Chunk, b: Chunk, room: Float64[Tensor, " size"]) -> None:
        """Add all pairs i ≤ j of two chunks.

        Args:
            s: The points with their signs.
            a: First chunk.
            b: Second chunk, not before the first.
            room: Memory for the product, at least (chunk size)².
        """
        shape = a.stop - a.start, b.stop - b.start
        product = torch.mm(s.u[a.start : a.stop], s.u[b.start : b.stop].T, out=room[: shape[0] * shape[1]].view(shape))
        G, same, kind = product.numpy(), a.label == b.label, self.kinds[a.label == b.label]
        below = np.tril_indices(len(G), -1) if a == b else None  # these pairs are counted above the diagonal
        if below:
            G[below] = 2  # larger than any cosine
        least = float(G.min())
        if least < kind.cosine[0]:
            kind.cosine = (least, *_where(G, a, b))
        # a zero inner product violates eq. 1 for equal labels, and satisfies it for different labels
        if (least <= s.tolerance) if same else (least < -s.tolerance):
            broken = np.less_equal(G, s.tolerance) if same else np.less(G, -s.tolerance)
            self._count(kind, broken, a, b)
            self._keep_worst(G, least, broken, a, b)
        bound = least * (a.shortest * b.shortest if least > 0 else a.longest * b.longest)
        if bound < kind.inner[0]:
            G *= s.norms.numpy()[a.start : a.stop, None]
            G *= s.norms.numpy()[b.start : b.stop]
            if below:
                G[below] = np.inf
            kind.inner = min(kind.inner, (float(G.min()), *_where(G, a, b)))

    def _count(self, kind: Kind, broken: Bool[np.ndarray, "k l"], a: Chunk, b: Chunk) -> None:
        columns = np.add.reduce(broken.view(np.uint8), axis=0, dtype=np.uint16)
        kind.broken += int(columns.sum(dtype=np.int64))
        self.degree[b.start : b.stop] += columns
        self.degree[a.start : a.stop] += _row_sums(broken)
        if a == b:  # a zero point paired with itself is one pair, not two
            self.degree[a.start : a.stop] -= broken.diagonal()

    def _keep_worst(self, G: np.ndarray, least: float, broken: np.ndarray, a: Chunk, b: Chunk) -> None:
        full = len(self.worst) >= self.wanted
        if not self.wanted or (full and least >= self.worst[-1][0]):
            return
        i, j = np.nonzero(np.less(G, self.worst[-1][0]) if full else broken)
        value = G[i, j]
        if len(value) > self.wanted:
            few = np.argpartition(value, self.wanted - 1)[: self.wanted]
            i, j, value = i[few], j[few], value[few]
        new = zip(value.tolist(), (i + a.start).tolist(), (j + b.start).tolist(), strict=True)
        self.worst = sorted([*self.worst, *new])[: self.wanted]

    def add(self, other: "Tally") -> None:
        """Add the pairs of another tally.

        Args:
            other: A tally over other blocks of the same points.
        """
        for same, kind in self.kinds.items():
            added = other.kinds[same]
            kind.broken += added.broken
            kind.cosine, kind.inner = min(kind.cosine, added.cosine), min(kind.inner, added.inner)
        self.worst = sorted([*self.worst, *other.worst])[: self.wanted]
        self.degree += other.degree


def _row_sums(M: Bool[np.ndarray, "k l"]) -> Int64[np.ndarray, " k"]:
    """Row sums, adding eight bytes at a time as one integer: no byte overflows, as there are at most BLOCK/8 = 64."""
    if M.shape[1] % 8:
        return np.count_nonzero(M, axis=1)
    return M.view(np.uint64).sum(axis=1).view(np.uint8).reshape(-1, 8).sum(axis=1, dtype=np.int64)


def _where(G: Float64[np.ndarray, "k l"], a: Chunk, b: Chunk) -> tuple[int, int]:
    i, j = divmod(int(G.argmin()), G.shape[1])
    return a.start + i, b.start + j


def tally(s: Signed, wanted: int) -> Tally:
    """Check all pairs, in as many threads as torch uses.

    Args:
        s: The points with their signs.
        wanted: Number of worst pairs to keep.
    """
    blocks = list(combinations_with_replacement(s.chunks, 2))

    def stripe(k: int) -> Tally:
        partial, room = Tally(len(s.u), wanted), torch.empty(BLOCK * BLOCK, dtype=torch.float64)
        for a, b in blocks[k::STRIPES]:
            partial.see(s, a, b, room)
        return partial

    total = Tally(len(s.u), wanted)
    with one_thread_each() as workers, ThreadPoolExecutor(workers) as pool:
        for partial in pool.map(stripe, range(STRIPES)):
            total.add(partial)
    return total


@contextmanager
def one_thread_each() -> Iterator[int]:
    """Let torch use one thread per product, and return the number of threads for products side by side.

    Such products need not wait for each other, which saves most time when other programs use the cores too.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield threads
    finally:
        torch.set_num_threads(threads)
