"""The Lanczos process with full reorthogonalization, for symmetric matrices that are known by their products."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

Product = Callable[[Float64[np.ndarray, " P"]], Float64[np.ndarray, " P"]]
BROKEN = 1e-12  # size of the rest, relative to the matrix, at which the vectors span an invariant subspace


class Ritz(NamedTuple):
    """Approximate eigenvalues θ_1 ≤ … ≤ θ_m from m steps.

    Attributes:
        values: The Ritz values θ_i, (m,).
        errors: Norms of the residuals ‖H u_i − θ_i u_i‖, (m,): there is an eigenvalue within this distance of θ_i.
        weights: Squares of the components of the start vector along the Ritz vectors u_i, (m,); they sum to 1.
    """

    values: Float64[np.ndarray, " m"]
    errors: Float64[np.ndarray, " m"]
    weights: Float64[np.ndarray, " m"]


def lanczos(product: Product, start: Float64[np.ndarray, " P"], steps: int, rng: np.random.Generator) -> Ritz:
    r"""Approximate the spectrum of a symmetric matrix H, above all its ends, by m products with vectors.

    The process makes an orthonormal basis Q of the vectors start, H start, H² start, …, in which H is a tridiagonal
    matrix T; Ritz values are the eigenvalues of T. Every new vector is made orthogonal to all earlier ones, twice. If
    the vectors span an invariant subspace, the process continues in a random direction orthogonal to it.

    Args:
        product: The function v ↦ H v.
        start: The start vector, not zero.
        steps: Number m of products, at most P.
        rng: Random generator of new directions.

    >>> H = np.diag([1.0, 2.0, 5.0])
    >>> ritz = lanczos(lambda v: H @ v, np.ones(3), 3, np.random.default_rng(0))
    >>> [round(value, 9) for value in ritz.values.tolist()]
    [1.0, 2.0, 5.0]
    """
    Q = np.empty((steps, len(start)))
    alpha, beta, size = np.zeros(steps), np.zeros(steps), 0.0
    q = start / np.linalg.norm(start)
    for i in range(steps):
        Q[i] = q
        rest = product(q)
        alpha[i] = q @ rest
        size = max(size, float(np.linalg.norm(rest)))
        for _ in range(2):
            rest = rest - (Q[: i + 1] @ rest) @ Q[: i + 1]
        beta[i] = np.linalg.norm(rest)
        if i + 1 == steps or beta[i] > BROKEN * size:
            q = rest / (beta[i] or 1.0)
            continue
        beta[i], q = 0.0, rng.standard_normal(len(start))
        for _ in range(2):
            q = q - (Q[: i + 1] @ q) @ Q[: i + 1]
        q = q / np.linalg.norm(q)
    T = np.diag(alpha) + np.diag(beta[:-1], 1) + np.diag(beta[:-1], -1)
    values, vectors = np.linalg.eigh(T)
    last = 0.0 if steps == len(start) else beta[-1]
    rounding = steps * np.finfo(float).eps * size
    return Ritz(values, np.abs(last * vectors[-1]) + rounding, vectors[0] ** 2)
