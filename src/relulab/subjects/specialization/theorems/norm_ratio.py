r"""S0.T7, who outgrows whom (S0 theorem 7, eqs. 62 to 64).

Let the weights w_k of students follow ẇ_k = ‖w_k‖ r_k, whatever the residues r_k are, and w̄_k = w_k/‖w_k‖. Then

    d/dt ln(‖w_k‖/‖w_k'‖) = w̄_kᵀ r_k − w̄_k'ᵀ r_k'.

So a student whose residue agrees better with its own direction outgrows the others exponentially: symmetry breaks.
Theorem 6, put right, has no factor ‖w_k‖: gradient flow on Gaussian inputs is not of this form.
"""

from functools import partial

import numpy as np
from jaxtyping import Float
from torch import Tensor

from relulab.core.angle import norms
from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.flow.adaptive import Field, Weights, as_array, flow, integral, pieces
from relulab.flow.trajectory import Trajectory
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict

LOOSE, TIGHT = 1e-8, 1e-11  # relative tolerances of the two solutions that tell the error
RESOLUTION = 1e-3  # the largest error of ln(‖w_k‖/‖w_k'‖) at which the conclusion can be judged
LOOKS = 32  # times at which the two sides are compared
EPS = float(np.finfo(float).eps)


def norm_ratio(
    W: Float[np.ndarray | Tensor, "n d"],
    r: Field,
    time: float,
    *,
    velocity: Field | None = None,
    projected: bool = True,
) -> Finding:
    """Follows students from W(0) = W and compares the logarithms of their norms with the integral of w̄ᵀr.

    The integral is a quadrature along the path, apart from the solver. The flow is solved twice, and the distance
    between the two, which is the error of the looser one, is allowed for the tighter.

    Args:
        W: Weights of the students at the start, (n, d), at least two rows.
        r: A function that gives the residues of all students, (n, d), at weights W.
        time: The time up to which the flow is followed, above 0.
        velocity: The flow itself where it is not made from ``r``; then its form is a condition, measured all along the
            path. None takes ‖w_k‖ r_k.
        projected: A false variant of the statement, for the negative control, if False: ‖r_k‖ in place of w̄_kᵀ r_k.

    >>> W, w_star = np.array([[0.1, 0.02], [0.05, -0.01]]), np.array([1.0, 0.0])
    >>> norm_ratio(W, lambda W: np.tile(w_star - W.sum(0), (2, 1)), 1.0).verdict.name
    'HOLDS'
    """
    W = as_array(W)
    if len(W) < 2 or not 0 < time < np.inf or not np.isfinite(W).all():
        raise UserError(
            f"{len(W)} students for a time of {time}: at least two, finite, and a time above 0 were expected"
        )
    if not norms(W).min() > 0:
        return Finding((_least(W),), ())
    if np.shape(r(W)) != W.shape:
        raise UserError(f"r gives an array of shape {np.shape(r(W))}: {W.shape}, as the weights, was expected")
    times = np.linspace(0, time, LOOKS + 1)
    solved = [flow(velocity or partial(multiplied, r), W, time, rtol=rtol) for rtol in (LOOSE, TIGHT)]
    conditions = _conditions(solved[1], r, velocity, times)
    if not conditions[0].holds:
        return Finding(conditions, ())
    (logs, sums), (logs_tight, sums_tight) = (_two_sides(one, r, times, projected) for one in solved)
    # Each of the many sums rounds, and each by no more than its size.
    rounding = EPS * len(solved[1]) * (1 + np.abs(logs_tight).max() + np.abs(sums_tight).max())
    error = np.abs(logs - logs_tight).max() + np.abs(sums - sums_tight).max() + rounding
    gap = np.abs(logs_tight - sums_tight).max()
    says = "|ln(‖w_k‖/‖w_1‖) since the start − ∫ (w̄_kᵀ r_k − w̄_1ᵀ r_1) dt| at the worst student and time"
    conclusion = (Check(says, float(gap), "==", 0.0, float(error), RESOLUTION),)
    return Finding(conditions, conclusion)


def multiplied(r: Field, W: Weights) -> Weights:
    """The velocity ‖w_k‖ r_k."""
    return norms(W)[:, None] * r(W)


def agreement(r: Field, W: Weights) -> Float[np.ndarray, " n"]:
    """h_k = w̄_kᵀ r_k, the rate at which ln‖w_k‖ grows (eq. 63)."""
    return (W * r(W)).sum(1) / norms(W)


def _two_sides(
    path: Trajectory[np.ndarray], r: Field, times: np.ndarray, projected: bool
) -> tuple[Float[np.ndarray, "t m"], Float[np.ndarray, "t m"]]:
    """ln(‖w_k‖/‖w_1‖) less its start, and the integral of h_k − h_1, k > 1."""
    logs = np.log(norms(path.at(times)))
    sums = integral(path, lambda W: agreement(r, W) if projected else norms(r(W)), times)
    logs = logs - logs[0]
    return logs[:, 1:] - logs[:, :1], sums[:, 1:] - sums[:, :1]


def _least(W: Float[np.ndarray, "*t n d"]) -> Check:
    return Check("least norm ‖w_k‖ along the path", float(norms(W).min()), ">=", float(np.finfo(float).tiny))


def _conditions(path: Trajectory[np.ndarray], r: Field, velocity: Field | None, times: np.ndarray) -> tuple[Check, ...]:
    edges, within = pieces(path, times)
    Ws = path.at(np.union1d(edges, within))
    if velocity is None or not norms(Ws).min() > 0:
        return (_least(Ws),)
    found, formed = (np.stack([field(W) for W in Ws]) for field in (velocity, partial(multiplied, r)))
    size = max(float(np.abs(found).max()), float(np.abs(formed).max()), float(np.finfo(float).tiny))
    rounding = 4 * EPS * sum(path.end.shape)  # sums over students and over coordinates
    off = float(np.abs(found - formed).max()) / size
    return _least(Ws), Check(
        "|ẇ_k − ‖w_k‖ r_k| along the path, as a share of the largest velocity", off, "==", 0.0, rounding
    )


def common_residue(
    w_star: Float[np.ndarray, " d"], a: Float[np.ndarray, " n"], extra: float, W: Weights
) -> Float[np.ndarray, "n d"]:
    """r_k = w* − Σ a_k w_k for every student, and ``extra`` · w* more for the first (section 5.3)."""
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
    title="Who outgrows whom when ẇ = ‖w‖ r",
    statement="If ẇ_k = ‖w_k‖ r_k, then d/dt ln(‖w_k‖/‖w_k'‖) = w̄_kᵀ r_k − w̄_k'ᵀ r_k', whatever the residues r_k are.",
    source="S0 theorem 7, section 8.15",
    check=norm_ratio,
    demonstrations=(
        Demonstration("four students with one residue w* − Σ a_k w_k", Verdict.HOLDS, _case),
        Demonstration("symmetry broken: 0.1 w* more for the first", Verdict.HOLDS, lambda: _case(0.1)),
        Demonstration("plain flow ẇ = r", Verdict.NOT_APPLICABLE, lambda: _case(plain=True)),
        Demonstration("a student with zero weights", Verdict.NOT_APPLICABLE, lambda: _case(zero=True)),
        Demonstration(
            "negative control: ‖r_k‖, not projected on w̄_k", Verdict.REFUTED, lambda: _case(0.1, projected=False)
        ),
    ),
)
