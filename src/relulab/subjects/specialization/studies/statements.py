"""Statements of a paper in numbers, a value a seed, and the claims that they become."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool

from relulab.lab.claim import Claim, claim


class Statement(NamedTuple):
    """What becomes a claim: a value a seed, and on which side of the bound they should lie."""

    id: str
    says: str
    values: np.ndarray
    relation: Literal[">", "<"] = ">"
    bound: float = 0
    note: str = ""
    within: tuple[float, float] = (-np.inf, np.inf)
    statistic: str = ""


def claimed(statements: Iterable[Statement], lost: Bool[np.ndarray, " seed"]) -> list[Claim]:
    """The claims of statements; a seed whose training diverged has no value, and that is said.

    Args:
        statements: with a value for every seed, lost or not.
        lost: which seeds diverged.
    """
    diverged = f"Training diverged in {lost.sum()} of {len(lost)} seeds: lower lr or sigma." if lost.any() else ""
    return [
        claim(*s._replace(values=np.where(lost, np.nan, s.values), note=f"{s.note} {diverged}".strip()))
        for s in statements
    ]
