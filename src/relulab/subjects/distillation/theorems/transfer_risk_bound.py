r"""T5.T3, how fast a student learns (T5 theorem 5.3).

With p(θ) = P[ᾱ(w*, x) ≥ θ], the expected transfer risk of distillation is 0 for n ≥ d (5.18), and for n < d

    E R ≤ p(β) + p(π/2 − β)ⁿ   for every β in [0, π/2]   (5.19).

An error needs a hard test point, at an angle of β or more, or a transfer set without any easy point, at an angle below
π/2 − β. The proof rests on lemma 5.1, so on what gradient descent does: other minimizers of the same loss have no such
bound. The least bound over β is compared with the measured risk; where p is estimated from a sample, by the upper end
of its band.
"""

from relulab.lab.theorem import Demonstration, Finding, Theorem, Verdict
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
    """Checks the bound for students of n points of a sample X.

    The law of angles is estimated from the sample, with a band of this confidence, unless it is known.

    Args:
        X: The sample, (N, d), an input a row.
        w_star: The teacher w*, (d,), not zero.
        law: The law of the angle between an input and the teacher. None estimates it from the sample.
        n: Points per transfer set. None takes the least of d − 1, a quarter of the sample, and 20, but at least 1.
        sets: Number of random transfer sets over which the risk is averaged, at least 2.
        confidence: Confidence of the band of an estimated law; a known law needs none.
        seed: Seed of the transfer sets.
        delta: A false variant of the statement, for the negative control, if other than 0: the bound is claimed for
            minimizers w_δ of the loss that gradient descent would not find.

    >>> transfer_risk_bound(**case(17, PolynomialAngles(2.0), d=6, N=200), n=5, sets=20).verdict.name
    'HOLDS'
    """
    learner = less_biased(delta) if delta else None
    found = measured(X, w_star, n=n, law=law, sets=sets, confidence=confidence, seed=seed, learner=learner)
    bound = transfer_bound(found.law, found.n, d=found.d).value.item()
    return Finding(found.conditions, (found.against(bound),))


def _case(kappa: float, n: int, **options) -> Finding:
    return transfer_risk_bound(**case(17, PolynomialAngles(kappa)), n=n, **options)


THEOREM = Theorem(
    id="T5.T3",
    title="The transfer risk bound",
    statement="For n < d the expected transfer risk of distillation is at most p(β) + p(π/2 − β)ⁿ, for every β, where "
    "p(θ) is the probability that an input has an angle of θ or more to the teacher; for n ≥ d it is 0.",
    source="T5 theorem 5.3, eqs. 5.18 and 5.19",
    check=transfer_risk_bound,
    on={LinearTeacher: transfer_risk_bound},
    variants=("delta",),
    demonstrations=(
        Demonstration("10 points in R²⁰, uniform angles", Verdict.HOLDS, lambda: _case(1.0, 10)),
        Demonstration("10 points in R²⁰, angles with κ = 2", Verdict.HOLDS, lambda: _case(2.0, 10)),
        Demonstration("20 points in R²⁰: no risk at all", Verdict.HOLDS, lambda: _case(1.0, 20)),
        Demonstration(
            "inputs in a hyperplane: without a density", Verdict.NOT_APPLICABLE, lambda: flat(17, transfer_risk_bound)
        ),
        Demonstration(
            "negative control: minimizers that gradient descent does not find",
            Verdict.REFUTED,
            lambda: _case(2.0, 19, delta=5.0),
        ),
    ),
)
