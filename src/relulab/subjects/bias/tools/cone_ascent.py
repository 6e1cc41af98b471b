r"""Local maxima of G on the unit sphere by one convex problem per sector, without lemma A.1.

On the closure of an open sector σ, a cone, G is linear with the gradient g_σ = ½ Σ_i y_i 1{σ_i = 1} x_i. Its maximum on
the unit vectors of the cone is the normalized projection of g_σ onto the cone (IB eq. 33), if that projection is not
zero. A projection onto {w: σ_i x_iᵀw ≥ 0 for all i} is g_σ + Σ_i λ_i σ_i x_i with the λ ≥ 0 that make it shortest: a
problem of nonnegative least squares.

A start moves to the maximum of its sector, and from there into an adjacent sector in which G rises. It ends where G
rises into none of them, and this is a local maximum, because the adjacent sectors cover a neighborhood. All of them are
tried, 2^k for k points orthogonal to w, so this is slow where k is large. ``extremal_directions`` is faster, but it
builds on lemma A.1.
"""

from itertools import product

import numpy as np
from jaxtyping import Float64
from scipy.optimize import nnls

ZERO = 1e-9  # largest value that counts as 0, for cosines and, relative to Σ_i ‖x_i‖/2, for lengths of gradients
MOST = 4096  # largest number of adjacent sectors
MOVES = 200  # largest number of moves of one start


def local_maximum(
    w: Float64[np.ndarray, " d"], X: Float64[np.ndarray, "n d"], y: Float64[np.ndarray, " n"]
) -> Float64[np.ndarray, " d"] | None:
    """Return a local maximum of G with G > 0, reached from the start w, or None if it ends elsewhere.

    Args:
        w: Unit vector, (d,).
        X: Points, (n, d), with lengths near 1.
        y: Labels −1 and 1, (n,).
    """
    lengths = np.linalg.norm(X, axis=1)
    unit, scale = X / np.where(lengths > 0, lengths, 1)[:, None], lengths.sum() / 2
    sigma = np.where(unit @ w > 0, 1.0, -1.0)
    for _ in range(MOVES):
        new = _projected(sigma, X, y, unit)
        size = np.linalg.norm(new)
        if size <= ZERO * scale:  # G ≤ 0 in the whole cone
            return None
        w = new / size
        cosines = unit @ w
        if 2 ** (np.abs(cosines) <= ZERO).sum() > MOST:
            return None
        rising = _rising(cosines, w, (X, y, unit), scale)
        if rising is None:
            return w
        sigma = rising
    return None


def is_strict(w: Float64[np.ndarray, " d"], X: Float64[np.ndarray, "n d"], y: Float64[np.ndarray, " n"]) -> bool | None:
    """Whether w is a strict local maximum of G; None if this is not known.

    A local maximum with G(w) > 0 is strict, since the unit sphere curves away. With G(w) ≤ 0 it can be strict only if
    the points orthogonal to w span all directions orthogonal to w; whether it is, is not decided here.

    Args:
        w: Unit vector, (d,).
        X: Points, (n, d), with lengths near 1.
        y: Labels −1 and 1, (n,).
    """
    lengths = np.linalg.norm(X, axis=1)
    unit, scale = X / np.where(lengths > 0, lengths, 1)[:, None], lengths.sum() / 2
    cosines = unit @ w
    kinks = (np.abs(cosines) <= ZERO) & (lengths > 0)
    if 2 ** kinks.sum() > MOST:
        return None
    if _rising(cosines, w, (X, y, unit), scale) is not None:
        return False
    if y @ (X @ w).clip(0) / 2 > ZERO * scale:
        return True
    return None if np.linalg.matrix_rank(unit[kinks], tol=ZERO) == len(w) - 1 else False


def _rising(cosines: np.ndarray, w: np.ndarray, data: tuple[np.ndarray, ...], scale: float) -> np.ndarray | None:
    """An adjacent open sector in which G rises from w, or None."""
    X, y, unit = data
    kinks, sigma = np.flatnonzero(np.abs(cosines) <= ZERO), np.sign(cosines)
    for signs in product((1.0, -1.0), repeat=len(kinks)):
        sigma = sigma.copy()
        sigma[kinks] = signs
        g = y[sigma > 0] @ X[sigma > 0] / 2
        tangent = g - (g @ w) * w
        # the steepest direction within the sector: the projection of the gradient onto its cone near w
        rise = tangent if not len(kinks) else _onto(tangent, unit[kinks] * np.array(signs)[:, None])
        if np.linalg.norm(rise) > ZERO * scale:
            return sigma
    return None


def _projected(sigma: np.ndarray, X: np.ndarray, y: np.ndarray, unit: np.ndarray) -> np.ndarray:
    return _onto(y[sigma > 0] @ X[sigma > 0] / 2, unit * sigma[:, None])


def _onto(g: Float64[np.ndarray, " d"], A: Float64[np.ndarray, "k d"]) -> Float64[np.ndarray, " d"]:
    """The projection of g onto the cone Aw ≥ 0."""
    multipliers, _ = nnls(A.T, -g)
    return g + multipliers @ A
