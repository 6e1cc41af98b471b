r"""S0.T7, growth of the ratio of two students' norms (S0 theorem 7, eqs. 62 to 64).

Let the weights w_k of students follow ẇ_k = ‖w_k‖ r_k with arbitrary residues r_k, and let w̄_k = w_k/‖w_k‖. Then

    d/dt ln(‖w_k‖/‖w_k'‖) = w̄_kᵀ r_k − w̄_k'ᵀ r_k'.

So a student whose residue has a larger component along its weights outgrows the others exponentially, which breaks the
symmetry. The factor ‖w_k‖ comes from theorem 6 as printed. The corrected theorem does not have it, so gradient flow on
Gaussian inputs is not of this form.
"""

from functools import partial

import numpy as np
from jaxtyping import Float
from torch import Tensor

from relulab.core.angle import norms
from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.flow.adaptive import Field, Weights, absolute_tolerance, as_array, flow, integral, pieces
from relulab.flow.trajectory import Trajectory
from relulab.lab.show.words import differ
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict

LOOSE, TIGHT = 1e-8, 1e-11  # relative tolerances of two solutions, whose difference estimates the error
RESOLUTION = 1e-3  # with a larger error of ln(‖w_k‖/‖w_k'‖) the conclusion is undecided
SNAPSHOTS = 32  # number of times, besides the start, at which the two sides are compared
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
    solved = [flow(velocity or partial(multiplied, r), W, time, rtol=rtol) for rtol in (LOOSE, TIGHT)]
    conditions = _conditions(solved[1], r, velocity, times)
    if not conditions[0].holds:
        return Finding(conditions, ())
    (logs, sums), (logs_tight, sums_tight) = (_two_sides(path, r, times, projected) for path in solved)
    # every sum along the path adds a rounding error proportional to its size
    rounding = EPS * len(solved[1]) * (1 + np.abs(logs_tight).max() + np.abs(sums_tight).max())
    error = np.abs(logs - logs_tight).max() + np.abs(sums - sums_tight).max() + rounding
    gap = np.abs(logs_tight - sums_tight).max()
    right = "∫ (w̄_kᵀ r_k − w̄_1ᵀ r_1) dt" if projected else "∫ (‖r_k‖ − ‖r_1‖) dt"
    says = f"The change of ln(‖w_k‖/‖w_1‖) equals {right} for all students k"
    conclusion = (Check(says, float(gap), "==", 0.0, float(error), RESOLUTION, differ(float(gap), float(error))),)
    return Finding(conditions, conclusion)


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


def _two_sides(
    path: Trajectory[np.ndarray], r: Field, times: np.ndarray, projected: bool
) -> tuple[Float[np.ndarray, "t m"], Float[np.ndarray, "t m"]]:
    """The change of ln(‖w_k‖/‖w_1‖) since the start, and the integral of h_k − h_1, for k > 1."""
    logs = np.log(norms(path.at(times)))
    sums = integral(path, lambda W: agreement(r, W) if projected else norms(r(W)), times)
    logs = logs - logs[0]
    return logs[:, 1:] - logs[:, :1], sums[:, 1:] - sums[:, :1]


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
