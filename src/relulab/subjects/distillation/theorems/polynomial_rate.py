r"""T5.C2, polynomial rates (T5 corollary 5.2).

If p(θ) ≤ (1 − 2θ/π)^κ for all θ in [0, π/2], then E R ≤ (1 + (log n)^κ)/n^κ   (5.21).

The corollary follows from theorem 5.3 with β = (π/2) n^{−1/n} (5.22, 5.23). The minimum over all β is smaller, by a few
percent for κ = 1 and by a factor of up to two for κ = 4.
"""

from typing import Any

import numpy as np

from relulab.lab.show.words import number
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.distillation.terms import ANGLES, DEGREE
from relulab.subjects.distillation.tools.angle_laws import RIGHT, AngleLaw, PolynomialAngles
from relulab.subjects.distillation.tools.bound import polynomial_bound
from relulab.subjects.distillation.tools.estimated_angles import EstimatedAngles
from relulab.subjects.distillation.tools.learners import less_biased
from relulab.subjects.distillation.tools.linear_teacher_input import LinearTeacher
from relulab.subjects.distillation.tools.measured_risk import case, measured
from relulab.subjects.distillation.tools.transfer import Numbers

GRID = np.linspace(0, RIGHT, 2001)
ROUNDING = 1e-12
STEEP = 1e6  # the degree for points that are all parallel to the teacher, where every degree fits


def polynomial_rate(
    X: Numbers,
    w_star: Numbers,
    law: AngleLaw | None = None,
    *,
    kappa: float | None = None,
    n: int | None = None,
    sets: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
    delta: float = 0.0,
) -> Finding:
    """Check the corollary for a degree κ, by default the one that fits the sample best.

    A sample can show that p is not below the polynomial, but it cannot prove that p is.

    Args:
        X: The sample, (N, d), one input per row.
        w_star: The teacher w*, (d,), not zero.
        law: The distribution of the angle between an input and the teacher. If None, it is estimated from the sample.
        kappa: The degree κ. Default: the maximum-likelihood estimate from the sample.
        n: Points per transfer set. Default: the smallest of d − 1, a quarter of the sample, and 20.
        sets: Number of random transfer sets over which the risk is averaged, at least 2.
        confidence: Confidence of the band of an estimated distribution; not used with a known one.
        seed: Seed of the transfer sets.
        delta: If not 0, check a false variant of the statement (negative control): the bound is claimed for
            minimizers w_δ of the loss that gradient descent does not find.

    >>> polynomial_rate(**case(19, PolynomialAngles(2.0), d=6, N=200), kappa=2.0, n=5, sets=20).verdict.name
    'HOLDS'
    """
    learner = less_biased(delta) if delta else None
    risk = measured(X, w_star, n=n, law=law, sets=sets, confidence=confidence, seed=seed, learner=learner)
    kappa = min(EstimatedAngles.of(X, w_star).kappa, STEEP) if kappa is None else kappa
    share = getattr(risk.law, "share", risk.law.p)
    theta = np.concatenate([GRID, getattr(risk.law, "angles", GRID)])
    excess = float((share(theta) - PolynomialAngles(kappa).p(theta)).max()) if kappa else 0.0
    within = f" ± {number(risk.band)}" if kappa and risk.band else ""
    conditions = (
        *risk.conditions,
        Check(
            f"p(θ) is at most (1 − 2θ/π)^κ at every angle θ, with κ = {kappa:g}",
            excess, "<=", ROUNDING, risk.band if kappa else 0.0,
            detail=f"the largest excess is {number(excess)}{within}; up to {ROUNDING:g} is rounding",
        ),
    )  # fmt: skip
    return Finding(conditions, (risk.against(float(polynomial_bound(kappa, risk.n))),))


def _case(kappa: float, wanted: float, n: int = 10, **options: Any) -> Finding:
    return polynomial_rate(**case(19, PolynomialAngles(kappa)), kappa=wanted, n=n, **options)


THEOREM = Theorem(
    id="T5.C2",
    title="Polynomial rate",
    statement="If p(θ) ≤ (1 − 2θ/π)^κ for all θ in [0, π/2], the expected transfer risk is at most "
    "(1 + (log n)^κ)/n^κ.",
    symbols={
        **ANGLES,
        **DEGREE,
        "n": "number of points in a transfer set",
    },
    source="T5 corollary 5.2, eq. 5.21",
    check=polynomial_rate,
    on={LinearTeacher: polynomial_rate},
    variants=("delta",),
    demonstrations=(
        Demonstration("Uniform angles, κ = 1", Verdict.HOLDS, lambda: _case(1.0, 1.0)),
        Demonstration("Angles with κ = 2, checked for κ = 1.5", Verdict.HOLDS, lambda: _case(2.0, 1.5)),
        Demonstration("Uniform angles, too wide for κ = 2", Verdict.NOT_APPLICABLE, lambda: _case(1.0, 2.0)),
        Demonstration(
            "Negative control: minimizers that gradient descent does not find",
            Verdict.REFUTED,
            lambda: _case(2.0, 2.0, n=19, delta=5.0),
        ),
    ),
)
