"""Statements of a paper as numbers, one value per seed, and the claims made from them."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Bool

from relulab.lab.claim import Claim, claim
from relulab.lab.several_statistics import agreed


class Statement(NamedTuple):
    """The arguments of a claim: one value per seed, and the side of the bound on which they should lie.

    ``among`` are the seeds that the statement is about, by default all; the others show nothing and are left out.
    ``others`` are the same statement by other statistics: the claim is judged only if all of them agree.
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
    others: tuple["Statement", ...] = ()


def claimed(statements: Iterable[Statement], lost: Bool[np.ndarray, " seed"]) -> list[Claim]:
    """Turn statements into claims; the values of seeds whose training diverged become NaN.

    Args:
        statements: Statements with one value per seed, including the diverged ones.
        lost: Which seeds diverged, (seeds,).
    """
    return [agreed(*(_claim(one, lost) for one in (s, *s.others))) for s in statements]


def _claim(statement: Statement, lost: Bool[np.ndarray, " seed"]) -> Claim:
    return claim(*statement._replace(values=_values(statement, lost))[:-2])


def _values(statement: Statement, lost: Bool[np.ndarray, " seed"]) -> np.ndarray:
    values = np.where(lost, np.nan, statement.values)
    if statement.among is None:
        return values
    return values[statement.among | lost] if statement.among.any() else np.full_like(values, np.nan)


def per_seed(values: xr.DataArray) -> np.ndarray:
    """Return one value per seed, the mean over student widths if there are several.

    Args:
        values: Values with the dimension "seed", and perhaps "over".
    """
    values = values.mean("over", skipna=False) if "over" in values.dims else values
    return values.transpose("seed").values
