"""Claims that are judged by several statistics, which must agree."""

from dataclasses import replace

from relulab.core.errors import UserError
from relulab.lab.claim import Claim
from relulab.lab.show.words import VERDICTS, claim_detail
from relulab.lab.theorem import Verdict


def agreed(*claims: Claim) -> Claim:
    """Judge one statement by several statistics: it holds, or is refuted, only if each of them says so.

    A mean and a share of seeds may disagree, for example if a few seeds are much worse than all others. Such a
    statement depends on the statistic, and is INCONCLUSIVE.

    Args:
        claims: The statement, judged by each statistic. The result is the first with another verdict; its note has the
            numbers of the others.

    >>> from relulab.lab.claim import claim
    >>> gains = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -0.1, -0.1]
    >>> wins = [float(gain > 0) for gain in gains]
    >>> mean = claim("X.1", "It helps", gains, ">", 0, statistic="gain")
    >>> share = claim("X.1", "It helps", wins, ">", 0.5, statistic="share of seeds that gain", trials=1)
    >>> agreed(mean, share).verdict.name
    'INCONCLUSIVE'
    >>> print(agreed(mean, share).note)
    By another statistic it is inconclusive, so the verdict depends on the statistic. Share of seeds that gain: 0.8 \
(95% interval 0.444 to 0.975), must be > 0.5.
    """
    if not claims:
        raise UserError("expected at least one claim, got none: give the claim judged by each statistic")
    first, *others = claims
    if any(c.verdict is Verdict.NOT_JUDGED for c in claims):
        return first
    for other in others:
        first = first.noted(_compared(first, other))
    same = len({c.verdict for c in claims}) == 1
    return first if same else replace(first, verdict=Verdict.INCONCLUSIVE)


def _compared(first: Claim, other: Claim) -> str:
    words = claim_detail(other.statistic, other.measured, other.low, other.high, other.criterion)
    numbers = f"{words[:1].upper()}{words[1:]}."
    verdict = "holds" if other.verdict is Verdict.HOLDS else f"is {VERDICTS[other.verdict.name]}"
    if other.verdict is first.verdict:
        return f"By another statistic it {verdict} as well. {numbers}"
    return f"By another statistic it {verdict}, so the verdict depends on the statistic. {numbers}"
