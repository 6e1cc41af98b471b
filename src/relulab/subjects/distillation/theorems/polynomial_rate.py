r"""T5.C2, polynomial rates (T5 corollary 5.2).

If p(θ) ≤ (1 − 2θ/π)^κ for all θ in [0, π/2], then E R ≤ (1 + (log n)^κ)/n^κ   (5.21).

By theorem 5.3 with β = (π/2) n^(−1/n) (5.22, 5.23): the least bound over β is smaller, by a few percent for
κ = 1 and up to two times for κ = 4.
"""

from typing import Any

import numpy as np

from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.distillation.tools.angle_laws import RIGHT, AngleLaw, PolynomialAngles
from relulab.subjects.distillation.tools.bound import polynomial_bound
from relulab.subjects.distillation.tools.estimated_angles import EstimatedAngles
from relulab.subjects.distillation.tools.learners import less_biased
from relulab.subjects.distillation.tools.linear_teacher_input import LinearTeacher
from relulab.subjects.distillation.tools.measured_risk import case, measured
from relulab.subjects.distillation.tools.transfer import Numbers

GRID = np.linspace(0, RIGHT, 2001)
ROUNDING = 1e-12
STEEP = 1e6  # taken for points that are all along the teacher, which any degree suits


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
    """Checks the corollary for a degree κ, or for the one that suits the sample best.

    A sample can show that p is not below the polynomial, but never that it is.

    Args:
        X: The sample, (N, d), an input a row.
        w_star: The teacher w*, (d,), not zero.
        law: The law of the angle between an input and the teacher. None estimates it from the sample.
        kappa: The degree κ. None takes the one that suits the sample best, by maximum likelihood.
        n: Points per transfer set. None takes the least of d − 1, a quarter of the sample, and 20.
        sets: Number of random transfer sets over which the risk is averaged, at least 2.
        confidence: Confidence of the band of an estimated law; a known law needs none.
        seed: Seed of the transfer sets.
        delta: A false variant of the statement, for the negative control, if other than 0: the bound is claimed for
            minimizers w_δ of the loss that gradient descent would not find.

    >>> polynomial_rate(**case(19, PolynomialAngles(2.0), d=6, N=200), kappa=2.0, n=5, sets=20).verdict.name
    'HOLDS'
    """
    learner = less_biased(delta) if delta else None
    found = measured(X, w_star, n=n, law=law, sets=sets, confidence=confidence, seed=seed, learner=learner)
    kappa = min(EstimatedAngles.of(X, w_star).kappa, STEEP) if kappa is None else kappa
    share = getattr(found.law, "share", found.law.p)
    theta = np.concatenate([GRID, getattr(found.law, "angles", GRID)])
    above = float((share(theta) - PolynomialAngles(kappa).p(theta)).max()) if kappa else 0.0
    conditions = (
        *found.conditions,
        Check(f"how far p rises above (1 − 2θ/π)^{kappa:g}", above, "<=", ROUNDING, found.band if kappa else 0.0),
    )
    return Finding(conditions, (found.against(float(polynomial_bound(kappa, found.n))),))


def _case(kappa: float, wanted: float, n: int = 10, **options: Any) -> Finding:
    return polynomial_rate(**case(19, PolynomialAngles(kappa)), kappa=wanted, n=n, **options)


THEOREM = Theorem(
    id="T5.C2",
    title="Polynomial rates",
    statement="If p(θ) is at most (1 − 2θ/π)^κ for all θ, the expected transfer risk is at most (1 + (log n)^κ)/n^κ.",
    source="T5 corollary 5.2, eq. 5.21",
    check=polynomial_rate,
    on={LinearTeacher: polynomial_rate},
    variants=("delta",),
    demonstrations=(
        Demonstration("uniform angles, κ = 1", Verdict.HOLDS, lambda: _case(1.0, 1.0)),
        Demonstration("κ = 2 is more than κ = 1.5 asks for", Verdict.HOLDS, lambda: _case(2.0, 1.5)),
        Demonstration("uniform angles are too wide for κ = 2", Verdict.NOT_APPLICABLE, lambda: _case(1.0, 2.0)),
        Demonstration(
            "negative control: minimizers that gradient descent does not find",
            Verdict.REFUTED,
            lambda: _case(2.0, 2.0, n=19, delta=5.0),
        ),
    ),
)
