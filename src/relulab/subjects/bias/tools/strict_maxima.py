r"""Strict local maxima of G on the unit sphere: the candidates of a sector, and an exact test for them.

**Near w.** Let w be a unit vector in the sector σ, A the points with σ_i = 1 and Z those with σ_i = 0, and
g_A = ½ Σ_A y_i x_i. Every unit vector near w is (w + v)/√(1 + ‖v‖²) with a small v ⟂ w. Since G is linear on sectors,

    G = (G(w) + D(v)) / √(1 + ‖v‖²),    D(v) = g_A·v + ½ Σ_Z y_i ρ(x_i·v),    D(tv) = t D(v) for t ≥ 0.

G increases in a direction with D(v) > 0 and decreases if D(v) < 0. Where D(v) = 0, the curvature of the sphere,
−G(w)‖v‖²/2, decides. So w is a strict local maximum if and only if D ≤ 0 on w^⊥ and

    (a) G(w) > 0, or    (b) D(v) < 0 for all v ≠ 0.

In particular, a local maximum with G > 0 is always strict, and the flat region where all points are off has none.

**The candidate.** D ≤ 0 requires P_Z g_A = G(w) w, where P_Z is the projection onto the orthogonal complement of
span{x_i: i ∈ Z} (lemma A.1), because D is linear there. In case (a) the only candidate is w = P_Z g_A/‖P_Z g_A‖. In
case (b) the x_i of Z span w^⊥, and the sector is a ray.

**When D ≤ 0.** Let N be the points of Z with label −1 and P those with label +1. The terms ρ(x_i·v) of P are maxima
over subsets S ⊆ P, and the terms −ρ(x_i·v) of N are minima over λ ∈ [0, 1]^N. By the minimax theorem for every S,
D ≤ 0 on w^⊥ if and only if

    for every S ⊆ P there is λ ∈ [0, 1]^N with  g_A + ½ Σ_S x_i − ½ Σ_N λ_i x_i  parallel to w.

Case (b) also requires 0 < λ < 1 and that N spans w^⊥. If the x_i of Z are linearly independent, as they almost surely
are, then P must be empty, and λ is unique. If the span of N is smaller than that of Z, then D(v) + D(−v) > 0 for some
v, and D ≤ 0 fails.
"""

from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
from jaxtyping import Float64, Int8
from scipy.optimize import linprog

from relulab.core.errors import UserError

TOLERANCE = 1e-12  # largest value that counts as 0, for cosines, for G relative to Σ_i ‖x_i‖/2, and for multipliers λ
MOST = 12  # largest number of points in P, since all subsets of P may be examined


@dataclass(frozen=True)
class Maximum:
    """A strict local maximum w with its sector; from any start within ``radius``, the ascent of G ends in w."""

    w: Float64[np.ndarray, " d"]
    sigma: Int8[np.ndarray, " n"]
    G: float
    radius: float


def candidates(
    sigma: Int8[np.ndarray, " n"], X: Float64[np.ndarray, "n d"], y: Float64[np.ndarray, " n"]
) -> list[Float64[np.ndarray, " d"]]:
    """Return the directions that can be strict local maxima: P_Z g_A normalized, or both unit vectors orthogonal to Z.

    They need not lie in the sector.

    Args:
        sigma: Sector, (n,), with entries −1, 0 and 1.
        X: Points, (n, d).
        y: Labels −1 and 1, (n,).
    """
    Q = _basis(X[sigma == 0])
    d = X.shape[1]
    if Q.shape[1] == d:
        return []
    if Q.shape[1] == d - 1:
        u = np.linalg.qr(np.c_[Q, np.eye(d)])[0][:, d - 1]
        return [u, -u]
    g = y[sigma > 0] @ X[sigma > 0] / 2
    for _ in range(2):  # the second pass removes rounding errors
        g = g - Q @ (Q.T @ g)
    size = np.linalg.norm(g)
    return [g / size] if size > TOLERANCE * _scale(X) else []


def judged(w: Float64[np.ndarray, " d"], X: Float64[np.ndarray, "n d"], y: Float64[np.ndarray, " n"]) -> Maximum | None:
    """Return the unit vector w with its sector if it is a strict local maximum, else None.

    Args:
        w: Unit vector, (d,).
        X: Points, (n, d).
        y: Labels −1 and 1, (n,).
    """
    norms = np.linalg.norm(X, axis=1)
    cosines = X @ w / np.where(norms > 0, norms, 1)
    zero = np.abs(cosines) <= TOLERANCE
    sigma = np.where(zero, 0, np.sign(cosines)).astype(np.int8)
    g = y[sigma > 0] @ X[sigma > 0] / 2
    G = float(g @ w)
    on = zero & (norms > 0)
    b, Q = g - G * w, _basis(X[on])
    if np.linalg.norm(b - Q @ (Q.T @ b)) > TOLERANCE * _scale(X):  # P_Z g_A = G(w) w fails
        return None
    inside, pull = _inside(b, X[on & (y > 0)], X[on & (y < 0)])
    radius = np.abs(cosines[~zero]).min(initial=1.0)
    if TOLERANCE * _scale(X) < G:
        return Maximum(w, sigma, G, float(radius)) if inside >= -TOLERANCE else None
    if inside <= TOLERANCE or Q.shape[1] < X.shape[1] - 1:
        return None
    # G ≤ 0, so the curvature acts outward: the slope of D exceeds it only where tan θ < pull / |G|
    return Maximum(w, sigma, G, float(min(radius, 2 * np.sin(np.arctan2(pull, abs(G)) / 2))))


