"""Claims of a comparison: the differences between settings in the same seed, with their intervals."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import xarray as xr

from relulab.lab.claim import Claim, claim, half_width
from relulab.lab.show.words import number

if TYPE_CHECKING:
    from relulab.lab.comparison import Comparison


class Statistic(NamedTuple):
    """A number of every seed, by setting."""

    id: str
    words: str
    values: dict[str, np.ndarray]


def part(result: xr.Dataset, label: str) -> xr.Dataset:
    """Return the result of one setting, without the places that only other settings have.

    Args:
        result: The result of a comparison.
        label: The label of the setting.
    """
    own = result.sel(setting=label, drop=True)
    for dim in own.sizes:
        here, anywhere = (_present(data, dim) for data in (own, result))
        if not (here | ~anywhere).all():
            own = own.isel({dim: here | ~anywhere})
    return own


def _present(data: xr.Dataset, dim: Hashable) -> np.ndarray:
    """Return at which places along a dimension some variable has a value."""
    found = np.zeros(data.sizes[dim], bool)
    for variable in data.values():
        if dim in variable.dims:
            found |= variable.notnull().any([d for d in variable.dims if d != dim]).values
    return found


def courses(study: Comparison, result: xr.Dataset) -> dict[str, dict[str, xr.DataArray]]:
    """Return the statistics with one more dimension than "seed", by name and setting.

    Args:
        study: The comparison.
        result: Its result.
    """
    return {words: of for words, of in _own(study, result).items() if all(values.ndim == 2 for values in of.values())}


def statistics(study: Comparison, result: xr.Dataset) -> list[Statistic]:
    """Return the numbers of every seed that are compared: those of the study, then those of its claims.

    Args:
        study: The comparison.
        result: Its result.
    """
    found = [
        Statistic(f"statistic{k}", words, {label: values.values for label, values in of.items()})
        for k, (words, of) in enumerate(_own(study, result).items(), 1)
        if all(values.ndim == 1 for values in of.values())
    ]
    claims = {label: {c.id: c for c in one.claims(part(result, label))} for label, one in study.settings.items()}
    first = next(iter(claims.values()))
    for id, c in first.items():
        if c.values and all(id in of for of in claims.values()):
            found.append(
                Statistic(id, c.statistic or c.says, {label: np.array(of[id].values) for label, of in claims.items()})
            )
    return [one for one in found if len({len(values) for values in one.values.values()}) == 1]


def _own(study: Comparison, result: xr.Dataset) -> dict[str, dict[str, xr.DataArray]]:
    by_setting = {label: one.statistics(part(result, label)) for label, one in study.settings.items()}
    words = next(iter(by_setting.values()))
    return {
        name: {label: of[name].transpose("seed", ...) for label, of in by_setting.items()}
        for name in words
        if all(name in of for of in by_setting.values())
    }


def claims(study: Comparison, result: xr.Dataset) -> list[Claim]:
    """Judge for each statistic whether it differs between the first setting and each of the others.

    Args:
        study: The comparison.
        result: Its result.
    """
    first, *others = study.settings
    found = []
    for label in others:
        for one in statistics(study, result):
            id = f"comparison.{study.name}.{one.id}" + (f".{label.replace('=', '-')}" if len(others) > 1 else "")
            found.append(_difference(_safe(id), one, first, label))
    return found


def _difference(id: str, one: Statistic, first: str, label: str) -> Claim:
    difference = one.values[label] - one.values[first]
    half = half_width(len(difference)) * difference.std(ddof=1) if len(difference) > 1 else np.inf
    below, above = difference.mean() + half < 0, difference.mean() - half > 0
    words = f"{one.words[:1].upper()}{one.words[1:]}"
    side = f"{'lower' if below else 'higher'} with {label} than with {first}"
    judged = claim(
        id,
        f"{words}: {side if below or above else f'differs between {first} and {label}'}",
        difference,
        "<" if below else ">",
        0,
        note=f"{_interval(one.values[first])} with {first}, {_interval(one.values[label])} with {label}.",
        statistic=f"difference {label} − {first} in the same seed",
    )
    return replace(judged, criterion=judged.criterion.replace(judged.criterion[:1], "≠", 1))  # either side counts


def _interval(values: np.ndarray) -> str:
    mean = float(values.mean())
    if len(values) < 2 or np.isnan(mean):
        return "Undefined" if np.isnan(mean) else number(mean)
    half = half_width(len(values)) * float(values.std(ddof=1))
    return f"{number(mean)} [{number(mean - half)}, {number(mean + half)}]"


def _safe(id: str) -> str:
    """Return an id with the characters that ids may have."""
    return "".join(c if c.isalnum() or c in "_.×+-" else "-" for c in id)[:100]
