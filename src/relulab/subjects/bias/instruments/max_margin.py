"""The two max-margin vectors of a data set with two classes (IB eqs. 6 and 7)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float64, Int64
from scipy.linalg import LinAlgError, solve_triangular
from torch import Tensor

from relulab.core.device import by_cpu
from relulab.core.errors import UserError
from relulab.core.short_repr import brief, counted
from relulab.data.labeled import Labeled, labeled
from relulab.lab.instrument import instrument

TOUCH = 1e-9  # distance from the plane wᵀx = 1, in units of ‖x‖, up to which a point is a support example
FINE = 1e-12  # constraint tolerance of daqp; with its default 1e-6 it misses support examples with small multipliers
SINGULAR = 1e-15  # smallest pivot of daqp; with its default 4e-11 it reports margins of 1e-6 as infeasible
SOLVED = 1e-8  # largest KKT residual of an accepted solution
SOLUTIONS = (1, 4)  # exit flags of daqp: optimal, and as close as rounding permits, which the KKT residual then checks
INFEASIBLE = -1


class KKT(NamedTuple):
    """Residuals of the optimality (KKT) conditions for w and α. They are relative: rescaling the data changes nothing.

    Stationarity ‖w − Σ_i α_i x_i‖/‖w‖, feasibility max_i (1 − wᵀx_i)₊/(‖w‖‖x_i‖), complementarity
    max_i |α_i (wᵀx_i − 1)|/‖w‖², and sign max_i (−α_i)₊/max_i |α_i|.
    """

    stationarity: float
    feasibility: float
    complementarity: float
    sign: float


class Side(NamedTuple):
    """The max-margin vector of one class.

    ``supports`` are the row numbers of the support examples: points of the class with wᵀx = 1, up to a distance of
    10⁻⁹ ‖x‖ from that plane. ``multipliers`` has one entry per row of X, zero on the other class: w = Σ_i α_i x_i with
    α ≥ 0. ``rank`` is the rank of the support examples, scaled to unit length. They span R^d if it equals d.
    """

    w: Float64[Tensor, " d"]
    supports: Int64[Tensor, " s"]
    multipliers: Float64[Tensor, " n"]
    kkt: KKT
    rank: int

    def __repr__(self) -> str:
        supports = f"{counted(len(self.supports), 'support example')} of rank {self.rank}"
        return f"Side(w={brief(self.w)}, {supports}, margin {self.margin:.4g}, KKT residual {self.residual:.2g})"

    @property
    def residual(self) -> float:
        """The largest of the four KKT residuals."""
        return max(self.kkt)

    @property
    def spans(self) -> bool:
        """Whether the support examples span R^d, a condition of IB theorem 1."""
        return self.rank == len(self.w)

    @property
    def margin(self) -> float:
        """1/‖w‖, the distance of the class from the plane wᵀx = 0."""
        return 1 / float(self.w.norm())


class MaxMargin(NamedTuple):
    """The max-margin vectors w₊ and w₋ with their support examples and multipliers."""

    positive: Side
    negative: Side


@instrument(source="IB eqs. 6 and 7", ids=("IB.MM",))
@by_cpu
def max_margin(X: Tensor | np.ndarray | Sequence, y: Tensor | np.ndarray | Sequence) -> MaxMargin:
    """Compute the max-margin vectors w₊ = argmin ‖w‖² s.t. wᵀx_i ≥ 1 for y_i = 1, and w₋ likewise for y_i = −1.

    Each vector depends on its own class only, and wᵀx ≥ +1 on that class for both. The computation is in float64
    whatever the dtype of X. The active-set solver daqp is applied to points of unit length; the result is then refined
    by solving the linear equations of the active set. A class that lies in no open half-space through the origin has no
    max-margin vector and raises an error. So does a class whose margin is below about 10⁻⁶ of its smallest norm, which
    rounding cannot distinguish from none.

    Args:
        X: Points, (n, d), one row per point.
        y: Labels, (n,), with any two values; the value that sorts last becomes +1.

    >>> vectors = max_margin([[2.0, 0.0], [2.0, 2.0], [-1.0, 1.0], [-1.0, -1.0]], [1, 1, -1, -1])
    >>> vectors.positive.w.tolist(), vectors.positive.supports.tolist(), vectors.positive.spans
    ([0.5, 0.0], [0, 1], True)
    >>> vectors.negative.w.tolist(), vectors.negative.margin
    ([-1.0, 0.0], 1.0)
    """
    data = labeled(X, y, strict=False)
    return MaxMargin(_side(data, 1), _side(data, -1))


@by_cpu
def hard_margin(Z: Float64[Tensor, "n d"]) -> Float64[Tensor, " d"]:
    """Compute the shortest w with wᵀz ≥ 1 for every row z of Z: the max-margin vector without a bias.

    Args:
        Z: The rows z_i = y_i x_i, (n, d), in float64.

    >>> hard_margin(torch.tensor([[2.0, 0.0], [2.0, 2.0]], dtype=torch.float64)).tolist()
    [0.5, 0.0]
    """
    return _side(Labeled(Z, torch.ones(len(Z), dtype=torch.float64)), 1).w


def _side(data: Labeled, label: int) -> Side:
    rows = (data.y == label).nonzero()[:, 0]
    x = data.X[rows].numpy()
    norms = _norms(x, rows, label)
    least = norms.min()
    A, b = x / norms[:, None], least / norms  # unit rows and right sides up to 1: w is measured in 1/least
    w, multipliers = _polished(A, b, *_solved(A, b, label))
    residuals = _kkt(A, b, w, multipliers)
    if not max(residuals) <= SOLVED:
        raise UserError(
            f"the max-margin vector of the {len(x)} points with label {label:+d} has a KKT residual of "
            f"{max(residuals):.1g}: their margin, {1 / np.linalg.norm(w):.1g} of their smallest norm, is too small for "
            "float64"
        )
    touching = np.abs(A @ w - b) <= TOUCH * np.linalg.norm(w)
    alpha = torch.zeros(len(data.X), dtype=torch.float64)
    alpha[rows] = torch.from_numpy(multipliers / norms / least)
    rank = int(torch.linalg.matrix_rank(torch.from_numpy(A[touching])))
    return Side(torch.from_numpy(w / least), rows[torch.from_numpy(touching)], alpha, residuals, rank)


def _norms(x: Float64[np.ndarray, "k d"], rows: Int64[Tensor, " k"], label: int) -> Float64[np.ndarray, " k"]:
    power = np.frexp(np.abs(x).max(axis=1))[
        1
    ]  # powers of 2: dividing by them does not round, and keeps squares in the range of float64
    with np.errstate(over="ignore"):  # infinite norms raise an error below
        norms = np.ldexp(np.linalg.norm(np.ldexp(x, -power[:, None]), axis=1), power)
    outside = np.flatnonzero((norms < 1e-140) | (norms > 1e140))  # squares of w or of points leave the range of float64
    if not len(outside):
        return norms
    row, norm = int(rows[outside[0]]), norms[outside[0]]
    if not x[outside[0]].any():
        raise UserError(
            f"row {row}, with label {label:+d}, is the zero point, so wᵀx ≥ 1 has no solution: remove the row"
        )
    raise UserError(f"expected norms from 1e-140 to 1e140, but row {row} has norm {norm:.1g}: rescale the data")


def _solved(A: Float64[np.ndarray, "k d"], b: Float64[np.ndarray, " k"], label: int) -> tuple[np.ndarray, np.ndarray]:
    """Solve min ‖w‖²/2 s.t. Aw ≥ b with daqp; return w and the multipliers."""
    import daqp  # pyrefly: ignore[missing-import]

    k, d = A.shape
    if k < d:  # w lies in the span of the points, so k coordinates suffice
        Q, R = np.linalg.qr(A.T)
        w, alpha = _solved(R.T, b, label)
        return Q @ w, alpha
    w, _, flag, info = daqp.solve(
        np.eye(d), np.zeros(d), np.ascontiguousarray(A), np.full(k, 1e30), np.ascontiguousarray(b),
        primal_tol=FINE, sing_tol=SINGULAR, iter_limit=100_000,
    )  # fmt: skip
    if flag == INFEASIBLE:
        raise UserError(
            f"the {k} points with label {label:+d} have no max-margin vector: no half-space through the origin "
            "contains them all with a margin above a millionth of their norms. Add a constant column to act as a bias"
        )
    if flag not in SOLUTIONS:
        raise UserError(
            f"the solver daqp failed on the {k} points with label {label:+d} (exit flag {flag} after "
            f"{info['iterations']} steps): their margin may be too small for float64"
        )
    return np.array(w), np.maximum(-np.array(info["lam"]), 0)  # active lower bounds have negative multipliers


def _polished(A: np.ndarray, b: np.ndarray, w: np.ndarray, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The shortest solution of A_S w = b_S on the active set S, by A_Sᵀ = QR; w and α unchanged if they are better."""
    active = np.flatnonzero(alpha)
    try:
        Q, R = np.linalg.qr(A[active].T)
        h = solve_triangular(R, b[active], trans="T")
        refined = np.zeros_like(alpha)
        refined[active] = solve_triangular(R, h)
    except (LinAlgError, ValueError):  # more active rows than columns, or dependent rows
        return w, alpha
    better = max(_kkt(A, b, Q @ h, refined)) < max(_kkt(A, b, w, alpha))
    return (Q @ h, refined) if better else (w, alpha)


def _kkt(A: np.ndarray, b: np.ndarray, w: np.ndarray, alpha: np.ndarray) -> KKT:
    """Residuals for unit rows A: the gaps are distances, and the multipliers of unit rows are α_i ‖x_i‖."""
    size, gap = np.linalg.norm(w), A @ w - b
    if not 0 < size < np.inf:
        return KKT(np.inf, np.inf, np.inf, np.inf)
    return KKT(
        stationarity=float(np.linalg.norm(w - alpha @ A) / size),
        feasibility=float(max(0.0, -gap.min()) / size),
        complementarity=float(np.abs(alpha * gap).max() / size**2),
        sign=float(max(0.0, -alpha.min()) / np.abs(alpha).max()),
    )
