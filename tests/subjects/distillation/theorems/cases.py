"""Cases of the theorems on linear distillation with their verdicts, and the changes that keep them."""

import math

import numpy as np
import torch
from changes import SCALES, Change, float32, multiplied, own_lengths, permuted, repeated, rotated, scaled
from theorem_battery import Case, Cases

from relulab.core.errors import UserError
from relulab.lab.theorem import Verdict
from relulab.subjects.distillation.theorems.close_vectors import tangent
from relulab.subjects.distillation.theorems.nearly_balanced_student import gaussian_start, stretched
from relulab.subjects.distillation.tools.angle_laws import Angular, PolynomialAngles
from relulab.subjects.distillation.tools.balanced_start import balanced_factors, balanced_start
from relulab.subjects.distillation.tools.transfer import transfer

HOLDS, REFUTED, NOT_APPLICABLE, INCONCLUSIVE = (
    Verdict.HOLDS,
    Verdict.REFUTED,
    Verdict.NOT_APPLICABLE,
    Verdict.INCONCLUSIVE,
)
LINEAR = "a linear student has no hidden units; the factors of a deep one are tried as they are"
UNITS = {"units permuted": LINEAR, "units rescaled": LINEAR}


def drawn(n: int, d: int):
    """Gaussian points, in general position, and a Gaussian teacher."""
    return lambda rng: {"X": rng.standard_normal((n, d)), "w_star": rng.standard_normal(d)}


def given(X: list, w_star: list, **options):
    return lambda rng: {"X": np.array(X, dtype=float), "w_star": np.array(w_star, dtype=float), **options}


def plane(rng: np.random.Generator) -> dict:
    """Five points in a plane of R³: as many as dimensions and more, but of lower rank."""
    return {"X": rng.standard_normal((5, 2)) @ rng.standard_normal((2, 3)), "w_star": rng.standard_normal(3)}


def soft(n: int, d: int):
    """A teacher whose labels are soft, so that the bound on the loss falls visibly."""

    def make(rng: np.random.Generator) -> dict:
        problem = drawn(n, d)(rng)
        return problem | {"w_star": problem["w_star"] / np.abs(problem["X"] @ problem["w_star"]).max()}

    return make


def many_lengths(rng: np.random.Generator, d: int = 4) -> dict:
    X = rng.standard_normal((4, d))
    return {"X": X / np.linalg.norm(X, axis=1, keepdims=True) * np.array([[1e-10], [1e-3], [1.0], [1e7]]),
            "w_star": rng.standard_normal(d)}  # fmt: skip


def with_option(make, **options):
    return lambda rng: make(rng) | options


ORTHOGONAL = given([[1, 2, 3], [4, 5, 6]], [-3, 6, -3])  # w* is orthogonal to all points, but not by rounding
LOGITS = (*scaled("X", weights=("w_star",), also={"epsilon": -1.0}), rotated("X", weights=("w_star", "start")),
          permuted("X"), repeated("X"), float32("X", "w_star"))  # fmt: skip


def with_layers(c: float) -> Change:
    """Points times c; the start, a vector or layers, is then c times smaller."""

    def smaller(start):
        return [W * c ** (-1 / len(start)) for W in start] if isinstance(start, list) else start / c

    def of(problem: dict, rng: np.random.Generator) -> dict:
        start = {"start": smaller(problem["start"])} if "start" in problem else {}
        return problem | {"X": problem["X"] * c, "w_star": problem["w_star"] / c} | start

    return Change(f"scaled {c:g}", of)


STARTS = (*map(with_layers, SCALES), rotated("X", weights=("w_star", "start")), permuted("X"), repeated("X"),
          float32("X", "w_star"))  # fmt: skip

