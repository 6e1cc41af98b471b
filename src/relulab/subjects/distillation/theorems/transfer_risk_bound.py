r"""T5.T3, the transfer risk bound (T5 theorem 5.3).

With p(θ) = P[ᾱ(w*, x) ≥ θ], the expected transfer risk of distillation is 0 for n ≥ d (5.18), and for n < d

    E R ≤ p(β) + p(π/2 − β)ⁿ   for every β in [0, π/2]   (5.19).

An error requires a hard test point (at an angle of β or more) or a transfer set without any easy point (at an angle
below π/2 − β). The proof uses lemma 5.1, which is specific to gradient descent: other minimizers of the same loss have
no such bound. The check compares the smallest bound over β with the measured risk. If p is estimated from a sample, the
bound uses the upper end of its confidence band.
"""

from relulab.lab.theorem import Demonstration, Finding, Theorem, Verdict
from relulab.subjects.distillation.terms import ANGLES, DEGREE, SIZES
from relulab.subjects.distillation.tools.angle_laws import AngleLaw, PolynomialAngles
from relulab.subjects.distillation.tools.bound import transfer_bound
from relulab.subjects.distillation.tools.learners import less_biased
from relulab.subjects.distillation.tools.linear_teacher_input import LinearTeacher
from relulab.subjects.distillation.tools.measured_risk import case, flat, measured
from relulab.subjects.distillation.tools.transfer import Numbers


def transfer_risk_bound(
    X: Numbers,
    w_star: Numbers,
    law: AngleLaw | None = None,
    *,
    n: int | None = None,
    sets: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
    delta: float = 0.0,
) -> Finding:
    """Check the bound for students trained on n points of a sample X.

    If the angle distribution ``law`` is not given, it is estimated from the sample with a confidence band.

    Args:
        X: The sample, (N, d), one input per row.
        w_star: The teacher w*, (d,), not zero.
        law: The distribution of the angle between an input and the teacher. If None, it is estimated from the sample.
        n: Points per transfer set. Default: the smallest of d − 1, a quarter of the sample, and 20, but at least 1.
        sets: Number of random transfer sets over which the risk is averaged, at least 2.
        confidence: Confidence of the band of an estimated distribution; not used with a known one.
        seed: Seed of the transfer sets.
        delta: If not 0, check a false variant of the statement (negative control): the bound is claimed for
            minimizers w_δ of the loss that gradient descent does not find.

    >>> transfer_risk_bound(**case(17, PolynomialAngles(2.0), d=6, N=200), n=5, sets=20).verdict.name
    'HOLDS'
    """
    learner = less_biased(delta) if delta else None
    risk = measured(X, w_star, n=n, law=law, sets=sets, confidence=confidence, seed=seed, learner=learner)
    bound = transfer_bound(risk.law, risk.n, d=risk.d).value.item()
    return Finding(risk.conditions, (risk.against(bound),))


def _case(kappa: float, n: int, **options) -> Finding:
    return transfer_risk_bound(**case(17, PolynomialAngles(kappa)), n=n, **options)


THEOREM = Theorem(
    id="T5.T3",
    title="The transfer risk bound",
    statement="Inputs have a density. For n ≥ d, the expected transfer risk of linear distillation is 0. For n < d, it "
    "is at most p(β) + p(π/2 − β)ⁿ for every β in [0, π/2].",
    symbols={
        **SIZES,
        **ANGLES,
        "β": "any angle in [0, π/2]",
        **DEGREE,
    },
    in_print="The proof ends with p(β) + (1 − p(β)) p(π/2 − β)ⁿ, which is slightly smaller than the stated bound. The "
    "function `transfer_bound` computes it with `tight=True`; the check uses the bound as stated. The density of the "
    "inputs is assumed at the beginning of the chapter, not in the theorem.",
    source="T5 theorem 5.3, eqs. 5.18 and 5.19",
    check=transfer_risk_bound,
    on={LinearTeacher: transfer_risk_bound},
    variants=("delta",),
    demonstrations=(
        Demonstration("10 points in R²⁰, uniform angles", Verdict.HOLDS, lambda: _case(1.0, 10)),
        Demonstration("10 points in R²⁰, angles with κ = 2", Verdict.HOLDS, lambda: _case(2.0, 10)),
        Demonstration("20 points in R²⁰: zero risk", Verdict.HOLDS, lambda: _case(1.0, 20)),
        Demonstration(
            "Inputs in a hyperplane, so without a density",
            Verdict.NOT_APPLICABLE,
            lambda: flat(17, transfer_risk_bound),
        ),
        Demonstration(
            "Negative control: minimizers that gradient descent does not find",
            Verdict.REFUTED,
            lambda: _case(2.0, 19, delta=5.0),
        ),
    ),
)
