"""Statements of a paper as numbers, one value per seed, and the claims made from them."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool

from relulab.lab.claim import Claim, claim


class Statement(NamedTuple):
    """The arguments of a claim: one value per seed, and the side of the bound on which they should lie."""

    id: str
    says: str
    values: np.ndarray
    relation: Literal[">", "<"] = ">"
    bound: float = 0
    note: str = ""
    within: tuple[float, float] = (-np.inf, np.inf)
    statistic: str = ""


def claimed(statements: Iterable[Statement], lost: Bool[np.ndarray, " seed"]) -> list[Claim]:
    """Turn statements into claims; the values of seeds whose training diverged become NaN.

    Args:
        statements: Statements with one value per seed, including the diverged ones.
        lost: Which seeds diverged, (seeds,).
    """
    return [claim(*s._replace(values=np.where(lost, np.nan, s.values))) for s in statements]
