r"""S0.T7, growth of the ratio of two students' norms (S0 theorem 7, eqs. 62 to 64).

Let the weights w_k of students follow ẇ_k = ‖w_k‖ r_k with arbitrary residues r_k, and let w̄_k = w_k/‖w_k‖. Then

    d/dt ln(‖w_k‖/‖w_k'‖) = w̄_kᵀ r_k − w̄_k'ᵀ r_k'.

So a student whose residue has a larger component along its weights outgrows the others exponentially, which breaks the
symmetry. The factor ‖w_k‖ comes from theorem 6 as printed. The corrected theorem does not have it, so gradient flow on
Gaussian inputs is not of this form.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from torch import Tensor

from relulab.core.angle import norms
from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.flow.adaptive import Field, Weights, absolute_tolerance, as_array, flow, integral, pieces
from relulab.flow.trajectory import Trajectory
from relulab.lab.show.words import differ, number
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict

LOOSE, TIGHT = 1e-8, 1e-11  # relative tolerances of two solutions, whose difference estimates the error
RESOLUTION = 1e-3  # with an error above this share of the path, or above this number, the conclusion is undecided
SNAPSHOTS = 32  # number of times, besides the start, at which the two sides are compared
DIGITS = 16.0  # rounding errors of a number that is computed in several operations, in units of EPS
EPS = float(np.finfo(float).eps)


def norm_ratio(
    W: Float[np.ndarray | Tensor, "n d"],
    r: Field,
    time: float,
    *,
    velocity: Field | None = None,
    projected: bool = True,
) -> Finding:
    """Integrate the flow from W(0) = W and compare the logarithms of the norms with the integral of w̄_kᵀ r_k.

    The integral is computed by quadrature along the path, independently of the solver. The flow is solved with two
    tolerances. The difference of the two solutions is the error allowed for the more accurate one.

    Args:
        W: Weights of the students at the start, (n, d), at least two rows.
        r: A function that returns the residues of all students, (n, d), at weights W.
        time: End time of the flow, above 0.
        velocity: The velocity ẇ of the flow, if it is not computed from ``r``. Then its form ẇ_k = ‖w_k‖ r_k is a
            condition, which is checked along the path. None takes ‖w_k‖ r_k.
        projected: False uses ‖r_k‖ instead of w̄_kᵀ r_k, which is wrong. This is the negative control.

    >>> W, w_star = np.array([[0.1, 0.02], [0.05, -0.01]]), np.array([1.0, 0.0])
    >>> norm_ratio(W, lambda W: np.tile(w_star - W.sum(0), (2, 1)), 1.0).verdict.name
    'HOLDS'
    """
    W = as_array(W)
    if len(W) < 2 or not 0 < time < np.inf or not np.isfinite(W).all():
        raise UserError(
            f"expected at least two students with finite weights and a time above 0, got {len(W)} students and a time "
            f"of {time}"
        )
    if not norms(W).min() > 0:
        return Finding((_nonzero(W),), ())
    if np.shape(r(W)) != W.shape:
        raise UserError(f"r returns an array of shape {np.shape(r(W))}: expected {W.shape}, the shape of the weights")
    times = np.linspace(0, time, SNAPSHOTS + 1)
    # Shorter steps make the second solution more accurate between its steps, too, even if the first one takes few.
    solved = [
        flow(velocity or partial(multiplied, r), W, time, rtol=rtol, longest=longest)
        for rtol, longest in ((LOOSE, np.inf), (TIGHT, time / SNAPSHOTS))
    ]
    conditions = _conditions(solved[1], r, velocity, times)
    if not conditions[0].holds:
        return Finding(conditions, ())
    loose, tight = (_two_sides(path, r, times, projected) for path in solved)
    gap, error = float(np.abs(tight.logs - tight.sums).max()), _error(loose, tight)
    right = "∫ (w̄_kᵀ r_k − w̄_1ᵀ r_1) dt" if projected else "∫ (‖r_k‖ − ‖r_1‖) dt"
    says = f"The change of ln(‖w_k‖/‖w_1‖) equals {right} for all students k"
    resolution = RESOLUTION * min(1.0, tight.length)
    detail = differ(gap, error)
    if error > resolution:
        moved = f"‖w_k‖ and the direction of w_k change by at most {number(tight.length)} ‖w_k‖"
        detail = f"unknown, because {moved} and the error is up to {number(error)}"
    return Finding(conditions, (Check(says, gap, "==", 0.0, error, resolution, detail),))


def multiplied(r: Field, W: Weights) -> Weights:
    """The velocity ‖w_k‖ r_k of every student.

    Args:
        r: A function that returns the residues, (n, d), at given weights.
        W: Weights of the students, (n, d).
    """
    return norms(W)[:, None] * r(W)


def agreement(r: Field, W: Weights) -> Float[np.ndarray, " n"]:
    """h_k = w̄_kᵀ r_k, the growth rate of ln‖w_k‖ (eq. 63).

    Args:
        r: A function that returns the residues, (n, d), at given weights.
        W: Weights of the students, (n, d).
    """
    return (W * r(W)).sum(1) / norms(W)


class _Sides(NamedTuple):
    """The two sides of eq. 64 at all times for k > 1, their rounding and quadrature errors, and the length of the path.

    The length is the largest ∫ ‖r_k‖ dt of a student, the length of its path in units of ‖w_k‖.
    """

    logs: Float[np.ndarray, "t m"]
    sums: Float[np.ndarray, "t m"]
    rounding: float
    quadrature: float
    length: float


def _two_sides(path: Trajectory[np.ndarray], r: Field, times: np.ndarray, projected: bool) -> _Sides:
    """The change of ln(‖w_k‖/‖w_1‖) since the start, and the integral of h_k − h_1, for k > 1."""

    def h(W: Weights) -> Float[np.ndarray, " n"]:
        return agreement(r, W) if projected else norms(r(W))

    def noise(W: Weights) -> Float[np.ndarray, " n"]:
        return np.abs(h(W * nearby) - h(W))

    # Residues may be small differences of large numbers, so h is also computed from weights that differ by rounding.
    signs = stream(0, Role.CHANCE, 7).choice((-1.0, 1.0), path.end.shape)
    nearby = 1 + DIGITS * EPS * signs
    sizes = norms(path.at(times))
    logs = np.log(sizes / sizes[0])
    middles = np.convolve(edges := np.union1d(path.times, times), (0.5, 0.5), "valid")
    finer = np.union1d(middles, times)
    coarse, sums = integral(path, h, times), integral(path, h, finer)[np.searchsorted(finer, times)]
    unsure, size, length = (
        float(integral(path, f, times)[-1].max()) for f in (noise, lambda W: np.abs(h(W)), lambda W: norms(r(W)))
    )
    # Each step and each norm add a rounding error relative to ‖w_k‖, and each sum one relative to its terms.
    rounding = DIGITS * EPS * (len(path) + path.end.shape[1] + len(edges) * size) + unsure
    return _Sides(_beyond_first(logs), _beyond_first(sums), rounding, float(np.abs(coarse - sums).max()), length)


def _beyond_first(x: Float[np.ndarray, "t n"]) -> Float[np.ndarray, "t m"]:
    return x[:, 1:] - x[:, :1]


def _error(loose: _Sides, tight: _Sides) -> float:
    """The error of the difference of the two sides: of the solver, of the quadrature, and of rounding."""
    solver = np.abs(loose.logs - tight.logs).max() + np.abs(loose.sums - tight.sums).max()
    return float(2 * (solver + tight.quadrature + tight.rounding))


def _nonzero(W: Float[np.ndarray, "*t n d"], error: float = 0.0) -> Check:
    smallest = float(norms(W).min())
    detail = f"the smallest is {smallest:.3g}" + (f" ± {error:.2g}" if error else "")
    return Check("No ‖w_k‖ is zero along the path", smallest, ">=", float(np.finfo(float).tiny), error, detail=detail)


def _conditions(path: Trajectory[np.ndarray], r: Field, velocity: Field | None, times: np.ndarray) -> tuple[Check, ...]:
    edges, within = pieces(path, times)
    Ws = path.at(np.union1d(edges, within))
    # The solver's absolute error must be a small share of every norm, because the check looks at ln‖w_k‖.
    nonzero = _nonzero(Ws, absolute_tolerance(Ws[0], TIGHT) / RESOLUTION)
    if velocity is None or not nonzero.holds:
        return (nonzero,)
    given, required = (np.stack([field(W) for W in Ws]) for field in (velocity, partial(multiplied, r)))
    size = max(float(np.abs(given).max()), float(np.abs(required).max()), float(np.finfo(float).tiny))
    rounding = 4 * EPS * sum(path.end.shape)  # sums over students and over coordinates
    deviation = float(np.abs(given - required).max()) / size
    says = "The flow has the form ẇ_k = ‖w_k‖ r_k"
    detail = f"{differ(deviation, rounding)}, relative to the largest velocity"
    return nonzero, Check(says, deviation, "==", 0.0, rounding, detail=detail)


def common_residue(
    w_star: Float[np.ndarray, " d"], a: Float[np.ndarray, " n"], extra: float, W: Weights
) -> Float[np.ndarray, "n d"]:
    """r_k = w* − Σ a_k w_k for every student, plus ``extra`` · w* for the first one (section 5.3).

    Args:
        w_star: The teacher w*, (d,).
        a: The factors a_k, (n,).
        extra: Multiple of w* that is added for the first student.
        W: Weights of the students, (n, d).
    """
    residue = np.tile(w_star - a @ W, (len(W), 1))
    residue[0] += extra * w_star
    return residue


def _case(extra: float = 0.0, plain: bool = False, zero: bool = False, **options) -> Finding:
    rng = stream(0, Role.DEMONSTRATION, 7)
    w_star, W = rng.standard_normal(6), 0.1 * rng.standard_normal((4, 6))
    r = partial(common_residue, w_star / np.linalg.norm(w_star), rng.uniform(0.5, 1.5, 4), extra)
    W[3] *= not zero
    return norm_ratio(W, r, 20.0, velocity=r if plain else None, **options)


THEOREM = Theorem(
    id="S0.T7",
    title="Growth of the ratio of two students' norms",
    statement="If ẇ_k = ‖w_k‖ r_k for every student, with arbitrary residues r_k, then d/dt ln(‖w_k‖/‖w_{k'}‖) = "
    "w̄_kᵀ r_k − w̄_{k'}ᵀ r_{k'} for any two students k and k'.",
    symbols={
        "w_k": "weights of student k, a function of the time t",
        "ẇ_k": "time derivative of w_k",
        "r_k": "residue of student k, a vector that may depend on all weights",
        "w̄_k": "w_k/‖w_k‖, the direction of student k",
        "k'": "another student",
        "t": "time",
        "w*": "weights of the teacher, in the demonstrations",
        "a_k": "positive factors, in the demonstrations",
    },
    in_print="The theorem is correct. The form ẇ_k = ‖w_k‖ r_k is not the gradient flow on Gaussian inputs: it takes "
    "the factor ‖w_k‖ from theorem 6 as printed, and the corrected theorem 6 does not have this factor.",
    source="S0 theorem 7, section 8.15",
    check=norm_ratio,
    demonstrations=(
        Demonstration("Four students with the same residue w* − Σ a_k w_k", Verdict.HOLDS, _case),
        Demonstration("The first student has an additional residue 0.1 w*", Verdict.HOLDS, lambda: _case(0.1)),
        Demonstration(
            "The flow ẇ_k = r_k, without the factor ‖w_k‖", Verdict.NOT_APPLICABLE, lambda: _case(plain=True)
        ),
        Demonstration("One student with zero weights", Verdict.NOT_APPLICABLE, lambda: _case(zero=True)),
        Demonstration(
            "Negative control: ‖r_k‖ instead of w̄_kᵀ r_k", Verdict.REFUTED, lambda: _case(0.1, projected=False)
        ),
    ),
)