def sliding(
    sigma: Int8[np.ndarray, " n"], X: Float64[np.ndarray, "n d"], y: Float64[np.ndarray, " n"]
) -> Float64[np.ndarray, " d"] | None:
    """Return the unit vector along P_Z g_A, the target of a flow that stays in the sector; None if it does not stay.

    The flow stays if D(v) ≤ v·P_Z g_A for all v: then it is driven back to the kinks of Z from all sides.

    Args:
        sigma: Sector, (n,), with entries −1, 0 and 1.
        X: Points, (n, d).
        y: Labels −1 and 1, (n,).
    """
    g, Z = y[sigma > 0] @ X[sigma > 0] / 2, sigma == 0
    Q = _basis(X[Z])
    p = g - Q @ (Q.T @ g)
    size = np.linalg.norm(p)
    P, N = X[Z & (y > 0)], X[Z & (y < 0)]
    if size <= TOLERANCE * _scale(X) or len(P) > MOST or _inside(g - p, P, N)[0] < -TOLERANCE:
        return None
    return p / size


def _inside(
    b: Float64[np.ndarray, " d"], P: Float64[np.ndarray, "p d"], N: Float64[np.ndarray, "q d"]
) -> tuple[float, float]:
    """The largest δ with δ ≤ λ ≤ 1 − δ for every S, −∞ if there is no λ; and a lower bound of −D(v)/‖v‖.

    If λ is at least δ away from 0 and 1, −D(v) ≥ ½ δ Σ_N |x_i·v| ≥ ½ δ σ_min ‖v‖, with the least singular value of N.
    """
    Q = _basis(np.r_[P, N])
    if not Q.shape[1]:
        return 0.0, 0.0
    if _basis(N).shape[1] < Q.shape[1] or (len(P) and _climbs(b, P, N)):
        return -np.inf, 0.0
    if len(P) > MOST:
        raise UserError(
            f"expected at most {MOST} points of one class orthogonal to the same direction, got {len(P)}: add a little "
            "noise to the points"
        )
    B = _merged(N) @ Q
    subsets = chain.from_iterable(combinations(range(len(P)), k) for k in range(len(P) + 1))
    inside = min(_depth(B, 2 * Q.T @ b + (P[list(S)] @ Q).sum(0)) for S in subsets)
    return inside, max(inside, 0.0) * np.linalg.svd(B, compute_uv=False)[-1] / 2


def _merged(rows: Float64[np.ndarray, "q d"]) -> Float64[np.ndarray, "k d"]:
    """Add up rows of one direction. One λ for all of them, a weighted mean of theirs, has the same largest δ."""
    rows = rows[rows.any(1)]
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    _, which = np.unique(units.round(12), axis=0, return_inverse=True)
    merged = np.zeros((int(which.max(initial=-1)) + 1, rows.shape[1]))
    np.add.at(merged, which.ravel(), rows)
    return merged


def _climbs(b: Float64[np.ndarray, " d"], P: Float64[np.ndarray, "p d"], N: Float64[np.ndarray, "q d"]) -> bool:
    """Whether D > 0 in one of the directions ±x_i; if so, the subsets need not be examined."""
    v = np.r_[P, N, -P, -N]
    D = v @ b + (v @ P.T).clip(0).sum(1) / 2 - (v @ N.T).clip(0).sum(1) / 2
    return bool(D.max() > TOLERANCE * (v**2).sum(1).max())


def _depth(B: Float64[np.ndarray, "q r"], b: Float64[np.ndarray, " r"]) -> float:
    """The largest δ for which Bᵀλ = b has a solution with δ ≤ λ ≤ 1 − δ; negative if λ must leave [0, 1]."""
    q, r = B.shape
    if q == r:
        multipliers = np.linalg.solve(B.T, b)
        return float(np.minimum(multipliers, 1 - multipliers).min())
    size = np.abs(B).max()
    bounds = np.c_[np.r_[-np.eye(q), np.eye(q)], np.ones(2 * q)]
    solution = linprog(
        np.r_[np.zeros(q), -1.0], A_ub=bounds, b_ub=np.r_[np.zeros(q), np.ones(q)],
        A_eq=np.c_[B.T, np.zeros(r)] / size, b_eq=b / size, bounds=(None, None),
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )  # fmt: skip
    if solution.status:  # infeasible up to the solver's accuracy, as with points of very different lengths
        return -np.inf
    # 1e-8 is the accuracy of the solver; a λ on the edge of [0, 1] must count as inside
    return 0.0 if abs(solution.x[-1]) < 1e-8 else float(solution.x[-1])


def _basis(rows: Float64[np.ndarray, "k d"]) -> Float64[np.ndarray, "d r"]:
    """An orthonormal basis of the span of the rows, one column per basis vector."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows[norms[:, 0] > 0] / norms[norms[:, 0] > 0]
    if not len(rows):
        return np.zeros((rows.shape[1], 0))
    _, s, V = np.linalg.svd(rows, full_matrices=False)
    return V[s > TOLERANCE * s[0]].T


def _scale(X: Float64[np.ndarray, "n d"]) -> float:
    """Σ_i ‖x_i‖/2, an upper bound of |G| and of the length of the gradient."""
    return float(np.linalg.norm(X, axis=1).sum() / 2)