T1 = Cases(
    (
        Case("fewer points than dimensions", HOLDS, drawn(2, 3)),
        Case("more points than dimensions", HOLDS, drawn(4, 3)),
        Case("the whole teacher", REFUTED, with_option(drawn(2, 3), whole_teacher=True)),
        Case("a start that is not zero", NOT_APPLICABLE, with_option(drawn(2, 3), start=np.full(3, 0.1))),
        Case("a start of 1e-12", NOT_APPLICABLE, with_option(drawn(2, 3), start=np.full(3, 1e-12))),
        Case("points in a plane of R³", NOT_APPLICABLE, plane),
        Case("an orthogonal teacher", INCONCLUSIVE, ORTHOGONAL, but=("float32",)),
        Case("one point", HOLDS, drawn(1, 3)),
        Case("one point, the whole teacher", REFUTED, with_option(drawn(1, 3), whole_teacher=True)),
        Case("one dimension", HOLDS, given([[1], [-2]], [1.5])),
        Case("a zero row", NOT_APPLICABLE, given([[1, 2, 0], [0, 0, 0]], [1, 1, 1])),
        Case("a zero row beside a basis", HOLDS, given([[1, 2], [0, 1], [0, 0]], [1, 1])),
        Case("only zero rows", NOT_APPLICABLE, given([[0, 0], [0, 0]], [1, 1])),
        Case("collinear points", NOT_APPLICABLE, given([[1, 2], [-2, -4], [3, 6]], [1, -1])),
        Case("fewer collinear points than dimensions", NOT_APPLICABLE, given([[1, 2, 1], [-2, -4, -2]], [1, -1, 2])),
        Case("one point several times", HOLDS, given([[1, 2]] * 3, [1, -1]), but=("own lengths",)),
        Case("integers", HOLDS, given([[1, 2, 3], [4, 5, 6]], [1, -1, 2])),
        Case("norms from 1e-10 to 1e7", (HOLDS, INCONCLUSIVE, UserError), many_lengths),
    ),
    (*LOGITS, own_lengths("X", decades=0.5)),
    UNITS,
    quick=("scaled 1e-100", "scaled 1e+100", "rotated", "repeated", "float32"),
)  # fmt: skip


def deep(n: int, d: int, **options):
    return lambda rng: drawn(n, d)(rng) | {"depth": 2, "epsilon": 0.5, **options}


def started(change, epsilon: float = 0.5):
    """The problem with a start that was drawn as it should be, and then changed."""

    def make(rng: np.random.Generator) -> dict:
        problem = drawn(2, 3)(rng)
        start = balanced_start(problem["X"], problem["w_star"], rng, depth=2, norm=1e-3, widths=2)
        return problem | {"epsilon": epsilon, "start": change(start, rng)}

    return make


def turned(start, rng):
    return balanced_factors(-(start[1] @ start[0])[0], rng, depth=2, widths=2)


T2 = Cases(
    (
        Case("fewer points than dimensions", HOLDS, deep(2, 3)),
        Case("more points than dimensions", HOLDS, deep(4, 3)),
        Case("three layers", HOLDS, deep(2, 3, depth=3), slow=True),
        Case("a start", HOLDS, started(lambda W, rng: W), but=("scaled", "float32")),
        Case("a millionth of ε", REFUTED, deep(2, 3, share=1e-6)),
        Case("a part outside the span that keeps its length", REFUTED, deep(2, 3, constant=True)),
        Case("points in a plane of R³", NOT_APPLICABLE, lambda rng: plane(rng) | {"epsilon": 0.5}),
        Case("a start that is too long", NOT_APPLICABLE, started(lambda W, rng: [100 * w for w in W]), but=("scaled",)),
        Case("a start that is too long for a smaller ε", NOT_APPLICABLE, started(lambda W, rng: W, epsilon=1e-3),
             but=("scaled", "float32")),
        Case("a start that is worse than zero", NOT_APPLICABLE, started(turned), but=("scaled", "float32")),
        Case("a start that is not balanced", NOT_APPLICABLE, started(lambda W, rng: [1.001 * W[0], W[1]]),
             but=("scaled",)),
        Case("an orthogonal teacher", UserError, ORTHOGONAL, but=("float32",)),
        Case("one point", HOLDS, deep(1, 3)),
        Case("one dimension", HOLDS, given([[1], [-2]], [1.5], epsilon=0.1)),
        Case("a zero row", NOT_APPLICABLE, given([[1, 2, 0], [0, 0, 0]], [1, 1, 1], epsilon=0.5)),
        Case("only zero rows", UserError, given([[0, 0], [0, 0]], [1, 1])),
        Case("collinear points", NOT_APPLICABLE, given([[1, 2], [-2, -4], [3, 6]], [1, -1], epsilon=0.5)),
        Case("one point several times", HOLDS, given([[1, 2]] * 3, [1, -1], epsilon=0.5)),
    ),
    LOGITS,
    UNITS,
    quick=("scaled 1e-100", "scaled 1e+100"),
)  # fmt: skip

