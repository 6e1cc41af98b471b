"""Random filters of teachers: vectors with entries from a grid, no two of them co-linear."""

import numpy as np
from jaxtyping import Float64

from relulab.core.errors import UserError


def distinct_filters(
    rng: np.random.Generator, n: int, k: int, entries: Float64[np.ndarray, " entries"], distinct: bool = True
) -> Float64[np.ndarray, "k n"]:
    """Draw k nonzero vectors in R^n with entries from a grid, no two co-linear. Rejected vectors are drawn again.

    Args:
        rng: Random generator.
        n: Number of entries of a filter.
        k: Number of filters.
        entries: The values that an entry may have, with equal probabilities.
        distinct: Whether co-linear filters are rejected.
    """
    kept: list[np.ndarray] = []
    directions = np.empty((0, n))
    for _ in range(1000 + 10 * k):
        w = rng.choice(entries, size=n)
        norm = np.linalg.norm(w)
        if norm and not (distinct and (abs(directions @ w) > norm * (1 - 1e-12)).any()):
            kept.append(w)
            directions = np.vstack([directions, w / norm])
        if len(kept) == k:
            return np.array(kept)
    raise UserError(
        f"could not draw {k} filters with distinct directions in R^{n} from the grid "
        f"{{{entries[0]:g}, {entries[1]:g}, …, {entries[-1]:g}}}: use fewer nodes or more inputs"
    )
