"""An orthogonally separable subset of a data set (IB eq. 1), by a greedy rule."""

import numpy as np
import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from relulab.subjects.bias.tools.all_pairs import one_thread_each, tally
from relulab.subjects.bias.tools.signed_points import BLOCK, Signed, part

AT_ONCE = 500  # one of this many points in violating pairs is removed at a time
CROWDED = 0.9  # share of the points in memory that must still be in violating pairs


def separable_subset(s: Signed, degree: Int64[np.ndarray, " n"]) -> Int64[Tensor, " k"]:
    """Find rows of points that satisfy eq. 1 among themselves, by a greedy search.

    Of the m points in violating pairs, the ⌊m/500⌋ points (at least one) in the most violating pairs are removed; of
    equal points the lower row goes first. The violating pairs are then counted again, until there are none. With fewer
    than 1,000 such points this removes one at a time. Then the removed points return, the last one first, if they
    violate eq. 1 with no remaining point. No further point could be added to the result, but a larger subset may exist:
    finding the largest one is a hard problem. The result is checked once more, pair by pair.

    Args:
        s: The points with their signs.
        degree: Number of violating pairs of each point, (n,).
    """
    kept = np.arange(len(s.u))
    while degree.any():
        with one_thread_each():
            gone = _removed(s, kept, degree)
            kept = _returned(s, np.setdiff1d(kept, gone), gone[::-1])
        # two ways to multiply may round differently at the threshold, so the result itself is checked
        degree = tally(part(s, kept), 0).degree
    return s.order[torch.from_numpy(kept)].sort().values


def _removed(s: Signed, rows: Int64[np.ndarray, " k"], degree: Int64[np.ndarray, " k"]) -> Int64[np.ndarray, " r"]:
    """The removed points, in the order of removal."""
    n, order = len(s.u), s.order.numpy()
    live, left = rows[degree > 0], degree[degree > 0]
    u, gone, count = s.u[torch.from_numpy(live)], [], len(live)
    while count:
        many = max(1, count // AT_ONCE)
        key = left * n + (n - 1 - order[live])  # most violating pairs first, then the lower row
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
        if count < CROWDED * len(live):  # drop the points that are in no violating pair, to save products
            live, left, u = live[stay], left[stay], u[torch.from_numpy(stay)]
    return np.concatenate(gone)


def _broken(
    s: Signed, a: Int64[np.ndarray, " k"], b: Int64[np.ndarray, " m"], u: Float64[Tensor, "m d"]
) -> Int64[np.ndarray, " m"]:
    """The number of pairs with points a that violate eq. 1, for every point b. Rows are sorted; u are the points b."""
    a = np.sort(a)  # by label
    G, positive = (s.u[torch.from_numpy(a)] @ u.T).numpy(), int((s.labels[a] == 1).sum())
    count = np.zeros(len(b), dtype=np.int64)
    for label, some in ((1, G[:positive]), (-1, G[positive:])):
        rule = np.where(s.labels[b] == label, s.tolerance, np.nextafter(-s.tolerance, -1))
        count += np.add.reduce(np.less_equal(some, rule).view(np.uint8), axis=0, dtype=np.uint16)
    return count


def _returned(s: Signed, kept: Int64[np.ndarray, " k"], gone: Int64[np.ndarray, " r"]) -> Int64[np.ndarray, " more"]:
    """The kept points and, added in their order, the removed points that violate eq. 1 with none of them."""
    gone = gone[s.norms.numpy()[gone] > 0]
    for start in range(0, len(kept), BLOCK):
        gone = _fitting(s, gone, kept[start : start + BLOCK])
    back = []
    while len(gone):
        back.append(gone[:1])
        gone = _fitting(s, gone[1:], gone[:1])
    return np.sort(np.concatenate([kept, *back]))


def _fitting(s: Signed, rows: Int64[np.ndarray, " k"], others: Int64[np.ndarray, " m"]) -> Int64[np.ndarray, " l"]:
    """The rows that violate eq. 1 with none of the others."""
    parts = [rows[i : i + BLOCK] for i in range(0, len(rows), BLOCK)]
    return np.concatenate([rows[:0], *(p[_broken(s, others, p, s.u[torch.from_numpy(p)]) == 0] for p in parts)])