ANGLES_ALONE = (*scaled("X"), *multiplied("teacher", "w_star", by=(1e-100, 1e100)), own_lengths("X"),
                rotated("X", weights=("w_star",)), permuted("X"), float32("X", "w_star"))  # fmt: skip
DENSITY = "repeated points are dependent, so that a condition fails"

L1 = Cases(
    (
        Case("fewer points than dimensions", HOLDS, drawn(4, 6)),
        Case("more points than dimensions", HOLDS, drawn(7, 3)),
        # students on hard labels depend on the lengths of the points
        Case("hard labels", REFUTED, lambda rng: risky(rng, 3.0, n=None, N=12, d=12) | {"hard": True, "orders": 4},
             but=("own lengths",)),
        Case("every point twice", NOT_APPLICABLE,
             lambda rng: (lambda p: p | {"X": np.tile(p["X"], (2, 1))})(drawn(2, 6)(rng)), but=("float32",)),
        Case("one point", INCONCLUSIVE, drawn(1, 3)),
        Case("one dimension", HOLDS, given([[1], [-2]], [1.5])),
        Case("a zero row", NOT_APPLICABLE, given([[1, 2, 0], [0, 0, 0]], [1, 1, 1])),
        Case("collinear points", NOT_APPLICABLE, given([[1, 2], [-2, -4]], [1, -1])),
        Case("an orthogonal teacher", HOLDS, ORTHOGONAL),
        Case("norms from 1e-10 to 1e7", HOLDS, many_lengths),
    ),
    ANGLES_ALONE,
    {"repeated": DENSITY, **UNITS},
)  # fmt: skip


def risky(rng: np.random.Generator, kappa: float, n: int | None = 5, widest: float = math.pi / 2, d: int = 6,
          N: int = 200, **options) -> dict:  # fmt: skip
    """Points of an angular task, so that the distribution of angles is known."""
    law = PolynomialAngles(kappa, widest)
    problem = {"X": Angular(d, law).draw(rng, N), "w_star": np.eye(1, d)[0], **options}
    return problem if n is None else problem | {"law": law, "n": n, "sets": 150}


def wrong_law(rng: np.random.Generator) -> dict:
    return risky(rng, 1.0) | {"law": PolynomialAngles(4.0)}


def flat(rng: np.random.Generator) -> dict:
    """Inputs in four of six dimensions: five of them never have rank 5."""
    X = rng.standard_normal((200, 6))
    X[:, 4:] = X[:, :2]
    return {"X": X, "w_star": np.arange(1.0, 7), "n": 5, "sets": 20}


SMALL = given([[1, 0], [1, 1], [2, -1]], [1, 1], n=1, sets=5)
"""three points say nothing: the estimated bound is 1 or more"""

DEGENERATE = (
    Case("three points", INCONCLUSIVE, SMALL),
    Case("one point", UserError, given([[1, 2]], [1, 1], sets=5)),
    Case("one point without a rest to test on", UserError, given([[1, 2]], [1, 1], n=1, sets=5)),
    Case("inputs in a hyperplane", NOT_APPLICABLE, flat),
)

T3 = Cases(
    (
        Case("angles with κ = 2", HOLDS, lambda rng: risky(rng, 2.0, n=4, N=600)),
        Case("as many points as dimensions", HOLDS, lambda rng: risky(rng, 1.0, n=6)),
        Case("minimizers that gradient descent does not find", REFUTED,
             lambda rng: risky(rng, 6.0, n=7, d=8, N=400, delta=20.0)),
        Case("another distribution of angles", NOT_APPLICABLE, wrong_law),
        *DEGENERATE,
    ),
    ANGLES_ALONE,
    {"repeated": DENSITY, **UNITS},
)  # fmt: skip

C1 = Cases(
    (
        Case("angles up to 1.1", HOLDS, lambda rng: risky(rng, 1.0, n=3, N=600, widest=1.1)),
        Case("minimizers that gradient descent does not find", REFUTED,
             lambda rng: risky(rng, 2.0, n=7, d=8, N=400, widest=1.0, delta=20.0)),
        Case("no margin", NOT_APPLICABLE, lambda rng: risky(rng, 1.0, beta=1.2)),
        Case("β = π/2, so γ = 1", NOT_APPLICABLE, lambda rng: risky(rng, 1.0, beta=math.pi / 2)),
        Case("another distribution of angles", NOT_APPLICABLE, 
             lambda rng: risky(rng, 1.0, widest=1.0) | {"law": PolynomialAngles(4.0, 1.0)}),
        *DEGENERATE[1:],
    ),
    ANGLES_ALONE,
    {"repeated": DENSITY, **UNITS},
    # with an estimated distribution of angles, another condition is undecided
    never_alone=("Transfer sets have full rank, as they do when inputs have a density",),
)  # fmt: skip

