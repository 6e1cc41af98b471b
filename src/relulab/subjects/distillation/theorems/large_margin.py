r"""T5.C1, exponential rates with a margin (T5 corollary 5.1).

Suppose that p(β) = 0 and γ = p(π/2 − β) < 1 for some β in [0, π/2]: no input has an angle of β or more to the teacher,
and some inputs have an angle below π/2 − β. Then E R ≤ γⁿ   (5.20).
"""

import math
from typing import Any

from relulab.core.errors import UserError
from relulab.lab.show.words import number
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.distillation.terms import ANGLES
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
    """Check the corollary for an angle β, in radians.

    No sample can prove that p(β) = 0. Only a known distribution can, so give ``law`` for a definite verdict.

    Args:
        X: The sample, (N, d), one input per row.
        w_star: The teacher w*, (d,), not zero.
        law: The distribution of the angle between an input and the teacher. If None, it is estimated from the sample.
        beta: β, in radians from 0 to π/2. Default: the attribute ``widest`` of ``law`` if it has one, otherwise the
            largest angle of the sample.
        n: Points per transfer set. Default: the smallest of d − 1, a quarter of the sample, and 20.
        sets: Number of random transfer sets over which the risk is averaged, at least 2.
        confidence: Confidence of the band of an estimated distribution; not used with a known one.
        seed: Seed of the transfer sets.
        delta: If not 0, check a false variant of the statement (negative control): the bound is claimed for
            minimizers w_δ of the loss that gradient descent does not find.

    >>> large_margin(**case(18, PolynomialAngles(1.0, widest=1.2), d=6, N=200), n=5, sets=20).verdict.name
    'HOLDS'
    """
    learner = less_biased(delta) if delta else None
    risk = measured(X, w_star, n=n, law=law, sets=sets, confidence=confidence, seed=seed, learner=learner)
    if beta is None:
        largest = math.nextafter(float(EstimatedAngles.of(X, w_star).angles[-1]), 2)
        beta = min(RIGHT, getattr(law, "widest", largest))
    if not 0 <= beta <= RIGHT:
        raise UserError(f"expected an angle from 0 to π/2 in radians, got beta = {beta}")
    share_beyond = float(risk.law.p(beta)) - risk.band
    gamma = float(risk.law.p(RIGHT - beta - ROUNDING))
    within = f" ± {number(risk.band)}" if risk.band else ""
    conditions = (
        *risk.conditions,
        Check(f"No input has an angle of β = {beta:.4g} or more to the teacher, p(β) = 0", share_beyond, "<=", 0.0,
              risk.band, detail=f"the share of such inputs is {number(share_beyond)}{within}"),
        Check("Some inputs have an angle below π/2 − β, so γ < 1", 1 - gamma, ">=", ROUNDING,
              detail=f"the share of such inputs is {number(1 - gamma)}"),
    )  # fmt: skip
    return Finding(conditions, (risk.against(float(margin_bound(gamma, risk.n))),))


def _case(widest: float, beta: float | None = None, n: int = 8, **options: Any) -> Finding:
    return large_margin(**case(18, PolynomialAngles(1.0, widest)), beta=beta or widest, n=n, **options)


THEOREM = Theorem(
    id="T5.C1",
    title="Exponential rate with an angular margin",
    statement="Suppose that p(β) = 0 and γ = p(π/2 − β) < 1 for some β in [0, π/2]. Then the expected transfer risk "
    "is at most γⁿ.",
    symbols={
        **ANGLES,
        "β": "an angle that no input reaches",
        "γ": "probability that the angle is at least π/2 − β",
        "n": "number of points in a transfer set",
    },
    source="T5 corollary 5.1, eq. 5.20",
    check=large_margin,
    on={LinearTeacher: large_margin},
    variants=("delta",),
    demonstrations=(
        Demonstration("Angles uniform up to 1.2 radians", Verdict.HOLDS, lambda: _case(1.2)),
        Demonstration("No margin: angles up to π/2", Verdict.NOT_APPLICABLE, lambda: _case(RIGHT, beta=1.2)),
        Demonstration(
            "Negative control: minimizers that gradient descent does not find",
            Verdict.REFUTED,
            lambda: _case(1.2, n=15, delta=5.0),
        ),
    ),
)
