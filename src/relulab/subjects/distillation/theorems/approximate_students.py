r"""T5.D4, the risk bound for students that only come close to ŵ (T5 theorem D.4).

Let n < d, ‖ŵ_ε − ŵ‖ ≤ ε ≤ ‖ŵ‖/2 and δ = √(2πε/‖ŵ‖). Then E R ≤ p(β) + p(π/2 − δ − β)ⁿ for every β in [0, π/2 − δ]
(D.43). Deep students (theorem 5.2) end within ε of ŵ, and the angle between ŵ_ε and ŵ is at most δ (lemma D.3).

‖ŵ‖ depends on the transfer set, so ε is given as a share of ‖ŵ‖. Then δ is the same for all sets. The students tested
here are turned away from the teacher as far as ε allows, by the angle arcsin(ε/‖ŵ‖).
"""

from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.distillation.terms import ANGLES, SIZES
from relulab.subjects.distillation.tools.angle_laws import AngleLaw, PolynomialAngles
from relulab.subjects.distillation.tools.bound import delta, transfer_bound
from relulab.subjects.distillation.tools.learners import pushed
from relulab.subjects.distillation.tools.linear_teacher_input import LinearTeacher
from relulab.subjects.distillation.tools.measured_risk import case, measured
from relulab.subjects.distillation.tools.transfer import Numbers


def approximate_students(
    X: Numbers,
    w_star: Numbers,
    law: AngleLaw | None = None,
    *,
    epsilon: float = 0.01,
    n: int | None = None,
    sets: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
    sharp: bool = False,
    exact: bool = False,
) -> Finding:
    """Check the bound for students at distance ``epsilon`` ‖ŵ‖ from ŵ.

    Args:
        X: The sample, (N, d), one input per row.
        w_star: The teacher w*, (d,), not zero.
        law: The distribution of the angle between an input and the teacher. If None, it is estimated from the sample.
        epsilon: ε/‖ŵ‖, the distance of the students from ŵ. The theorem requires 0 to 1/2.
        n: Points per transfer set. Default: the smallest of d − 1, a quarter of the sample, and 20.
        sets: Number of random transfer sets over which the risk is averaged, at least 2.
        confidence: Confidence of the band of an estimated distribution; not used with a known one.
        seed: Seed of the transfer sets.
        sharp: If True, use δ = arcsin(ε/‖ŵ‖), the largest possible angle. The bound is smaller and still holds.
        exact: If True, check a false variant of the statement (negative control): the bound of theorem 5.3, as if the
            students were at ŵ.

    >>> approximate_students(**case(20, PolynomialAngles(2.0), d=6, N=200), n=5, sets=20).verdict.name
    'HOLDS'
    """
    learner = pushed(epsilon if 0 <= epsilon < 1 else 0.0)
    risk = measured(X, w_star, n=n, law=law, sets=sets, confidence=confidence, seed=seed, learner=learner)
    conditions = (
        *risk.conditions,
        Check(
            "There are fewer points than dimensions, n < d", risk.n, "<=", risk.d - 1,
            detail=f"n = {risk.n:,}, d = {risk.d:,}",
        ),
        Check("The distance ε from ŵ is at most half of ‖ŵ‖", epsilon, "<=", 0.5, detail=f"ε = {epsilon:g} ‖ŵ‖"),
        Check("The distance ε from ŵ is not negative", epsilon, ">=", 0.0, detail=f"ε = {epsilon:g} ‖ŵ‖"),
    )  # fmt: skip
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    angle = 0.0 if exact else delta(epsilon, 1.0, sharp=sharp)
    bound = transfer_bound(risk.law, risk.n, delta=angle).value.item()
    return Finding(conditions, (risk.against(bound),))


def _case(kappa: float = 2.0, n: int = 10, **options) -> Finding:
    return approximate_students(**case(20, PolynomialAngles(kappa)), n=n, **options)


def _narrow(**options) -> Finding:
    """Angles up to 0.7 in three dimensions, where theorem 5.3 allows no error at all."""
    return approximate_students(**case(20, PolynomialAngles(0.5, 0.7), d=3), n=1, epsilon=0.5, **options)


THEOREM = Theorem(
    id="T5.D4",
    title="The risk bound for approximate students",
    statement="Let n < d, and let every student ŵ_ε satisfy ‖ŵ_ε − ŵ‖ ≤ ε with ε ≤ ‖ŵ‖/2. Set δ = √(2πε/‖ŵ‖). Then the "
    "expected transfer risk is at most p(β) + p(π/2 − δ − β)ⁿ for every β in [0, π/2 − δ].",
    symbols={
        **SIZES,
        "w*": "weights of the linear teacher",
        "ŵ": "the distillation solution, w* projected onto the span of the transfer set",
        "ŵ_ε": "weights of a student that is close to ŵ",
        "ε": "largest distance between ŵ_ε and ŵ",
        "δ": "bound on the angle between ŵ_ε and ŵ (lemma D.3)",
        **ANGLES,
        "β": "any angle in [0, π/2 − δ]",
    },
    in_print="The theorem uses one δ, although ‖ŵ‖ depends on the transfer set. Here ε is a fixed share of ‖ŵ‖, so δ "
    "is the same for all sets. The angle √(2πε/‖ŵ‖) of lemma D.3 is much larger than necessary: the largest possible "
    "angle is arcsin(ε/‖ŵ‖). The setting `sharp` uses that angle.",
    source="T5 theorem D.4, eq. D.43",
    check=approximate_students,
    on={LinearTeacher: approximate_students},
    variants=("exact",),
    demonstrations=(
        Demonstration("10 points in R²⁰, ε = 0.01 ‖ŵ‖", Verdict.HOLDS, _case),
        Demonstration("10 points in R²⁰ with the sharp angle", Verdict.HOLDS, lambda: _case(sharp=True)),
        Demonstration("Students too far from ŵ, ε = 0.6 ‖ŵ‖", Verdict.NOT_APPLICABLE, lambda: _case(epsilon=0.6)),
        Demonstration("As many points as dimensions", Verdict.NOT_APPLICABLE, lambda: _case(n=20)),
        Demonstration("Negative control: no allowance for ε", Verdict.REFUTED, lambda: _narrow(exact=True)),
    ),
)