C2 = Cases(
    (
        Case("angles with κ = 2", HOLDS, lambda rng: risky(rng, 2.0, n=4, N=600, kappa_=2.0)),
        Case("minimizers that gradient descent does not find", REFUTED,
             lambda rng: risky(rng, 6.0, n=7, d=8, N=400, delta=20.0, kappa_=6.0)),
        Case("angles that are too wide", NOT_APPLICABLE, lambda rng: risky(rng, 1.0, kappa_=2.0)),
        Case("another distribution of angles", NOT_APPLICABLE, lambda rng: wrong_law(rng) | {"kappa_": 4.0}),
        Case("three points", INCONCLUSIVE, SMALL),
        *DEGENERATE[1:],
    ),
    ANGLES_ALONE,
    {"repeated": DENSITY, **UNITS},
    # with an estimated distribution of angles, another condition is undecided
    never_alone=("Transfer sets have full rank, as they do when inputs have a density",),
    check=lambda kappa_=None, **rest: polynomial(kappa=kappa_, **rest),
)  # fmt: skip


def polynomial(**arguments):
    from relulab.subjects.distillation.theorems.polynomial_rate import polynomial_rate

    return polynomial_rate(**arguments)


D4 = Cases(
    (
        Case("ε = 0.001", HOLDS, lambda rng: risky(rng, 2.0, n=4, N=600, epsilon=0.001)),
        Case("no allowance for ε", REFUTED,
             lambda rng: risky(rng, 0.5, n=1, widest=0.7, d=3, N=800, epsilon=0.5, exact=True)),
        Case("ε = 0.6", NOT_APPLICABLE, lambda rng: risky(rng, 6.0, epsilon=0.6)),
        Case("ε below 0", NOT_APPLICABLE, lambda rng: risky(rng, 6.0, epsilon=-0.1)),
        Case("as many points as dimensions", NOT_APPLICABLE, lambda rng: risky(rng, 6.0, n=6)),
        Case("another distribution of angles", NOT_APPLICABLE, wrong_law),
        *DEGENERATE,
    ),
    ANGLES_ALONE,
    {"repeated": DENSITY, **UNITS},
)  # fmt: skip

RATE = Cases(
    (
        Case("fewer points than dimensions", HOLDS, soft(2, 3)),
        Case("more points than dimensions", HOLDS, soft(4, 3)),
        Case("two layers", HOLDS, with_option(soft(2, 3), depth=2)),
        Case("the largest curvature", REFUTED, with_option(soft(2, 3), steepest=True)),
        Case("points in a plane of R³", NOT_APPLICABLE, plane),
        Case("two layers, a start that is worse than zero", NOT_APPLICABLE,
             lambda rng: (lambda p: p | {"depth": 2, "start": -0.1 * p["w_star"]})(soft(4, 3)(rng))),
        Case("an orthogonal teacher", UserError, ORTHOGONAL, but=("float32",)),
        Case("one point", HOLDS, soft(1, 3)),
        Case("one dimension", HOLDS, given([[1], [-2]], [0.5])),
        Case("a zero row", NOT_APPLICABLE, given([[1, 2, 0], [0, 0, 0]], [1, 1, 1])),
        Case("only zero rows", UserError, given([[0, 0], [0, 0]], [1, 1])),
        Case("collinear points", NOT_APPLICABLE, given([[1, 2], [-2, -4], [3, 6]], [1, -1])),
        Case("integers", HOLDS, given([[1, 2, 3], [0, 1, 2]], [0.25, -0.25, 0.5])),
        Case("labels that are almost hard", INCONCLUSIVE, given([[1, 0], [0, 1]], [1e4, 1e-6], steps=100)),
        Case("norms from 1e-10 to 1e7", (HOLDS, INCONCLUSIVE, UserError), with_option(many_lengths, steps=100)),
    ),
    STARTS,
    UNITS,
    quick=("scaled 1e-100", "scaled 1e+100", "rotated", "repeated"),
)  # fmt: skip

