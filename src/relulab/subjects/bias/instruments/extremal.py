r"""All extremal directions of a data set: strict local maxima and minima of G on the unit sphere (IB definition 2).

Many starting directions climb G together. The minima are the maxima for the labels −y. G is linear on sectors, so in
each sector the ascent follows an arc toward the gradient ½ Σ_i y_i 1[wᵀx_i > 0] x_i up to the edge of the sector; a
small step η then takes it across the edge. Where the other side drives it back, it jumps to and fro along a kink.
Therefore, after some steps, inner products within 2η of 0 are taken as 0. If the flow stays on these kinks, the start
is moved along the arc of the flow on the kinks. η shrinks from round to round. Each sector can contain only one
candidate. For every sector reached at the end of a round, this candidate is put to the exact test of
``relulab.subjects.bias.tools.strict_maxima``.

A start has reached the maximum w* when it is so close that no product x_iᵀw* ≠ 0 has changed its sign. There a
neighbor w at the angle θ, w = cos θ (w* + v), has a gradient g with g·w* = G(w*), because the points of Z are
orthogonal to w*. Along the flow w' = g − (g·w) w, therefore,

    (cos θ)' = G(w*) − G(w) cos θ = G(w*) sin²θ − D(v) cos²θ > 0    since D ≤ 0 and G(w*) > 0,

so the flow must end in w*. Every direction returned is therefore extremal. That no direction is missed is not proved;
it becomes more likely with more starts.
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
from relulab.core.ranges import at_least
from relulab.core.seeds import Role, stream
from relulab.core.short_repr import short_repr
from relulab.lab.instrument import instrument
from relulab.subjects.bias.instruments.sectors import sector, signs
from relulab.subjects.bias.tools.strict_maxima import TOLERANCE, Maximum, candidates, judged, sliding

FIRST = 1e-5  # first step η across a kink, approximately in radians; larger steps jump over small basins
TRIED = 128  # largest number of sectors with zeros examined in one round
SHRINK = 0.93  # factor by which η is multiplied after every round


class Extremal(NamedTuple):
    """k extremal directions: first the positive, then the negative ones, each in order of decreasing |G|."""

    w: Float[Tensor, "k d"]
    sign: Int8[Tensor, " k"]
    """1 for strict local maxima, −1 for strict local minima"""
    sigma: Int8[Tensor, "k n"]
    """sectors of the directions, eq. 11"""
    G: Float[Tensor, " k"]
    reached: Int64[Tensor, " k"]
    """number of starts that reached each direction, a measure of its basin of attraction"""
    off: Int64[Tensor, " 2"]
    """number of starts that turned off on all points, for ascent and for descent"""
    lost: Int64[Tensor, " 2"]
    """number of starts that did neither, for ascent and for descent. They need more rounds, or they rest where G is
    flat or rises to one side only, which is possible if the points are in special position"""

    __repr__ = short_repr

    def of(self, sign: int) -> "Extremal":
        """Return only the positive (1) or only the negative (−1) extremal directions.

        Args:
            sign: 1 or −1.
        """
        kept = self.sign == sign
        return self._replace(**{name: getattr(self, name)[kept] for name in ("w", "sign", "sigma", "G", "reached")})


@instrument(source="IB definition 2", ids=("IB.G",))
@by_cpu
def extremal_directions(
    X: Num[Tensor, "n d"] | Numbers,
    y: Numbers,
    *,
    starts: int = 512,
    rounds: int = 250,
    steps: int = 24,
    rng: np.random.Generator | None = None,
) -> Extremal:
    """Find the strict local maxima and minima of G on the unit sphere, with their sectors, from many starts.

    The data need not be separable. Every direction returned is extremal, but directions with small basins of
    attraction may be missed: increase ``starts`` to make this less likely.

    Args:
        X: Points, (n, d) with d ≥ 2, one row per point.
        y: Labels −1 and 1, (n,).
        starts: Number of starting directions, drawn uniformly.
        rounds: Largest number of rounds; the search ends early when all starts have arrived.
        steps: Steps per round.
        rng: Random generator of the starts. Default: the same random stream on every call.

    >>> X = torch.tensor([[2.0, 0.0], [0.0, -4.0]])
    >>> extremal = extremal_directions(X, torch.tensor([1, -1]))
    >>> extremal.w.abs().tolist(), extremal.G.tolist(), extremal.sigma.tolist(), extremal.lost.tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [1.0, -2.0], [[1, 0], [0, 1]], [0, 0])
    """
    (X,) = tensors(points=X)
    y = signs(X, y)
    d = X.shape[1]
    if d < 2:
        raise UserError(f"expected points with at least 2 columns, got {d} columns: G has no sphere to be maximized on")
    at_least(1, starts=starts, rounds=rounds, steps=steps)
    if not X.isfinite().all():
        raise UserError("expected finite points, got NaN or infinite entries: remove these points")
    rng = stream(0, Role.STUDENT) if rng is None else rng
    W = normalize(torch.from_numpy(rng.standard_normal((starts, d))), dim=1)
    size = float(X.abs().max()) or 1.0  # G grows with the points, and directions do not change
    unit = X.detach().double() / size
    both = [_climb(W, unit, sign * y.detach().double(), rounds, steps) for sign in (1, -1)]
    rows = [(sign, m, count) for sign, (maxima, *_) in zip((1, -1), both, strict=True) for m, count in maxima]
    n, k = len(X), len(rows)
    return Extremal(
        torch.from_numpy(np.array([m.w for _, m, _ in rows]).reshape(k, d)).to(X.dtype),
        torch.tensor([sign for sign, *_ in rows], dtype=torch.int8),
        torch.from_numpy(np.array([m.sigma for _, m, _ in rows], dtype=np.int8).reshape(k, n)),
        torch.tensor([sign * m.G * size for sign, m, _ in rows], dtype=X.dtype),
        torch.tensor([count for *_, count in rows], dtype=torch.int64),
        *(torch.tensor([side[i] for side in both]) for i in (1, 2)),
    )


def _climb(W: Float64[Tensor, "s d"], X: Float64[Tensor, "n d"], y: Float64[Tensor, " n"], rounds: int, steps: int):
    """Return the maxima with the number of starts that reached each, the number of starts off, and the number lost."""
    maxima: list[Maximum] = []
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
        aims, candidates_passed = _aims(sectors, sizes, X, y, known)
        for new in candidates_passed:
            if not any(np.linalg.norm(new.w - old.w) < 2 * TOLERANCE for old in maxima):
                maxima.append(new)
                counts.append(0)
        for i, maximum in enumerate(maxima):
            arrived = (W - torch.from_numpy(maximum.w)).norm(dim=1) < maximum.radius
            counts[i] += int(arrived.sum())
            W, which = W[~arrived], which[~arrived]
        if not len(W):
            break
        W = _slide(W, aims[which], sectors[which] == 0, X)
    order = sorted(range(len(maxima)), key=lambda i: -maxima[i].G)
    return [(maxima[i], counts[i]) for i in order], off, len(W)


def _steps(W: Float64[Tensor, "s d"], X: Float64[Tensor, "n d"], y: Float64[Tensor, " n"], eta: float, steps: int):
    """Move every start: each step follows the gradient of its sector to the edge, and goes across it by η."""
    pull = X * y[:, None]
    for _ in range(steps):
        products = W @ X.T
        up = normalize((products > 0).to(W.dtype) @ pull, dim=1)
        t = _first_crossing(products, up @ X.T) * (up != 0).any(1, keepdim=True)  # no motion where the gradient is 0
        W = normalize((1 - t) * W + (t + eta) * up, dim=1)
    return W


def _first_crossing(before: Float64[Tensor, "s n"], after: Float64[Tensor, "s n"]) -> Float64[Tensor, "s 1"]:
    """The least t in [0, 1] at which an entry of (1 − t) before + t after becomes or stops being positive, else 1."""
    return torch.where((before > 0) != (after > 0), before / (before - after), 1.0).amin(1, keepdim=True)


def _slide(
    W: Float64[Tensor, "s d"], aims: Float64[Tensor, "s d"], zero: Bool[Tensor, "s n"], X: Float64[Tensor, "n d"]
) -> Float64[Tensor, "s d"]:
    """Move every start along the arc to its target until a nonzero inner product changes sign; NaN means no target.

    On (1 − t) w + t target the inner products are linear in t, so the first t at which one is 0 is known.
    """
    t = _first_crossing(*((rows @ X.T).masked_fill(zero, 0) for rows in (W, aims)))
    return torch.where(aims.isnan(), W, normalize((1 - t) * W + t * aims, dim=1))


def _aims(
    sectors: Int8[Tensor, "u n"], sizes: Int64[Tensor, " u"], X: Float64[Tensor, "n d"], y: Float64[Tensor, " n"],
    known: dict,
) -> tuple[Float64[Tensor, "u d"], list[Maximum]]:  # fmt: skip
    """The unit vector toward which the flow in each sector moves, NaN if it leaves at once, and the maxima found.

    Where no sign is 0, this is the gradient, which is a candidate if it lies in the sector or on its edge. Sectors with
    zeros are examined one by one, those with the most starts first.
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
        face_maxima, aim = _face(sectors[k].numpy(), X.numpy(), y.numpy(), known)
        maxima += face_maxima
        aims[k] = torch.from_numpy(aim)
    return aims, [maximum for maximum in maxima if maximum is not None]


def _face(sigma: Int8[np.ndarray, " n"], X: np.ndarray, y: np.ndarray, known: dict) -> tuple[list, np.ndarray]:
    """The tested candidates of a sector with zeros, and the target of the flow in it; results are cached."""
    key = sigma.tobytes()
    if key not in known:
        aim = sliding(sigma, X, y)
        judgments = [judged(w, X, y) for w in candidates(sigma, X, y)]
        known[key] = judgments, np.full(X.shape[1], np.nan) if aim is None else aim
    return known[key]
