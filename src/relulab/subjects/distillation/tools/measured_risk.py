"""Helpers shared by the theorems on transfer risk: a task, the measured risk of its students, common conditions."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from relulab.core.seeds import Role, stream
from relulab.lab.show.words import number
from relulab.lab.theorem import Check, Finding
from relulab.subjects.distillation.tools.angle_laws import AngleLaw, Angular, PolynomialAngles
from relulab.subjects.distillation.tools.estimated_angles import EstimatedAngles
from relulab.subjects.distillation.tools.learners import Learner
from relulab.subjects.distillation.tools.risk_curve import Curve, sample_risks
from relulab.subjects.distillation.tools.transfer import Numbers, transfer

SURE = 0.9999  # confidence of the risk interval: a bound is refuted by about four standard errors


class Measured(NamedTuple):
    """The angle distribution (known or estimated), the measured risk of students of n points, and the conditions."""

    law: AngleLaw
    curve: Curve
    n: int
    d: int
    conditions: tuple[Check, ...]

    @property
    def band(self) -> float:
        """Half-width by which ``law.p`` may exceed the true p; 0 for a known distribution."""
        return getattr(self.law, "band", 0.0)

    def against(self, bound: float) -> Check:
        """Return the conclusion that the expected risk is at most the bound, using the interval of the measured risk.

        A bound of 1 or more holds for every risk, so the check is then undecided. If the bound is 0 (for n ≥ d, for
        example), a single error refutes it.
        """
        mean, low, high = (float(x[0]) for x in (self.curve.risk, self.curve.low, self.curve.high))
        says = f"The mean transfer risk of students of {self.n:,} points is at most the bound"
        if bound >= 1:
            detail = f"the mean risk is {number(mean)}; the bound is {number(bound)}, and from 1 on it says nothing"
            return Check(says, mean, "<=", bound, math.inf, detail=detail)
        error = 0.0 if not bound and not mean else high - mean if mean <= bound else mean - low
        within = f" ± {number(error)}" if error else ""
        detail = f"the mean risk is {number(mean)}{within}, the bound is {number(bound)}"
        return Check(says, mean, "<=", bound, error, detail=detail)


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
    """Measure the risk of students trained on n points of a sample, on the points that they were not trained on."""
    X, w_star = transfer(X, w_star)
    d = X.shape[1]
    n = max(1, min(d - 1, len(X) // 4, 20)) if n is None else n
    fits = () if law is None else (_fits(law, EstimatedAngles.of(X, w_star, None).angles),)
    law = law or EstimatedAngles.of(X, w_star, confidence)
    rng = stream(0, Role.CHANCE, seed)
    curve = sample_risks(X, w_star, [n], sets=sets, rng=rng, learner=learner, confidence=SURE)
    full = Check(
        "Transfer sets have full rank, as they do when inputs have a density", float(curve.rank[0]), ">=", min(n, d),
        detail=f"the mean rank of sets of {n:,} points in {d:,} dimensions is {curve.rank[0]:.5g}",
    )  # fmt: skip
    return Measured(law, curve, n, d, (full, *fits))


def _fits(law: AngleLaw, angles: Float64[np.ndarray, " N"]) -> Check:
    """Check a given distribution against the angles of the sample, by their Kolmogorov distance.

    By the Dvoretzky–Kiefer–Wolfowitz inequality, the distance of N angles from their own distribution exceeds
    √(log(2/q)/(2N)) with probability at most q.
    """
    N = len(angles)
    above = 1 - np.arange(N + 1) / N  # the share of angles from the i-th on
    distance = max(
        float(np.abs(law.p(angles) - above[:-1]).max()),
        float(np.abs(law.p(np.nextafter(angles, 2)) - above[1:]).max()),
    )
    allowed = math.sqrt(math.log(2 / (1 - SURE)) / (2 * N))
    return Check(
        "The angles of the sample have the given distribution", distance, "<=", allowed,
        detail=f"shares and probabilities differ by up to {number(distance)}; up to {number(allowed)} is chance",
    )  # fmt: skip


def case(index: int, law: PolynomialAngles, d: int = 20, N: int = 3000) -> dict:
    """Points of an angular task, its teacher and its angle distribution, for a demonstration."""
    task = Angular(d, law)
    return {"X": task.draw(stream(0, Role.DEMONSTRATION, index), N), "w_star": task.e1, "law": law}


def flat(index: int, check, **options) -> Finding:
    """A check on inputs in a hyperplane, which have no density: 20 points have rank 19."""
    X = stream(0, Role.DEMONSTRATION, index).standard_normal((1000, 20))
    X[:, 19] = X[:, 0]
    return check(X, np.arange(1.0, 21), n=20, **options)
