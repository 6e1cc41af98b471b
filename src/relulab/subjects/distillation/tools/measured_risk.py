"""What the theorems on transfer risk share: a task, the measured risk of its students, and the common conditions."""

import math
from typing import NamedTuple

import numpy as np

from relulab.core.seeds import Role, stream
from relulab.lab.theorem import Check, Finding
from relulab.subjects.distillation.tools.angle_laws import AngleLaw, Angular, PolynomialAngles
from relulab.subjects.distillation.tools.estimated_angles import EstimatedAngles
from relulab.subjects.distillation.tools.learners import Learner
from relulab.subjects.distillation.tools.risk_curve import Curve, sample_risks
from relulab.subjects.distillation.tools.transfer import Numbers, transfer

SURE = 0.9999  # confidence of the interval by which a bound must be missed to be refuted, about four standard errors


class Measured(NamedTuple):
    """The law of angles, known or estimated with a band, the students' risk at one n, and its conditions."""

    law: AngleLaw
    curve: Curve
    n: int
    d: int
    conditions: tuple[Check, ...]

    @property
    def band(self) -> float:
        """How far p may lie below what ``law`` says; 0 for a law that is known."""
        return getattr(self.law, "band", 0.0)

    def against(self, bound: float) -> Check:
        """The conclusion: the expected risk is at most the bound, told by the interval of the measured risk.

        A bound of 1 or more holds of anything, and counts for nothing. No interval lies below 0, so where the bound is
        0 (n ≥ d, say) not one error may be met.
        """
        mean, low, high = (float(x[0]) for x in (self.curve.risk, self.curve.low, self.curve.high))
        if bound >= 1:  # which every risk is below, so it says nothing
            says = f"mean risk of students of {self.n} points (a bound of 1 or more says nothing)"
            return Check(says, mean, "<=", bound, math.inf)
        error = 0.0 if not bound and not mean else high - mean if mean <= bound else mean - low
        return Check(f"mean risk of students of {self.n} points", mean, "<=", bound, error)


def measured(
    X: Numbers,
    w_star: Numbers,
    *,
    n: int | None,
    law: AngleLaw | None,
    sets: int,
    confidence: float,
    seed: int,
    learner: Learner | None = None,
) -> Measured:
    """Students of n points of a sample, on those of its points that they do not see."""
    X, w_star = transfer(X, w_star)
    d = X.shape[1]
    n = max(1, min(d - 1, len(X) // 4, 20)) if n is None else n
    law = law or EstimatedAngles.of(X, w_star, confidence)
    rng = stream(0, Role.CHANCE, seed)
    curve = sample_risks(X, w_star, [n], sets=sets, rng=rng, learner=learner, confidence=SURE)
    full = Check(
        f"mean rank of {n} points in {d} dimensions: inputs with a density have full rank",
        float(curve.rank[0]), ">=", min(n, d),
    )  # fmt: skip
    return Measured(law, curve, n, d, (full,))


def case(index: int, law: PolynomialAngles, d: int = 20, N: int = 3000) -> dict:
    """Points of an angular task, its teacher and its law, for a demonstration."""
    task = Angular(d, law)
    return {"X": task.draw(stream(0, Role.DEMONSTRATION, index), N), "w_star": task.e1, "law": law}


def flat(index: int, check, **options) -> Finding:
    """A check on inputs that lie in a hyperplane, so have no density: 20 points have rank 19 there."""
    X = stream(0, Role.DEMONSTRATION, index).standard_normal((1000, 20))
    X[:, 19] = X[:, 0]
    return check(X, np.arange(1.0, 21), n=20, **options)
