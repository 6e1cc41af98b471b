"""Claims judged by several statistics: they need agreement, and say what each statistic shows."""

import pytest

from relulab import UserError, Verdict
from relulab.lab.claim import claim
from relulab.lab.several_statistics import agreed

UP, DOWN, EITHER = [1.0, 1.1, 0.9, 1.0, 1.2], [-1.0, -1.1, -0.9, -1.0, -1.2], [1.0, -1.0, 1.0, -1.0, 0.5]


def judged(values, statistic: str = "gain"):
    return claim("X.1", "It helps", values, ">", 0, note="A note.", statistic=statistic)


@pytest.mark.parametrize("first, second, verdict", [
    (UP, UP, Verdict.HOLDS), (DOWN, DOWN, Verdict.REFUTED), (EITHER, EITHER, Verdict.INCONCLUSIVE),
    (UP, DOWN, Verdict.INCONCLUSIVE), (DOWN, UP, Verdict.INCONCLUSIVE), (UP, EITHER, Verdict.INCONCLUSIVE),
    (EITHER, UP, Verdict.INCONCLUSIVE),
])  # fmt: skip
def test_a_verdict_needs_agreement(first, second, verdict):
    both = agreed(judged(first), judged(second, "share"))
    assert both.verdict is verdict and both.measured == judged(first).measured and both.statistic == "gain"
    assert both.note.startswith("A note.") and "Share: " in both.note
    assert ("depends on the statistic" in both.note) == (judged(first).verdict is not judged(second).verdict)


def test_one_dissenting_statistic_of_three_is_enough():
    three = agreed(judged(UP), judged(UP, "second"), judged(DOWN, "third"))
    assert three.verdict is Verdict.INCONCLUSIVE and "as well" in three.note and "Third: -1.04" in three.note


def test_too_few_seeds_stay_unjudged_and_no_claim_is_an_error():
    assert agreed(judged(UP[:2]), judged(DOWN[:2])).verdict is Verdict.NOT_JUDGED
    assert agreed(judged(UP)) == judged(UP)
    with pytest.raises(UserError, match="at least one claim"):
        agreed()
