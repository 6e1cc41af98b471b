r"""All extremal directions of a data set: strict local maxima and minima of G on the sphere (IB definition 2).

Many starts climb together, minima being the maxima for the labels −y. As G is linear on sectors, the flow that climbs
it goes in each along an arc to the gradient ½ Σ y_i 1[wᵀx_i > 0] x_i, up to the edge; a small step η takes a start
across. Where the other side drives it back, it jumps to and fro along a kink. So after some steps products within 2η of
0 are taken as 0, and if the flow does stay on these kinks, the start is taken along the arc that it describes there. η
shrinks from round to round. In every sector met at the end of a round, the one candidate that it can have is put to the
exact test of ``relulab.subjects.bias.tools.strict_maxima``.

A start has reached the maximum w* when it is so near that no product x_iᵀw* ≠ 0 has changed its sign. There a
neighbor w at the angle θ, w = cos θ (w* + v), has the gradient g with g·w* = G(w*), since points of Z are orthogonal
to w*, so that along the flow w' = g − (g·w) w

    (cos θ)' = G(w*) − G(w) cos θ = G(w*) sin²θ − D(v) cos²θ > 0    by D ≤ 0 and G(w*) > 0:

the flow cannot but end in w*. What is found is therefore right; that it is all there is, starts can only make likely.
"""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int8, Int64, Num
from torch import Tensor
from torch.nn.functional import normalize

from relulab.core.device import by_cpu
from relulab.core.errors import UserError
from relulab.core.numbers import Numbers, tensors
from relulab.core.seeds import Role, stream
from relulab.lab.instrument import instrument
from relulab.subjects.bias.instruments.sectors import sector, signs
from relulab.subjects.bias.tools.strict_maxima import TOLERANCE, Maximum, candidates, judged, sliding

FIRST = 1e-5  # the first step η across a kink, about in radians; larger ones jump over small basins
TRIED = 128  # sectors with zeros that are looked at in a round
SHRINK = 0.93  # what η is multiplied with after every round


class Extremal(NamedTuple):
    """k extremal directions, positive ones first, those with the largest |G| first among them."""

    w: Float[Tensor, "k d"]
    sign: Int8[Tensor, " k"]
    """1 for strict local maxima, −1 for strict local minima"""
    sigma: Int8[Tensor, "k n"]
    """the sectors, eq. 11"""
    G: Float[Tensor, " k"]
    reached: Int64[Tensor, " k"]
    """how many starts came to each: a measure of its basin"""
    off: Int64[Tensor, " 2"]
    """how many starts turned off for all points, climbing and descending"""
    lost: Int64[Tensor, " 2"]
    """how many came to neither: they need more rounds, or rest, as they can if points are in special position, where G
    is flat or rises to one side only"""

    def of(self, sign: int) -> "Extremal":
        """The positive ones (1) or the negative ones (−1) alone."""
        kept = self.sign == sign
        return self._replace(**{name: getattr(self, name)[kept] for name in ("w", "sign", "sigma", "G", "reached")})


@instrument(source="IB definition 2", ids=("IB.G",))
@by_cpu
def extremal_directions(
    X: Num[Tensor, "n d"] | Numbers,
    y: Numbers,
    *,
    starts: int = 512,
    rounds: int = 150,
    steps: int = 24,
    rng: np.random.Generator | None = None,
) -> Extremal:
    """Strict local maxima and minima of G on the unit sphere, with their sectors, found from many starts.

    Nothing is asked of the data but labels −1 and 1 and two columns.

    Args:
        X: Points, (n, d), a point a row. At least two columns.
        y: Labels −1 and 1, (n,).
        starts: Number of directions to start from, drawn uniformly.
        rounds: The most rounds in which they move; fewer are done if all have arrived.
        steps: Steps per round.
        rng: Where the starts are drawn from. None takes the same stream on every call.

    >>> X = torch.tensor([[2.0, 0.0], [0.0, -4.0]])
    >>> found = extremal_directions(X, torch.tensor([1, -1]))
    >>> found.w.abs().tolist(), found.G.tolist(), found.sigma.tolist(), found.lost.tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [1.0, -2.0], [[1, 0], [0, 1]], [0, 0])
    """
    (X,) = tensors(points=X)
    y = signs(X, y)
    d = X.shape[1]
    if d < 2 or starts < 1 or not X.isfinite().all():
        raise UserError(f"{d} columns and {starts} starts: at least 2 and 1 are needed, and points must be finite")
    rng = stream(0, Role.STUDENT) if rng is None else rng
    W = normalize(torch.from_numpy(rng.standard_normal((starts, d))), dim=1)
    both = [_climb(W, X.detach().double(), sign * y.detach().double(), rounds, steps) for sign in (1, -1)]
    rows = [(sign, m, count) for sign, (found, *_) in zip((1, -1), both, strict=True) for m, count in found]
    n, k = len(X), len(rows)
    return Extremal(
        torch.from_numpy(np.array([m.w for _, m, _ in rows]).reshape(k, d)).to(X.dtype),
        torch.tensor([sign for sign, *_ in rows], dtype=torch.int8),
        torch.from_numpy(np.array([m.sigma for _, m, _ in rows], dtype=np.int8).reshape(k, n)),
        torch.tensor([sign * m.G for sign, m, _ in rows], dtype=X.dtype),
        torch.tensor([count for *_, count in rows], dtype=torch.int64),
        *(torch.tensor([side[i] for side in both]) for i in (1, 2)),
    )