LD1 = Cases(
    (
        Case("fewer points than dimensions", HOLDS, drawn(2, 4)),
        Case("points in a plane of R³", HOLDS, plane),
        Case("any start", REFUTED, lambda rng: drawn(2, 4)(rng) | {"start": np.full(4, 0.1), "any_start": True}),
        Case("all points but the last", REFUTED, with_option(drawn(2, 4), without_last=True), but=("repeated",)),
        Case("a start that is not zero", NOT_APPLICABLE, with_option(drawn(2, 4), start=np.full(4, 0.1))),
        Case("more points than dimensions", INCONCLUSIVE, drawn(4, 3)),
        Case("an orthogonal teacher", INCONCLUSIVE, given([[1, 0, 0], [0, 1, 0]], [0, 0, 1]), but=("rotated",)),
        Case("one point", HOLDS, drawn(1, 3)),
        Case("one dimension", INCONCLUSIVE, given([[1], [-2]], [1.5])),
        Case("a zero row", HOLDS, given([[1, 2, 0], [0, 0, 0]], [1, 1, 1])),
        Case("only zero rows", INCONCLUSIVE, given([[0, 0], [0, 0]], [1, 1])),
        Case("collinear points", HOLDS, given([[1, 2], [-2, -4], [3, 6]], [1, -1])),
        Case("integers", HOLDS, given([[1, 2, 3, 4], [4, 5, 6, 8]], [1, -1, 2, 1])),
        Case("norms from 1e-10 to 1e7", (HOLDS, INCONCLUSIVE), lambda rng: many_lengths(rng, d=5)),
    ),
    STARTS,
    UNITS,
)  # fmt: skip


def layers(change=lambda W: W, depth: int = 2, n: int = 2, d: int = 3, **options):
    """Points with a balanced start of a tenth of the teacher's length, changed."""

    def make(rng: np.random.Generator) -> dict:
        problem = drawn(n, d)(rng)
        w = problem["X"].T @ problem["X"] @ problem["w_star"]  # the first step from zero, so that it moves
        W = balanced_factors(torch.from_numpy(0.1 * w / np.linalg.norm(w)), rng, depth=depth, widths=2)
        return problem | {"start": change(W), "steps": 150, **options}

    return make


LD2 = Cases(
    (
        Case("two layers", HOLDS, layers()),
        Case("three layers", HOLDS, layers(depth=3), slow=True),
        Case("more points than dimensions", HOLDS, layers(n=4)),
        Case("without the projection onto w", REFUTED, layers(no_momentum=True)),
        Case("a start that is not balanced", NOT_APPLICABLE, layers(lambda W: [1.001 * W[0], W[1]])),
        Case("one layer", UserError, layers(lambda W: [W[1] @ W[0]])),
        Case("a start of zero", INCONCLUSIVE, layers(lambda W: [0 * M for M in W])),
        Case("one point", HOLDS, layers(n=1)),
        Case("one dimension", HOLDS, layers(n=2, d=1)),
        Case("a random start", HOLDS, given([[1, 2, 0], [0, 1, 1]], [1, 1, 1], steps=150)),
        Case("a zero row", HOLDS, given([[1, 2, 0], [0, 0, 0]], [1, 1, 1], steps=150)),
        Case("only zero rows", UserError, given([[0, 0], [0, 0]], [1, 1])),
        Case("collinear points", HOLDS, given([[1, 2], [-2, -4], [3, 6]], [1, -1], steps=150)),
        Case("an orthogonal teacher", UserError, ORTHOGONAL, but=("float32",)),
        Case("norms from 1e-10 to 1e7", (HOLDS, INCONCLUSIVE), with_option(many_lengths, steps=40)),
    ),
    STARTS,
    UNITS,
    quick=("scaled 1e-100", "scaled 1e+100", "rotated"),
)  # fmt: skip


def pairs(ratio: float, n: int = 20, d: int = 5, **options):
    """Vectors w, and those at the distance ratio · ‖w‖ that are turned most."""

    def make(rng: np.random.Generator) -> dict:
        w, direction = (torch.from_numpy(rng.standard_normal((n, d))) for _ in range(2))
        return {"w": w.numpy(), "v": tangent(w, direction, ratio).numpy(), **options}

    return make


