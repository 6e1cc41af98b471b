"""What the methods of a study return, checked before it is used."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from relulab.core.errors import UserError
from relulab.lab.claim import Claim
from relulab.lab.control import Control, controlled
from relulab.lab.diverged import diverged, marked, notice, quiet
from relulab.lab.outside_code import blamed, expected
from relulab.lab.run.documents import file_name
from relulab.lab.show.animation import Animation
from relulab.lab.study import Study, Unit, place_of


def units_of(study: Study) -> list[Unit]:
    """Return the units of a study; raise a UserError if two of them would be stored in one file."""
    units = _returned(study, study.units, (list, tuple))
    for unit in units:
        expected(f"{place_of(study)}: an item of units()", Unit, unit)
        file_name("unit", unit.name)
    name, count = Counter(unit.name for unit in units).most_common(1)[0] if units else ("", 0)
    if count > 1:
        raise UserError(f"{place_of(study)}: {count} units have the name {name!r}: give each unit a name of its own")
    return list(units)


def figures_of(study: Study, result: xr.Dataset) -> dict[str, Figure]:
    """Return the figures of a study, whose names can be file names; they say how many networks diverged, if any."""
    sentence = diverged(result)
    try:
        with quiet(sentence):
            figures = _drawings(study, "figure", study.figures, Figure, result)
    except Exception:
        if not sentence:
            raise
        return {"diverged": notice(sentence)}  # NaN may be more than a figure can take, but the claims are kept
    return {name: marked(figure, sentence) for name, figure in figures.items()}


def animations_of(study: Study, result: xr.Dataset) -> dict[str, Animation]:
    """Return the animations of a study, whose names can be file names; none if networks diverged."""
    return {} if diverged(result) else _drawings(study, "animation", study.animations, Animation, result)


def claims_of(study: Study, result: xr.Dataset) -> list[Claim]:
    """Return the claims of a study with their controls; their notes say how many networks diverged, if any."""
    sentence = diverged(result)

    def judge(result: xr.Dataset) -> list[Claim]:
        claims = _returned(study, study.claims, (list, tuple), result)
        for claim in claims:
            expected(f"{place_of(study)}: an item of claims()", Claim, claim)
        return claims

    with quiet(sentence):
        claims, controls = judge(result), _returned(study, study.controls, (list, tuple), result)
        for control in controls:
            expected(f"{place_of(study)}: an item of controls()", Control, control)
        claims = controlled(claims, controls, judge)
    return [claim.noted(sentence) for claim in claims]


def _drawings(study: Study, what: str, method: Callable, kind: type, result: xr.Dataset) -> dict[str, Any]:
    drawings = _returned(study, method, dict, result)
    for name, drawing in drawings.items():
        file_name(f"{place_of(study)}: {what}", name)
        expected(f"{place_of(study)}: the {what} {name!r}", kind, drawing)
    return drawings


def _returned(study: Study, method: Callable, kind: type | tuple[type, ...], *arguments: Any) -> Any:
    """Call a method of a study and return its answer, if it is of the right type."""
    with blamed(type(study).__module__, f"in {method.__name__}()"):
        answer = method(*arguments)
    expected(f"{place_of(study)}: {method.__name__}()", kind, answer)
    return answer
