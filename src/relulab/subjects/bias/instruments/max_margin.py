"""The two max-margin directions of a data set of two classes (IB eqs. 6 and 7)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float64, Int64
from scipy.linalg import LinAlgError, solve_triangular
from torch import Tensor

from relulab.core.device import by_cpu
from relulab.core.errors import UserError
from relulab.data.labeled import Labeled, labeled
from relulab.lab.instrument import instrument

TOUCH = 1e-9  # distance from the plane wᵀx = 1, in ‖x‖, up to which a point is a support example
FINE = 1e-12  # by how much daqp may miss a constraint; at its own 1e-6 it leaves out supports of small multipliers
SINGULAR = 1e-15  # pivots below this are zero to daqp; at its own 4e-11 margins of 1e-6 are taken for none
SOLVED = 1e-8  # a larger KKT residual is no solution
SOLUTIONS = (1, 4)  # exit flags: optimal; as near to it as rounding lets daqp come, which the residual then tells
INFEASIBLE = -1


class KKT(NamedTuple):
    """How far w and α are from the conditions of optimality, all relative, so that rescaling the data changes nothing.

    Stationarity ‖w − Σ α_i x_i‖ / ‖w‖, feasibility max (1 − wᵀx_i)₊ / (‖w‖‖x_i‖), complementarity
    max |α_i (wᵀx_i − 1)| / ‖w‖², and sign max (−α_i)₊ / max |α_i|.
    """

    stationarity: float
    feasibility: float
    complementarity: float
    sign: float


class Side(NamedTuple):
    """The max-margin vector of one class.

    ``supports`` are rows of X: those of the class with wᵀx = 1, that is at a distance of at most 1e-9 ‖x‖ from that
    plane. ``multipliers`` has one entry a row of X, zero on the other class: w = Σ α_i x_i with α ≥ 0. ``rank`` is
    that of the support examples, scaled to unit length; they span R^d when it is d.
    """

    w: Float64[Tensor, " d"]
    supports: Int64[Tensor, " s"]
    multipliers: Float64[Tensor, " n"]
    kkt: KKT
    rank: int

    @property
    def residual(self) -> float:
        """The largest of the four KKT residuals."""
        return max(self.kkt)

    @property
    def spans(self) -> bool:
        """Whether the support examples span R^d, which IB theorem 1 asks for."""
        return self.rank == len(self.w)

    @property
    def margin(self) -> float:
        """1/‖w‖, the distance of the class from the plane wᵀx = 0."""
        return 1 / float(self.w.norm())


class MaxMargin(NamedTuple):
    """w₊ and w₋ with all that belongs to them."""

    positive: Side
    negative: Side


@instrument(source="IB eqs. 6 and 7", ids=("IB.MM",))
@by_cpu
def max_margin(X: Tensor | np.ndarray | Sequence, y: Tensor | np.ndarray | Sequence) -> MaxMargin:
    """The max-margin vectors w₊ = argmin ‖w‖² s.t. wᵀx_i ≥ 1 for y_i = 1, and w₋ the same for y_i = −1.

    Both have wᵀx ≥ +1 on their class, and neither knows the other class. In float64, whatever X is in. Solved by the
    active sets of daqp on points of unit length, then polished: on the active set w is the shortest solution of linear
    equations. A class that no half space through the origin holds has no such vector and is refused; so is one held
    with a margin below about a millionth of its smallest norm, which rounding does not tell from none.

    Args:
        X: Points, (n, d), a point a row.
        y: Labels, (n,), of any two values; the one that sorts last is +1.

    >>> found = max_margin([[2.0, 0.0], [2.0, 2.0], [-1.0, 1.0], [-1.0, -1.0]], [1, 1, -1, -1])
    >>> found.positive.w.tolist(), found.positive.supports.tolist(), found.positive.spans
    ([0.5, 0.0], [0, 1], True)
    >>> found.negative.w.tolist(), found.negative.margin
    ([-1.0, 0.0], 1.0)
    """
    data = labeled(X, y, strict=False)
    return MaxMargin(_side(data, 1), _side(data, -1))


@by_cpu
def hard_margin(Z: Float64[Tensor, "n d"]) -> Float64[Tensor, " d"]:
    """The shortest w with wᵀz ≥ 1 for every row z: the max-margin vector of rows z_i = y_i x_i, without a bias.

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
            f"the max-margin vector of the {len(x)} points of label {label:+d} was found only up to a residual of "
            f"{max(residuals):.1g}: their margin is {1 / np.linalg.norm(w):.1g} of their smallest norm, too little for "
            "float64"
        )
    touching = np.abs(A @ w - b) <= TOUCH * np.linalg.norm(w)
    alpha = torch.zeros(len(data.X), dtype=torch.float64)
    alpha[rows] = torch.from_numpy(multipliers / norms / least)
    rank = int(torch.linalg.matrix_rank(torch.from_numpy(A[touching])))
    return Side(torch.from_numpy(w / least), rows[torch.from_numpy(touching)], alpha, residuals, rank)


