"""Negative controls of claims: results that lack the stated cause, on which the same claims must not hold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import xarray as xr

from relulab.core.errors import UserError
from relulab.lab.claim import Claim, Reading
from relulab.lab.theorem import Verdict

ALSO_HOLDS = "It holds for the control as well, so it shows nothing: "


@dataclass(frozen=True)
class Control:
    """A result on which claims must not hold: an untrained network, a shuffled teacher, random labels.

    Args:
        name: What was changed, such as "students before training". It completes the sentence "measured for …".
        claims: Ids of the claims that it controls; a star stands for any text: "IB.F2.rank-*".
        result: The result on which these claims are judged again, by the same code.
    """

    name: str
    claims: tuple[str, ...]
    result: xr.Dataset

    def __post_init__(self) -> None:
        if not len(self.claims):
            raise UserError(
                f"control {self.name!r}: expected a tuple of claim ids, got {self.claims!r}: write ('X.F1.a',)"
            )

    def covers(self, claim: Claim) -> bool:
        """Whether this is a control of a claim."""
        return any(fnmatchcase(claim.id, pattern) for pattern in self.claims)


def controlled(
    claims: Sequence[Claim], controls: Sequence[Control], judge: Callable[[xr.Dataset], Sequence[Claim]]
) -> list[Claim]:
    """Return the claims with the readings of their controls.

    A claim that holds for its control as well shows nothing: it becomes INCONCLUSIVE, and its note says why. If several
    controls cover a claim, the first one counts. Checks of the code need no control.

    Args:
        claims: The claims of a result.
        controls: The controls.
        judge: Judges the claims on a result: the method ``claims`` of the study.
    """
    readings: dict[str, Reading] = {}
    for control in controls:
        wanted = {c.id for c in claims if control.covers(c)} - readings.keys()
        found = {c.id: c for c in judge(control.result)} if wanted else {}
        if missing := sorted(wanted - found.keys()):
            raise UserError(
                f"the control {control.name!r} has no value of the claim {missing[0]}: its result must contain all "
                "that this claim is computed from"
            )
        for id in wanted:
            c = found[id]
            readings[id] = Reading(control.name, c.measured, c.low, c.high, c.verdict)
    return [_judged(c, readings.get(c.id)) for c in claims]


def _judged(claim: Claim, reading: Reading | None) -> Claim:
    claim = replace(claim, control=reading)
    if reading is None or reading.verdict is not Verdict.HOLDS or claim.verdict is not Verdict.HOLDS:
        return claim
    return replace(claim.noted(f"{ALSO_HOLDS}{reading.name}."), verdict=Verdict.INCONCLUSIVE)
