r"""S0.T7.feedback, students with one residue lose their differences (S0 section 5.3, eqs. 67 and 68).

Let ẇ_k = ‖w_k‖ r with one residue r = w* − Σ a_k w_k for all students, a_k > 0, and h_k = w̄_kᵀ r > 0. With
S = Σ a_k ‖w_k‖,

    d/dt (h_k − h_k') = −(h_k − h_k')(h_k + h_k' + S),

so (h_k − h_k')(t) = (h_k − h_k')(0) exp(−∫ (h_k + h_k' + S) dt) shrinks, and by theorem 7 the ratio of norms tends to
a constant. The text goes on: every w̄_k turns to w*. That does not follow. ṙ = −S r, so r keeps its direction r̂(0) and
dies out exponentially; w̄_k turns toward r̂(0), by no more than ∫‖r‖dt in all, and stops on the way. Only
Σ a_k w_k gets to w*. The smaller the start, the longer the turning lasts and the smaller the angle that is left. This
further step serves as the negative control.
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
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.specialization.theorems.norm_ratio import (
    EPS,
    LOOKS,
    LOOSE,
    TIGHT,
    agreement,
    common_residue,
    multiplied,
)

RESOLUTION = 1e-3  # the largest error, as a share of ‖w*‖, at which the conclusion can be judged


def negative_feedback(
    W: Float[np.ndarray | Tensor, "n d"],
    w_star: Float[np.ndarray | Tensor, " d_"],
    a: Float[np.ndarray | Tensor, " n_"],
    time: float,
    *,
    aligned: bool = False,
) -> Finding:
    """Follows students from W(0) = W and compares h_k − h_1 with what eq. 68 makes of its start.

    That h_k > 0 is asked for at the start: r keeps its direction and every w̄_k turns toward it, so it stays. What
    angles with w* may lose after ``time`` is at most ∫‖r‖dt ≤ ‖r‖/(‖w*‖ − ‖r‖), since S ≥ ‖w* − r‖: it is allowed for.

    Args:
        W: Weights of the students at the start, (n, d), at least two rows, none of them zero.
        w_star: The teacher w*, (d,), not zero.
        a: The factors a_k, (n,); the statement asks for a_k > 0.
        time: The time up to which the flow is followed, above 0.
        aligned: A false variant of the statement, for the negative control: the text's further step, that all angles
            with w* vanish.

    >>> W = np.array([[0.1, 0.02], [0.05, -0.01]])
    >>> negative_feedback(W, np.array([1.0, 0.0]), np.array([1.0, 0.5]), 5.0).verdict.name
    'HOLDS'
    """
    W, w_star, a = (as_array(x) for x in (W, w_star, a))
    if len(W) < 2 or W.shape != (len(a), len(w_star)) or not 0 < time < np.inf:
        raise UserError(
            f"{len(W)} students in R^{W.shape[1]}, {len(a)} factors a_k, w* in R^{len(w_star)}, a time of {time}: "
            "at least two students, as many factors, one dimension and a time above 0 were expected"
        )
    if not (norms(W).min() > 0 and np.linalg.norm(w_star) > 0 and np.isfinite(W).all()):
        raise UserError("no w_k and no w* may be zero: their directions are asked for")
    r, tiny = partial(common_residue, w_star, a, 0.0), float(np.finfo(float).tiny)
    conditions = (
        Check("least a_k", float(a.min()), ">=", tiny),
        Check("least h_k = w̄_kᵀ r at the start", float(agreement(r, W).min()), ">=", tiny),
    )
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    solved = [flow(partial(multiplied, r), W, time, rtol=rtol) for rtol in (LOOSE, TIGHT)]
    gaps, gaps_tight = (_gaps(one, w_star, a) for one in solved)
    size = float(np.linalg.norm(w_star))
    rounding = EPS * len(solved[1])
    error = float(np.abs(gaps - gaps_tight).max()) / size + rounding
    found, formula = gaps_tight / size
    says = "|(h_k − h_1) − (h_k − h_1)(0) exp(−∫ (h_k + h_1 + S) dt)| / ‖w*‖ at the worst student and time"
    left = float(np.abs(found[-1]).max())
    conclusion = [
        Check(says, float(np.abs(found - formula).max()), "==", 0.0, error, RESOLUTION),
        Check("largest |h_k − h_1| / ‖w*‖ at the end; at the start it was the bound", left, "<=",
              float(np.abs(found[0]).max()), error),
    ]  # fmt: skip
    return Finding(conditions, (*conclusion, *([_aligned(solved, w_star, a)] if aligned else [])))


def _gaps(path: Trajectory[np.ndarray], w_star: np.ndarray, a: np.ndarray) -> Float[np.ndarray, "2 t m"]:
    """h_k − h_1, k > 1, along the path, and what eq. 68 says it is."""
    times, r = np.linspace(0, float(path.times[-1]), LOOKS + 1), partial(common_residue, w_star, a, 0.0)

    def rate(W: Weights) -> np.ndarray:
        h = agreement(r, W)
        return h[1:] + h[0] + a @ norms(W)

    h = np.stack([agreement(r, W) for W in path.at(times)])
    gap = h[:, 1:] - h[:, :1]
    return np.stack([gap, gap[0] * np.exp(-integral(path, rate, times))])


def _aligned(solved: list[Trajectory[np.ndarray]], w_star: np.ndarray, a: np.ndarray) -> Check:
    loose, tight = (path.at(path.times[-1:])[0] for path in solved)
    left, size = float(np.linalg.norm(w_star - a @ tight)), float(np.linalg.norm(w_star))
    turn = left / (size - left) if left < size else np.inf
    solver = float(np.abs(angles(loose, w_star) - angles(tight, w_star)).max())
    error = turn + solver + EPS * len(solved[1])
    return Check("largest angle of a student with w*, in the end", float(angles(tight, w_star).max()), "==", 0.0, error)


def _case(away: bool = False, **options) -> Finding:
    rng = stream(0, Role.DEMONSTRATION, 8)
    w_star = rng.standard_normal(6)
    W = 0.05 * (rng.standard_normal((4, 6)) + w_star)
    W[3] *= -1 if away else 1
    return negative_feedback(W, w_star / np.linalg.norm(w_star), rng.uniform(0.5, 1.5, 4), 20.0, **options)


THEOREM = Theorem(
    id="S0.T7.feedback",
    title="Students with one residue lose their differences",
    statement="If ẇ_k = ‖w_k‖ r with one r = w* − Σ a_k w_k, a_k > 0, and all h_k = w̄_kᵀ r > 0, then h_k − h_k' "
    "shrinks as exp(−∫ (h_k + h_k' + Σ a_k ‖w_k‖) dt).",
    source="S0 section 5.3; eqs. 67 and 68 in section 8.15",
    check=negative_feedback,
    demonstrations=(
        Demonstration("four students on the side of w*", Verdict.HOLDS, _case),
        Demonstration("a student that points away from r", Verdict.NOT_APPLICABLE, lambda: _case(away=True)),
        Demonstration(
            "negative control: every w̄_k turns to w*, as the text goes on", Verdict.REFUTED, lambda: _case(aligned=True)
        ),
    ),
)