def long_and_short(rng: np.random.Generator) -> dict:
    problem, c = pairs(0.4)(rng), np.logspace(-10, 7, 20)[:, None]
    return {"w": c * problem["w"], "v": c * problem["v"]}


def close(w: list, v: list, **options):
    return lambda rng: {"w": np.array(w, dtype=float), "v": np.array(v, dtype=float), **options}


LD3 = Cases(
    (
        Case("pairs that are turned most", HOLDS, pairs(0.5)),
        Case("pairs at a distance of 1e-6", HOLDS, pairs(1e-6), but=("float32",)),
        Case("an angle of at most ε/‖w‖", REFUTED, pairs(0.5, linear=True)),
        Case("a distance of 0.6", NOT_APPLICABLE, pairs(0.6)),
        Case("distances above ε", NOT_APPLICABLE, pairs(0.3, epsilon=1e-3), but=("scaled",)),
        Case("equal vectors", INCONCLUSIVE, close([[1, 2]], [[1, 2]]), but=("rotated",)),
        Case("one pair", HOLDS, pairs(0.3, n=1)),
        Case("one dimension", HOLDS, close([[1], [-2]], [[1.4], [-1.5]])),
        Case("integers", HOLDS, close([[3, 4], [10, 0]], [[3, 5], [10, 3]])),
        Case("collinear vectors", HOLDS, close([[1, 2], [3, 6]], [[1.2, 2.4], [2, 4]])),
        Case("norms from 1e-10 to 1e7", HOLDS, long_and_short),
        Case("a zero row", UserError, close([[1, 2], [0, 0]], [[1, 2.5], [0, 1]])),
        Case("no pair", UserError, lambda rng: {"w": np.zeros((0, 2)), "v": np.zeros((0, 2))}),
    ),
    (*scaled("w", "v", also={"epsilon": 1.0}), rotated("w", "v"), permuted("w", "v"), repeated("w", "v"),
     own_lengths("w", "v"), float32("w", "v")),
    {"units permuted": "vectors are no networks", "units rescaled": "vectors are no networks"},
)  # fmt: skip


def small(change=lambda W: W, depth: int = 2, n: int = 2, d: int = 3, **options):
    """Points with small Gaussian layers, changed; of w(0) and −w(0), the better one."""

    def make(rng: np.random.Generator) -> dict:
        problem = drawn(n, d)(rng)
        W = gaussian_start(transfer(**problem), depth, 3, 0.02, rng)
        return problem | {"start": change(W), "epsilon": 0.5, **options}

    return make


NEARLY = Cases(
    (
        Case("small Gaussian layers", HOLDS, small()),
        Case("more points than dimensions", HOLDS, small(n=4)),
        Case("three layers", HOLDS, small(depth=3), slow=True),
        Case("within the bound of balanced starts", REFUTED, small(lambda W: stretched(W, 5.0), as_balanced=True)),
        Case("a start that is too long", NOT_APPLICABLE, small(lambda W: [100 * M for M in W])),
        Case("one point", HOLDS, small(n=1)),
        Case("one dimension", HOLDS, small(n=2, d=1)),
        Case("a random start", HOLDS, given([[1, 2, 0], [0, 1, 1]], [1, 1, 1], epsilon=0.5)),
        Case("a zero row", HOLDS, given([[1, 2, 0], [0, 0, 0]], [1, 1, 1], epsilon=0.5)),
        Case("only zero rows", UserError, given([[0, 0], [0, 0]], [1, 1])),
        Case("collinear points", HOLDS, given([[1, 2], [-2, -4], [3, 6]], [1, -1], epsilon=0.5)),
        Case("an orthogonal teacher", UserError, ORTHOGONAL, but=("float32",)),
        Case("norms from 1e-10 to 1e7", (HOLDS, INCONCLUSIVE), with_option(many_lengths, epsilon=0.5, steps=40)),
    ),
    STARTS,
    UNITS,
    quick=("scaled 1e-100", "scaled 1e+100", "rotated"),
)  # fmt: skip

CASES = {"T5.T1": T1, "T5.T2": T2, "T5.T1.rate": RATE, "T5.T2.near": NEARLY, "T5.L1": L1, "T5.LD1": LD1, "T5.LD2": LD2,
         "T5.LD3": LD3, "T5.T3": T3, "T5.C1": C1, "T5.C2": C2, "T5.D4": D4}  # fmt: skip
