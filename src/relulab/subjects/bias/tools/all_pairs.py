"""All pairs of a data set of two classes, looked at in blocks: which of them break IB eq. (1), and the worst ones."""

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

STRIPES = 8  # parts of the work, each with a tally of its own; fixed, so that answers do not depend on the cores


@dataclass
class Kind:
    """What was seen of the pairs of equal labels, or of those of different ones. Pairs are of sorted rows."""

    broken: int = 0
    cosine: tuple[float, int, int] = (np.inf, 0, 0)
    """the least u_iᵀu_j, with its pair"""
    inner: tuple[float, int, int] = (np.inf, 0, 0)
    """the least of y_i y_j x_iᵀx_j, in squares of the largest norm, with its pair"""


@dataclass
class Tally:
    """What a look at some blocks found."""

    n: int
    wanted: int
    kinds: dict[bool, Kind] = field(default_factory=lambda: {True: Kind(), False: Kind()})
    worst: list[tuple[float, int, int]] = field(default_factory=list)
    degree: np.ndarray = field(init=False)
    """of every sorted row, the broken pairs that it is in"""

    def __post_init__(self):
        self.degree = np.zeros(self.n, dtype=np.int64)

    def see(self, s: Signed, a: Chunk, b: Chunk, room: Float64[Tensor, " size"]) -> None:
        """Looks at all pairs i ≤ j of two chunks."""
        shape = a.stop - a.start, b.stop - b.start
        product = torch.mm(s.u[a.start : a.stop], s.u[b.start : b.stop].T, out=room[: shape[0] * shape[1]].view(shape))
        G, same, kind = product.numpy(), a.label == b.label, self.kinds[a.label == b.label]
        below = np.tril_indices(len(G), -1) if a == b else None  # pairs that are seen above the diagonal
        if below:
            G[below] = 2  # more than any cosine
        least = float(G.min())
        if least < kind.cosine[0]:
            kind.cosine = (least, *_where(G, a, b))
        # A zero product breaks the rule of equal labels, and keeps that of different ones.
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
        if a == b:  # a zero point with itself is one pair
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
        for same, kind in self.kinds.items():
            its = other.kinds[same]
            kind.broken += its.broken
            kind.cosine, kind.inner = min(kind.cosine, its.cosine), min(kind.inner, its.inner)
        self.worst = sorted([*self.worst, *other.worst])[: self.wanted]
        self.degree += other.degree


def _row_sums(M: Bool[np.ndarray, "k l"]) -> Int64[np.ndarray, " k"]:
    """Eight bytes at a time as one whole number: no byte overflows, for there are at most BLOCK/8 = 64 of these."""
    if M.shape[1] % 8:
        return np.count_nonzero(M, axis=1)
    return M.view(np.uint64).sum(axis=1).view(np.uint8).reshape(-1, 8).sum(axis=1, dtype=np.int64)


def _where(G: Float64[np.ndarray, "k l"], a: Chunk, b: Chunk) -> tuple[int, int]:
    i, j = divmod(int(G.argmin()), G.shape[1])
    return a.start + i, b.start + j


def tally(s: Signed, wanted: int) -> Tally:
    """A look at all pairs; the stripes of the work go to as many threads as torch has."""
    blocks = list(combinations_with_replacement(s.chunks, 2))

    def stripe(k: int) -> Tally:
        found, room = Tally(len(s.u), wanted), torch.empty(BLOCK * BLOCK, dtype=torch.float64)
        for a, b in blocks[k::STRIPES]:
            found.see(s, a, b, room)
        return found

    whole = Tally(len(s.u), wanted)
    with one_thread_each() as workers, ThreadPoolExecutor(workers) as pool:
        for part in pool.map(stripe, range(STRIPES)):
            whole.add(part)
    return whole


@contextmanager
def one_thread_each() -> Iterator[int]:
    """Threads that torch would use for one product, for as many products of one thread: they need not wait for
    each other, which costs most when other programs want the cores."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield threads
    finally:
        torch.set_num_threads(threads)