def _norms(x: Float64[np.ndarray, "k d"], rows: Int64[Tensor, " k"], label: int) -> Float64[np.ndarray, " k"]:
    power = np.frexp(np.abs(x).max(axis=1))[1]  # of 2: dividing by it rounds nothing and keeps squares in the range
    with np.errstate(over="ignore"):  # infinite norms are refused below
        norms = np.ldexp(np.linalg.norm(np.ldexp(x, -power[:, None]), axis=1), power)
    outside = np.flatnonzero((norms < 1e-140) | (norms > 1e140))  # where squares of w or of points leave the range
    if not len(outside):
        return norms
    row, norm = int(rows[outside[0]]), norms[outside[0]]
    if not x[outside[0]].any():
        raise UserError(
            f"row {row}, of label {label:+d}, is the zero point, for which no w has wᵀx ≥ 1: there is no max-margin "
            "vector, remove the row"
        )
    raise UserError(f"row {row} has norm {norm:.1g}: norms from 1e-140 to 1e140 can be worked with, rescale the data")


def _solved(A: Float64[np.ndarray, "k d"], b: Float64[np.ndarray, " k"], label: int) -> tuple[np.ndarray, np.ndarray]:
    """w and the multipliers of min ‖w‖²/2 s.t. Aw ≥ b, as daqp gives them."""
    import daqp  # pyrefly: ignore[missing-import]

    k, d = A.shape
    if k < d:  # w lies in the span of the points, so k coordinates tell all of it
        Q, R = np.linalg.qr(A.T)
        w, alpha = _solved(R.T, b, label)
        return Q @ w, alpha
    w, _, flag, info = daqp.solve(
        np.eye(d), np.zeros(d), np.ascontiguousarray(A), np.full(k, 1e30), np.ascontiguousarray(b),
        primal_tol=FINE, sing_tol=SINGULAR, iter_limit=100_000,
    )  # fmt: skip
    if flag == INFEASIBLE:
        raise UserError(
            f"no half space through the origin holds all {k} points of label {label:+d} (0 is in their convex hull, or "
            "nearer to it than a millionth of their norms): there is no max-margin vector; a constant column added to "
            "the data would act as a bias"
        )
    if flag not in SOLUTIONS:
        raise UserError(
            f"the solver gave up on the {k} points of label {label:+d} (daqp's exit flag {flag}, after "
            f"{info['iterations']} steps): their margin may be too small for float64"
        )
    return np.array(w), np.maximum(-np.array(info["lam"]), 0)  # active lower bounds have negative multipliers


def _polished(A: np.ndarray, b: np.ndarray, w: np.ndarray, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The shortest solution of A_S w = b_S on the active set S, with A_Sᵀ = QR; the one given if that is better."""
    active = np.flatnonzero(alpha)
    try:
        Q, R = np.linalg.qr(A[active].T)
        h = solve_triangular(R, b[active], trans="T")
        again = np.zeros_like(alpha)
        again[active] = solve_triangular(R, h)
    except (LinAlgError, ValueError):  # more active rows than columns, or dependent ones
        return w, alpha
    better = max(_kkt(A, b, Q @ h, again)) < max(_kkt(A, b, w, alpha))
    return (Q @ h, again) if better else (w, alpha)


def _kkt(A: np.ndarray, b: np.ndarray, w: np.ndarray, alpha: np.ndarray) -> KKT:
    """The residuals for unit rows A: gaps are distances already, and α of unit rows are α_i ‖x_i‖."""
    size, gap = np.linalg.norm(w), A @ w - b
    if not 0 < size < np.inf:
        return KKT(np.inf, np.inf, np.inf, np.inf)
    return KKT(
        stationarity=float(np.linalg.norm(w - alpha @ A) / size),
        feasibility=float(max(0.0, -gap.min()) / size),
        complementarity=float(np.abs(alpha * gap).max() / size**2),
        sign=float(max(0.0, -alpha.min()) / np.abs(alpha).max()),
    )
