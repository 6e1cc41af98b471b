"""Statements of a paper as numbers, one value per seed, and the claims made from them."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool

from relulab.lab.claim import Claim, claim


class Statement(NamedTuple):
    """The arguments of a claim: one value per seed, and the side of the bound on which they should lie.

    ``among`` are the seeds that the statement is about, by default all; the others show nothing and are left out.
    """

    id: str
    says: str
    values: np.ndarray
    relation: Literal[">", "<"] = ">"
    bound: float = 0
    note: str = ""
    within: tuple[float, float] = (-np.inf, np.inf)
    statistic: str = ""
    trials: int | None = None
    among: Bool[np.ndarray, " seed"] | None = None


def claimed(statements: Iterable[Statement], lost: Bool[np.ndarray, " seed"]) -> list[Claim]:
    """Turn statements into claims; the values of seeds whose training diverged become NaN.

    Args:
        statements: Statements with one value per seed, including the diverged ones.
        lost: Which seeds diverged, (seeds,).
    """
    return [claim(*s._replace(values=_values(s, lost))[:-1]) for s in statements]


def _values(statement: Statement, lost: Bool[np.ndarray, " seed"]) -> np.ndarray:
    values = np.where(lost, np.nan, statement.values)
    if statement.among is None:
        return values
    return values[statement.among | lost] if statement.among.any() else np.full_like(values, np.nan)