def _climb(W: Float64[Tensor, "s d"], X: Float64[Tensor, "n d"], y: Float64[Tensor, " n"], rounds: int, steps: int):
    """Maxima with the number of starts that came to each, and how many starts are off or lost."""
    found: list[Maximum] = []
    counts: list[int] = []
    known: dict[bytes, tuple[list[Maximum | None], np.ndarray]] = {}
    off = 0
    for r in range(rounds):
        eta = FIRST * SHRINK**r
        W = _steps(W, X, y, eta, steps)
        resting = (W @ X.T <= 0).all(1)
        off += int(resting.sum())
        W = W[~resting]
        sectors, which, sizes = torch.unique(
            sector(W, X, tolerance=2 * eta), dim=0, return_inverse=True, return_counts=True
        )
        aims, maxima = _aims(sectors, sizes, X, y, known)
        for new in maxima:
            if not any(np.linalg.norm(new.w - old.w) < 2 * TOLERANCE for old in found):
                found.append(new)
                counts.append(0)
        for i, maximum in enumerate(found):
            here = (W - torch.from_numpy(maximum.w)).norm(dim=1) < maximum.radius
            counts[i] += int(here.sum())
            W, which = W[~here], which[~here]
        if not len(W):
            break
        W = _slide(W, aims[which], sectors[which] == 0, X)
    order = sorted(range(len(found)), key=lambda i: -found[i].G)
    return [(found[i], counts[i]) for i in order], off, len(W)


def _steps(W: Float64[Tensor, "s d"], X: Float64[Tensor, "n d"], y: Float64[Tensor, " n"], eta: float, steps: int):
    """Each step goes along the gradient of the sector to its edge, and by η across."""
    pull = X * y[:, None]
    for _ in range(steps):
        products = W @ X.T
        up = normalize((products > 0).to(W.dtype) @ pull, dim=1)
        t = _first_crossing(products, up @ X.T) * (up != 0).any(1, keepdim=True)  # without a gradient it rests
        W = normalize((1 - t) * W + (t + eta) * up, dim=1)
    return W


def _first_crossing(now: Float64[Tensor, "s n"], then: Float64[Tensor, "s n"]) -> Float64[Tensor, "s 1"]:
    """The least t in [0, 1] at which an entry of (1 − t) now + t then becomes positive or ceases to be, else 1."""
    return torch.where((now > 0) != (then > 0), now / (now - then), 1.0).amin(1, keepdim=True)


def _slide(
    W: Float64[Tensor, "s d"], aims: Float64[Tensor, "s d"], zero: Bool[Tensor, "s n"], X: Float64[Tensor, "n d"]
) -> Float64[Tensor, "s d"]:
    """Every start on the arc to its aim, until a product that is not zero changes its sign; NaN is no aim.

    On (1 − t) w + t aim products are linear in t, so the first t at which one is 0 is known.
    """
    t = _first_crossing(*((rows @ X.T).masked_fill(zero, 0) for rows in (W, aims)))
    return torch.where(aims.isnan(), W, normalize((1 - t) * W + t * aims, dim=1))


def _aims(
    sectors: Int8[Tensor, "u n"], sizes: Int64[Tensor, " u"], X: Float64[Tensor, "n d"], y: Float64[Tensor, " n"],
    known: dict,
) -> tuple[Float64[Tensor, "u d"], list[Maximum]]:  # fmt: skip
    """The unit vector that the flow in each sector aims at, NaN if it leaves the sector at once, and maxima seen.

    Where no sign is 0 that is the gradient, which is a candidate if it lies in the sector or on its edge. The others
    are gone through one by one, those with most starts first.
    """
    gradients = (sectors > 0).to(X.dtype) * y @ X
    aims = torch.where((gradients != 0).any(1, keepdim=True), normalize(gradients, dim=1), torch.nan)
    closed = (sectors == 0).any(1)
    aims[closed] = torch.nan
    at = sector(aims, X, tolerance=TOLERANCE)
    inside = ~closed & ((at == sectors) | (at == 0)).all(1) & ~aims.isnan().any(1)
    maxima = [judged(w, X.numpy(), y.numpy()) for w in aims[inside].numpy()]
    order = sizes.argsort(descending=True, stable=True)
    for k in order[closed[order]][:TRIED].tolist():
        more, aim = _face(sectors[k].numpy(), X.numpy(), y.numpy(), known)
        maxima += more
        aims[k] = torch.from_numpy(aim)
    return aims, [maximum for maximum in maxima if maximum is not None]


def _face(sigma: Int8[np.ndarray, " n"], X: np.ndarray, y: np.ndarray, known: dict) -> tuple[list, np.ndarray]:
    """The candidates of a sector with zeros, judged, and what the flow in it aims at; remembered."""
    key = sigma.tobytes()
    if key not in known:
        aim = sliding(sigma, X, y)
        judgments = [judged(w, X, y) for w in candidates(sigma, X, y)]
        known[key] = judgments, np.full(X.shape[1], np.nan) if aim is None else aim
    return known[key]
