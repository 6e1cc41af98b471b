"""A subset of a data set on which IB eq. (1) holds, by a greedy rule."""

import numpy as np
import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from relulab.subjects.bias.tools.all_pairs import one_thread_each, tally
from relulab.subjects.bias.tools.signed_points import BLOCK, Signed, part

AT_ONCE = 500  # of so many points in broken pairs one goes at a time
CROWDED = 0.9  # share of the points looked at that must still be in broken pairs


def separable_subset(s: Signed, degree: Int64[np.ndarray, " n"]) -> Int64[Tensor, " k"]:
    """Rows of points that keep eq. (1) among themselves, found greedily; ``degree`` are the broken pairs of each point.

    Of the m points that are in broken pairs, the ⌊m/500⌋ in most of them go, at least one, ties to the lower row; what
    is left is counted again, until no pair is broken. Up to 1,000 such points that is one at a time. Then those that
    went come back, the last one first, if they break no pair with what is kept. So no point could be added, but a
    larger subset may exist: to find the largest is a hard problem. The subset is looked at once more, pair by pair.
    """
    kept = np.arange(len(s.u))
    while degree.any():
        with one_thread_each():
            gone = _removed(s, kept, degree)
            kept = _returned(s, np.setdiff1d(kept, gone), gone[::-1])
        # Rounding at the very threshold may differ between two ways to multiply: what is given has been checked.
        degree = tally(part(s, kept), 0).degree
    return s.order[torch.from_numpy(kept)].sort().values


def _removed(s: Signed, rows: Int64[np.ndarray, " k"], degree: Int64[np.ndarray, " k"]) -> Int64[np.ndarray, " r"]:
    """The points that go, in their order."""
    n, order = len(s.u), s.order.numpy()
    live, left = rows[degree > 0], degree[degree > 0]
    u, gone, count = s.u[torch.from_numpy(live)], [], len(live)
    while count:
        many = max(1, count // AT_ONCE)
        key = left * n + (n - 1 - order[live])  # most pairs first, then the lower row
        if many == 1:
            first = np.array([key.argmax()])
        else:
            first = np.argpartition(key, len(key) - many)[-many:]
            first = first[np.argsort(-key[first])]
        gone.append(live[first])
        left -= _broken(s, gone[-1], live, u)
        left[first] = 0
        stay = left > 0
        count = int(stay.sum())
        if count < CROWDED * len(live):  # points that need no more looks would be multiplied on and on
            live, left, u = live[stay], left[stay], u[torch.from_numpy(stay)]
    return np.concatenate(gone)


def _broken(
    s: Signed, a: Int64[np.ndarray, " k"], b: Int64[np.ndarray, " m"], u: Float64[Tensor, "m d"]
) -> Int64[np.ndarray, " m"]:
    """Of every point b, how many pairs with points a break eq. (1); all are sorted rows, u the points b."""
    a = np.sort(a)  # by label
    G, positive = (s.u[torch.from_numpy(a)] @ u.T).numpy(), int((s.labels[a] == 1).sum())
    count = np.zeros(len(b), dtype=np.int64)
    for label, some in ((1, G[:positive]), (-1, G[positive:])):
        rule = np.where(s.labels[b] == label, s.tolerance, np.nextafter(-s.tolerance, -1))
        count += np.add.reduce(np.less_equal(some, rule).view(np.uint8), axis=0, dtype=np.uint16)
    return count


def _returned(s: Signed, kept: Int64[np.ndarray, " k"], gone: Int64[np.ndarray, " r"]) -> Int64[np.ndarray, " more"]:
    """What is kept, with those of the others that break no pair with it, taken in their order."""
    gone = gone[s.norms.numpy()[gone] > 0]
    for start in range(0, len(kept), BLOCK):
        gone = _fitting(s, gone, kept[start : start + BLOCK])
    back = []
    while len(gone):
        back.append(gone[:1])
        gone = _fitting(s, gone[1:], gone[:1])
    return np.sort(np.concatenate([kept, *back]))


def _fitting(s: Signed, rows: Int64[np.ndarray, " k"], others: Int64[np.ndarray, " m"]) -> Int64[np.ndarray, " l"]:
    """Those of the rows that break no pair with the others."""
    parts = [rows[i : i + BLOCK] for i in range(0, len(rows), BLOCK)]
    return np.concatenate([rows[:0], *(p[_broken(s, others, p, s.u[torch.from_numpy(p)]) == 0] for p in parts)])
