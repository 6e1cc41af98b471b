r"""T5.C1, exponential rates with a margin (T5 corollary 5.1).

If p(β) = 0 and γ = p(π/2 − β) < 1 for some β in [0, π/2], that is if no input is within π/2 − β of the teacher's
boundary, and some are nearer to the teacher than that, then E R ≤ γⁿ   (5.20).
"""

import math
from typing import Any

from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.distillation.tools.angle_laws import RIGHT, AngleLaw, PolynomialAngles
from relulab.subjects.distillation.tools.bound import ROUNDING, margin_bound
from relulab.subjects.distillation.tools.estimated_angles import EstimatedAngles
from relulab.subjects.distillation.tools.learners import less_biased
from relulab.subjects.distillation.tools.linear_teacher_input import LinearTeacher
from relulab.subjects.distillation.tools.measured_risk import case, measured
from relulab.subjects.distillation.tools.transfer import Numbers


def large_margin(
    X: Numbers,
    w_star: Numbers,
    law: AngleLaw | None = None,
    *,
    beta: float | None = None,
    n: int | None = None,
    sets: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
    delta: float = 0.0,
) -> Finding:
    """Checks the corollary for an angle β, in radians.

    That p(β) is 0 no sample can prove: only a law that is known.

    Args:
        X: The sample, (N, d), an input a row.
        w_star: The teacher w*, (d,), not zero.
        law: The law of the angle between an input and the teacher. None estimates it from the sample.
        beta: β, in radians from 0 to π/2. None takes the law's ``widest`` angle if it has one, else that of the sample.
        n: Points per transfer set. None takes the least of d − 1, a quarter of the sample, and 20.
        sets: Number of random transfer sets over which the risk is averaged, at least 2.
        confidence: Confidence of the band of an estimated law; a known law needs none.
        seed: Seed of the transfer sets.
        delta: A false variant of the statement, for the negative control, if other than 0: the bound is claimed for
            minimizers w_δ of the loss that gradient descent would not find.

    >>> large_margin(**case(18, PolynomialAngles(1.0, widest=1.2), d=6, N=200), n=5, sets=20).verdict.name
    'HOLDS'
    """
    learner = less_biased(delta) if delta else None
    found = measured(X, w_star, n=n, law=law, sets=sets, confidence=confidence, seed=seed, learner=learner)
    if beta is None:
        largest = math.nextafter(float(EstimatedAngles.of(X, w_star).angles[-1]), 2)
        beta = min(RIGHT, getattr(law, "widest", largest))
    wide = float(found.law.p(beta)) - found.band
    gamma = float(found.law.p(RIGHT - beta - ROUNDING))
    conditions = (
        *found.conditions,
        Check(f"p(β), of angles of β = {beta:.4g} or more", wide, "<=", 0.0, found.band),
        Check("1 − γ, the share of angles below π/2 − β", 1 - gamma, ">=", ROUNDING),
    )
    return Finding(conditions, (found.against(float(margin_bound(gamma, found.n))),))


def _case(widest: float, beta: float | None = None, n: int = 8, **options: Any) -> Finding:
    return large_margin(**case(18, PolynomialAngles(1.0, widest)), beta=beta or widest, n=n, **options)


THEOREM = Theorem(
    id="T5.C1",
    title="Exponential rates with a margin",
    statement="If no input has an angle of β or more to the teacher and a share γ < 1 has π/2 − β or more, the "
    "expected transfer risk is at most γⁿ.",
    source="T5 corollary 5.1, eq. 5.20",
    check=large_margin,
    on={LinearTeacher: large_margin},
    variants=("delta",),
    demonstrations=(
        Demonstration("angles uniform up to 1.2", Verdict.HOLDS, lambda: _case(1.2)),
        Demonstration("no margin: angles up to π/2", Verdict.NOT_APPLICABLE, lambda: _case(RIGHT, beta=1.2)),
        Demonstration(
            "negative control: minimizers that gradient descent does not find",
            Verdict.REFUTED,
            lambda: _case(1.2, n=15, delta=5.0),
        ),
    ),
)
