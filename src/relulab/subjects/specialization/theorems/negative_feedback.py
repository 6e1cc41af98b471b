r"""S0.T7.feedback, differences between students with a common residue shrink (S0 section 5.3, eqs. 67 and 68).

Let ẇ_k = ‖w_k‖ r with the same residue r = w* − Σ a_k w_k for all students, a_k > 0, and h_k = w̄_kᵀ r > 0. With
S = Σ a_k ‖w_k‖,

    d/dt (h_k − h_k') = −(h_k − h_k')(h_k + h_k' + S),

so (h_k − h_k')(t) = (h_k − h_k')(0) exp(−∫ (h_k + h_k' + S) dt) shrinks, and by theorem 7 the ratio of the norms tends
to a constant. The paper adds that every w̄_k aligns with w*. This does not follow. Since ṙ = −S r, the residue keeps its
direction r̂(0) and decays exponentially. w̄_k turns toward r̂(0) by at most ∫‖r‖dt and stops before it gets there. Only
Σ a_k w_k converges to w*. Smaller initial weights turn for a longer time and end at a smaller angle. The claim that all
students align with w* is the negative control.
"""

from functools import partial

import numpy as np
from jaxtyping import Float
from torch import Tensor

from relulab.core.angle import angles, norms
from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.flow.adaptive import Weights, as_array, flow, integral
from relulab.flow.trajectory import Trajectory
from relulab.lab.show.words import differ, number
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.specialization.theorems.norm_ratio import (
    EPS,
    LOOSE,
    SNAPSHOTS,
    TIGHT,
    agreement,
    common_residue,
    multiplied,
)

RESOLUTION = 1e-3  # with a larger error, as a share of ‖w*‖, the conclusion is undecided


def negative_feedback(
    W: Float[np.ndarray | Tensor, "n d"],
    w_star: Float[np.ndarray | Tensor, " d_"],
    a: Float[np.ndarray | Tensor, " n_"],
    time: float,
    *,
    aligned: bool = False,
) -> Finding:
    """Integrate the flow from W(0) = W and compare h_k − h_1 with the solution of eq. 68.

    h_k > 0 is required at the start only: r keeps its direction and every w̄_k turns toward it, so h_k stays positive.

    Args:
        W: Weights of the students at the start, (n, d), at least two rows, none of them zero.
        w_star: The teacher w*, (d,), not zero.
        a: The factors a_k, (n,). The theorem requires a_k > 0.
        time: End time of the flow, above 0.
        aligned: True also checks the paper's claim that all angles with w* vanish, which is wrong. This is the
            negative control.

    >>> W = np.array([[0.1, 0.02], [0.05, -0.01]])
    >>> negative_feedback(W, np.array([1.0, 0.0]), np.array([1.0, 0.5]), 5.0).verdict.name
    'HOLDS'
    """
    W, w_star, a = (as_array(x) for x in (W, w_star, a))
    if len(W) < 2 or W.shape != (len(a), len(w_star)) or not 0 < time < np.inf:
        raise UserError(
            f"got {len(W)} students in R^{W.shape[1]}, {len(a)} factors a_k, w* in R^{len(w_star)} and a time of "
            f"{time}: expected at least two students, as many factors, equal dimensions and a time above 0"
        )
    if not (norms(W).min() > 0 and np.linalg.norm(w_star) > 0 and np.isfinite(W).all()):
        raise UserError(
            "some w_k or w* is zero or not finite: expected finite, nonzero weights, which have a direction"
        )
    r, tiny = partial(common_residue, w_star, a, 0.0), float(np.finfo(float).tiny)
    conditions = (
        _positive("All factors a_k are positive", float(a.min()), tiny),
        _positive("All h_k = w̄_kᵀ r are positive at the start", float(agreement(r, W).min()), tiny),
    )
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    solved = [flow(partial(multiplied, r), W, time, rtol=rtol) for rtol in (LOOSE, TIGHT)]
    gaps, gaps_tight = (_gaps(path, w_star, a) for path in solved)
    size = float(np.linalg.norm(w_star))
    rounding = EPS * len(solved[1])
    error = float(np.abs(gaps - gaps_tight).max()) / size + rounding
    simulated, formula = gaps_tight / size
    equation = "h_k − h_1 shrinks from its first value by the factor exp(−∫ (h_k + h_1 + S) dt), for all students k"
    shrinks = "All |h_k − h_1| are smaller at the end than at the start"
    start, end = (float(np.abs(simulated[i]).max()) for i in (0, -1))
    gap = float(np.abs(simulated - formula).max())
    conclusion = [
        Check(equation, gap, "==", 0.0, error, RESOLUTION, f"{differ(gap, error)}, relative to ‖w*‖"),
        Check(
            shrinks,
            end,
            "<=",
            start,
            error,
            detail=f"the largest falls from {number(start)} ‖w*‖ to {number(end)} ‖w*‖",
        ),
    ]
    return Finding(conditions, (*conclusion, *([_aligned(solved, w_star, a)] if aligned else [])))


