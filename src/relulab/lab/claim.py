"""Claims: a statement of a paper, a measured quantity with its 95% interval over seeds, and a verdict."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from statistics import NormalDist
from typing import Literal

import numpy as np

from relulab.core.errors import UserError
from relulab.core.explained import may_be_nan
from relulab.lab.show.words import NOT_JUDGED
from relulab.lab.theorem import Verdict, finite

LEVEL = 0.95
NORMAL = NormalDist().inv_cdf((1 + LEVEL) / 2)  # half the width of a 95% interval, in standard errors
FEWEST = 5  # with fewer seeds no verdict is given: they may agree by chance


@may_be_nan("measured", "low", "high")
@dataclass(frozen=True)
class Reading:
    """What a negative control of a claim measured: the claim's number where the stated cause is missing.

    Args:
        name: What was changed, such as "students before training".
        measured: The claim's number on the control.
        low: Lower end of its 95% interval.
        high: Upper end of its 95% interval.
        verdict: The verdict on the control, which must not be HOLDS.
    """

    name: str
    measured: float
    low: float
    high: float
    verdict: Verdict

    def to_dict(self) -> dict:
        """Return the reading as a JSON document."""
        return {f.name: finite(getattr(self, f.name)) for f in fields(self)} | {"verdict": self.verdict.name}


@may_be_nan("measured", "low", "high", "values")
@dataclass(frozen=True)
class Claim:
    """A claim with its measured value, interval and verdict.

    The verdict is HOLDS or REFUTED if the whole interval lies on one side of the criterion, otherwise INCONCLUSIVE. On
    too few seeds, or too small a size, there is no verdict: NOT_JUDGED. ``says`` is the claim in one sentence,
    ``statistic`` describes what was measured, and ``note`` is what a reader should also know, for example why the claim
    was refuted. ``values`` are the values of the seeds. ``check`` marks a check of the code: an identity, or a property
    of the numerics, not a finding. ``control`` is what the negative control of the claim measured.
    """

    id: str
    says: str
    measured: float
    low: float
    high: float
    criterion: str
    verdict: Verdict
    note: str = ""
    statistic: str = ""
    values: tuple[float, ...] = ()
    check: bool = False
    control: Reading | None = None

    def to_dict(self) -> dict:
        """Return the claim as a JSON document, without the values of the seeds."""
        row = {f.name: finite(getattr(self, f.name)) for f in fields(self) if f.name != "values"}
        return {**row, "verdict": self.verdict.name, "control": self.control.to_dict() if self.control else None}

    def noted(self, sentence: str) -> "Claim":
        """Return the claim with another sentence in its note.

        Args:
            sentence: The sentence, or an empty text for no change.
        """
        note, mark, why = self.note.partition(NOT_JUDGED)
        return replace(self, note=" ".join(filter(None, (note.strip(), sentence, mark + why))))

    def unjudged(self, why: str) -> "Claim":
        """Return the claim without a verdict. The reason is the last sentence of its note.

        Args:
            why: The reason, such as "2 seeds, a verdict needs 5".
        """
        note = self.note.partition(NOT_JUDGED)[0].strip()
        control = replace(self.control, verdict=Verdict.NOT_JUDGED) if self.control else None
        return replace(self, verdict=Verdict.NOT_JUDGED, note=f"{note} {NOT_JUDGED}{why}.".strip(), control=control)


def claim(
    id: str,
    says: str,
    values: Sequence[float] | np.ndarray,
    relation: Literal[">", "<"],
    bound: float,
    note: str = "",
    within: tuple[float, float] = (-math.inf, math.inf),
    statistic: str = "",
    trials: int | None = None,
    check: bool = False,
    shared: float = 0.0,
) -> Claim:
    """Judge a claim on the mean of ``values`` over seeds, with its 95% Student interval.

    If each value is a share of ``trials`` independent cases, the interval contains the exact one of Clopper and Pearson
    for all cases together, because equal values say nothing of the cases that were not tried. With one case per seed,
    it is the exact one: five of five seeds do not show that the share is above a half.

    The verdict is INCONCLUSIVE if a seed has no value (NaN), because leaving such seeds out would select the seeds that
    worked. With fewer than five seeds, which may agree by chance, it is NOT_JUDGED.

    Args:
        id: The claim's id, such as "SS.F7.strong-first".
        says: The claim in one short sentence: "Strong teacher nodes are recovered first".
        values: One value per seed; NaN where there is none.
        relation: Whether the mean should be above (">") or below ("<") the bound.
        bound: The number that the interval is compared with.
        note: What a reader should also know, for example why the claim was refuted.
        within: The smallest and the largest possible value; the interval is clipped to them.
        statistic: What the values are: "rank correlation between strength and best correlation after 5 epochs".
        trials: The number of independent cases of which each value is a share; 1 if each value is 0 or 1.
        check: Whether this is a check of the code, such as an identity, and not a finding.
        shared: The standard error of what all seeds have in common, such as the same held-out points. The spread over
            seeds does not show it. The interval is widened by it: the squares of both parts add up.

    >>> claim("X.1", "The difference is positive", [0.9, 1.0, 1.1, 0.8, 1.2], ">", 0).verdict.name
    'HOLDS'
    """
    x = np.asarray(values, dtype=float)
    if x.ndim != 1 or not len(x):
        raise UserError(f"expected one value per seed, got values of shape {x.shape}: give a list of numbers")
    n, missing = len(x), int(np.isnan(x).sum())
    criterion = f"{relation} {bound:g}, for the {LEVEL:.0%} interval over {n} seeds"
    if missing and n >= FEWEST:
        note = f"{note} Undefined in {missing} of {n} seeds.".strip()
    mean = float(x.mean())
    half = math.hypot(half_width(n) * float(x.std(ddof=1)), NORMAL * shared) if n > 1 else np.inf
    low, high = (float(x) for x in np.clip([mean - half, mean + half], *within))
    if not missing and trials:
        exact = _exact(x.sum() * trials, n * trials)
        low, high = exact if trials == 1 else (min(low, exact[0]), max(high, exact[1]))
    verdict = _verdict(low, high, relation, bound)
    judged = Claim(id, says, mean, low, high, criterion, verdict, note, statistic, tuple(x.tolist()), check)
    return judged if n >= FEWEST else judged.unjudged(f"{n} seed{'s' * (n != 1)}, a verdict needs {FEWEST}")


def _verdict(low: float, high: float, relation: Literal[">", "<"], bound: float) -> Verdict:
    """Whether the whole interval lies on one side of the bound; NaN lies nowhere."""
    beyond, short = (low > bound, high < bound) if relation == ">" else (high < bound, low > bound)
    return Verdict.HOLDS if beyond else Verdict.REFUTED if short else Verdict.INCONCLUSIVE


@may_be_nan("estimate")
def claim_on_interval(
    id: str,
    says: str,
    estimate: tuple[float, float, float],
    relation: Literal[">", "<"],
    bound: float,
    over: str,
    note: str = "",
    statistic: str = "",
) -> Claim:
    """Judge a claim on one number with its 95% interval, where no seeds are drawn: a share of the units of a network.

    Args:
        id: The claim's id.
        says: The claim in one short sentence.
        estimate: The number, and the lower and the upper end of its interval.
        relation: Whether the number should be above (">") or below ("<") the bound.
        bound: The number that the interval is compared with.
        over: What the interval was computed from: "688 biases".
        note: What a reader should also know.
        statistic: What the number is.

    >>> claim_on_interval("X.1", "Most are red", (0.7, 0.6, 0.8), ">", 0.5, "90 balls").verdict.name
    'HOLDS'
    """
    measured, low, high = estimate
    criterion = f"{relation} {bound:g}, for the {LEVEL:.0%} interval over {over}"
    return Claim(id, says, measured, low, high, criterion, _verdict(low, high, relation, bound), note, statistic)


def _exact(count: float, total: int) -> tuple[float, float]:
    from relulab.core.share import clopper_pearson  # needs SciPy, like half_width

    low, high = clopper_pearson(round(float(count)), total, confidence=LEVEL)
    return float(low), float(high)


def half_width(n: int) -> float:
    """Half the width of the 95% Student interval of a mean over n ≥ 2 values, in standard deviations of a value.

    >>> round(half_width(10), 4)
    0.7154
    """
    from scipy.special import stdtrit  # scipy.stats takes half a second to import

    return float(stdtrit(n - 1, (1 + LEVEL) / 2) / np.sqrt(n))


def rank_correlation(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Compute Spearman's rank correlation along the last axis. Ties share their mean rank.

    Args:
        a: The first variable, of shape (…, n).
        b: The second variable, of a shape that broadcasts with that of ``a``.

    Returns:
        The correlations, without the last axis; NaN where a variable is constant, empty or has a NaN.

    >>> rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([[2.0, 4.0, 9.0], [3.0, 2.0, 1.0]])).tolist()
    [1.0, -1.0]
    """
    from scipy.stats import rankdata

    a, b = np.broadcast_arrays(a, b)
    if not a.shape[-1]:
        return np.full(a.shape[:-1], np.nan)
    ra, rb = (rankdata(x, axis=-1) for x in (a, b))
    ra, rb = (r - r.mean(-1, keepdims=True) for r in (ra, rb))
    norm = np.sqrt((ra**2).sum(-1) * (rb**2).sum(-1))
    rho = np.divide((ra * rb).sum(-1), norm, out=np.full(norm.shape, np.nan), where=norm > 0)
    return np.where(np.isnan(a).any(-1) | np.isnan(b).any(-1), np.nan, rho.clip(-1, 1))
