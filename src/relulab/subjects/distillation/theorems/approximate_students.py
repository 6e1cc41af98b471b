r"""T5.D4, the bound for students that come near ŵ only (T5 theorem D.4).

Let n < d, ‖ŵ_ε − ŵ‖ ≤ ε ≤ ‖ŵ‖/2 and δ = √(2πε/‖ŵ‖). Then E R ≤ p(β) + p(π/2 − δ − β)ⁿ for β in [0, π/2 − δ] (D.43):
deep students (theorem 5.2) end within ε of ŵ, and the angle that this costs is at most δ (lemma D.3).

As ‖ŵ‖ depends on the transfer set, ε is taken as a share of it, so that δ is the same for all sets. The students here
are turned away from the teacher as far as ε allows, by arcsin(ε/‖ŵ‖).
"""

from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
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
    """Checks the bound for students off ŵ by ``epsilon`` ‖ŵ‖.

    Args:
        X: The sample, (N, d), an input a row.
        w_star: The teacher w*, (d,), not zero.
        law: The law of the angle between an input and the teacher. None estimates it from the sample.
        epsilon: ε/‖ŵ‖, how far students are from ŵ; the theorem asks for 0 to 1/2.
        n: Points per transfer set. None takes the least of d − 1, a quarter of the sample, and 20.
        sets: Number of random transfer sets over which the risk is averaged, at least 2.
        confidence: Confidence of the band of an estimated law; a known law needs none.
        seed: Seed of the transfer sets.
        sharp: Whether δ is arcsin(ε/‖ŵ‖), the largest angle that there can be, for a smaller bound that holds as well.
        exact: A false variant of the statement, for the negative control: theorem 5.3's bound, as if students were at
            ŵ.

    >>> approximate_students(**case(20, PolynomialAngles(2.0), d=6, N=200), n=5, sets=20).verdict.name
    'HOLDS'
    """
    off = pushed(epsilon if 0 <= epsilon < 1 else 0.0)
    found = measured(X, w_star, n=n, law=law, sets=sets, confidence=confidence, seed=seed, learner=off)
    conditions = (
        *found.conditions,
        Check("n, less than d", found.n, "<=", found.d - 1),
        Check("ε/‖ŵ‖", epsilon, "<=", 0.5),
        Check("ε/‖ŵ‖", epsilon, ">=", 0.0),
    )
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    angle = 0.0 if exact else delta(epsilon, 1.0, sharp=sharp)
    bound = transfer_bound(found.law, found.n, delta=angle).value.item()
    return Finding(conditions, (found.against(bound),))


def _case(kappa: float = 2.0, n: int = 10, **options) -> Finding:
    return approximate_students(**case(20, PolynomialAngles(kappa)), n=n, **options)


def _narrow(**options) -> Finding:
    """Angles up to 0.7, in three dimensions: theorem 5.3 allows no error at all."""
    return approximate_students(**case(20, PolynomialAngles(0.5, 0.7), d=3), n=1, epsilon=0.5, **options)


THEOREM = Theorem(
    id="T5.D4",
    title="The bound for approximate students",
    statement="For n < d, students within ε ≤ ‖ŵ‖/2 of ŵ have an expected transfer risk of at most p(β) + "
    "p(π/2 − δ − β)ⁿ, with δ = √(2πε/‖ŵ‖), for every β up to π/2 − δ.",
    source="T5 theorem D.4, eq. D.43",
    check=approximate_students,
    on={LinearTeacher: approximate_students},
    variants=("exact",),
    demonstrations=(
        Demonstration("10 points in R²⁰, ε = 0.01 ‖ŵ‖", Verdict.HOLDS, _case),
        Demonstration("the same with the sharp angle", Verdict.HOLDS, lambda: _case(sharp=True)),
        Demonstration("ε = 0.6 ‖ŵ‖", Verdict.NOT_APPLICABLE, lambda: _case(epsilon=0.6)),
        Demonstration("as many points as dimensions", Verdict.NOT_APPLICABLE, lambda: _case(n=20)),
        Demonstration("negative control: no allowance for ε", Verdict.REFUTED, lambda: _narrow(exact=True)),
    ),
)