def _positive(says: str, smallest: float, tiny: float) -> Check:
    return Check(says, smallest, ">=", tiny, detail=f"the smallest is {number(smallest)}")


def _gaps(path: Trajectory[np.ndarray], w_star: np.ndarray, a: np.ndarray) -> Float[np.ndarray, "2 t m"]:
    """h_k − h_1 along the path, for k > 1, and its value by eq. 68."""
    times, r = np.linspace(0, float(path.times[-1]), SNAPSHOTS + 1), partial(common_residue, w_star, a, 0.0)

    def rate(W: Weights) -> np.ndarray:
        h = agreement(r, W)
        return h[1:] + h[0] + a @ norms(W)

    h = np.stack([agreement(r, W) for W in path.at(times)])
    gap = h[:, 1:] - h[:, :1]
    return np.stack([gap, gap[0] * np.exp(-integral(path, rate, times))])


def _aligned(solved: list[Trajectory[np.ndarray]], w_star: np.ndarray, a: np.ndarray) -> Check:
    """Whether the largest angle with w* is zero in the end.

    Angles may still change after the end by at most ∫‖r‖dt ≤ ‖r‖/(‖w*‖ − ‖r‖), since S ≥ ‖w* − r‖. This is added to
    the error.
    """
    loose, tight = (path.at(path.times[-1:])[0] for path in solved)
    left, size = float(np.linalg.norm(w_star - a @ tight)), float(np.linalg.norm(w_star))
    turn = left / (size - left) if left < size else np.inf
    solver = float(np.abs(angles(loose, w_star) - angles(tight, w_star)).max())
    error = turn + solver + EPS * len(solved[1])
    says, largest = "Every student points along w* at the end", float(angles(tight, w_star).max())
    return Check(says, largest, "==", 0.0, error, detail=f"the largest angle with w* is {number(largest)} radians")


def _case(away: bool = False, **options) -> Finding:
    rng = stream(0, Role.DEMONSTRATION, 8)
    w_star = rng.standard_normal(6)
    W = 0.05 * (rng.standard_normal((4, 6)) + w_star)
    W[3] *= -1 if away else 1
    return negative_feedback(W, w_star / np.linalg.norm(w_star), rng.uniform(0.5, 1.5, 4), 20.0, **options)


THEOREM = Theorem(
    id="S0.T7.feedback",
    title="Differences between students with a common residue shrink",
    statement="Let ẇ_k = ‖w_k‖ r with the same residue r = w* − Σ a_k w_k for all students, a_k > 0, and h_k = w̄_kᵀ "
    "r > 0 at the start. Then h_k − h_{k'} shrinks as exp(−∫ (h_k + h_{k'} + S) dt) with S = Σ a_k ‖w_k‖, for any two "
    "students k and k'.",
    symbols={
        "w_k": "weights of student k, a function of the time t",
        "ẇ_k": "time derivative of w_k",
        "w̄_k": "w_k/‖w_k‖, the direction of student k",
        "r": "residue, the same for all students",
        "w*": "weights of the teacher",
        "a_k": "positive factors",
        "h_k": "component of the residue along student k, the growth rate of ln‖w_k‖",
        "k'": "another student",
        "S": "sum of the norms, weighted by a_k",
        "t": "time",
    },
    in_print="The text adds that every w̄_k aligns with w*. This does not follow: the residue keeps its direction and "
    "decays exponentially, so students turn toward r(0) and stop before they get there. Only Σ a_k w_k converges to "
    "w*. The negative control is the claim of the text.",
    source="S0 section 5.3; eqs. 67 and 68 in section 8.15",
    check=negative_feedback,
    demonstrations=(
        Demonstration("Four students near w*", Verdict.HOLDS, _case),
        Demonstration("One student that points away from r", Verdict.NOT_APPLICABLE, lambda: _case(away=True)),
        Demonstration("Negative control: every student aligns with w*", Verdict.REFUTED, lambda: _case(aligned=True)),
    ),
)
