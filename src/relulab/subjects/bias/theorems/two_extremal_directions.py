"""IB.L2: two extremal directions (IB lemma 2).

On orthogonally separable data (x_iᵀx_j > 0 for points of the same class, x_iᵀx_j ≤ 0 for points of different classes),
G has exactly one strict local maximum and one strict local minimum on the unit sphere. The maximum lies in the sector
σ₊ of eq. 13 and the minimum in the sector σ₋ of eq. 14.

The lemma needs neither "almost all data" nor spanning support examples. Two steps of the printed proof are incomplete.
(1) Moving against a misplaced point raises G only where G > 0. Where G ≤ 0, a strict maximum would have only points of
the other class on its kinks, and these would span all tangent directions; then the direction against such a point does
not lead down. (2) The largest value of G is attained strictly because it is positive, not because G is not constant:
see ``relulab.subjects.bias.tools.strict_maxima``.
"""

import math

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import linprog
from torch import Tensor

from relulab.core.angle import unit_rows
from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.data.labeled import Labeled
from relulab.lab.inputs.labeled_table import LabeledTable
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.bias.instruments.extremal import Extremal, extremal_directions
from relulab.subjects.bias.instruments.sectors import extremal_sectors, signs
from relulab.subjects.bias.terms import RELU
from relulab.subjects.bias.tools.conditions import orthogonally_separable
from relulab.subjects.bias.tools.orthants import OppositeOrthants
from relulab.subjects.bias.tools.strict_maxima import TOLERANCE

MOST = 2000  # largest number of points in a table; this takes about a minute


def two_extremal_directions(
    X: Float[Tensor, "n d"], y: Tensor, *, starts: int = 512, exchanged: bool = False, linear: bool = False
) -> Finding:
    """Count the extremal directions found from many starts, and compare their sectors with eqs. 13 and 14.

    Every direction found is extremal, so a second one of the same sign refutes the lemma. That there is no second one
    is not certain; it is only the result of the search. If some starts reach no direction, the check is undecided.

    Args:
        X: Points, (n, d), one row per point.
        y: Labels −1 and 1, (n,).
        starts: Number of starting directions of the search.
        exchanged: False variant for the negative control: the two sectors are exchanged.
        linear: False variant for the negative control: the lemma for all linearly separable data.

    >>> data = OppositeOrthants(3).draw(np.random.default_rng(0), 6)
    >>> two_extremal_directions(data.X, data.y, starts=16).verdict.name
    'HOLDS'
    """
    X, y = X.detach().double(), signs(X, y).double()
    conditions = (linearly_separable(X, y),) if linear else orthogonally_separable(Labeled(X, y))
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    directions = extremal_directions(X, y, starts=starts)
    sectors = list(zip(extremal_sectors(X, y), (13, 14), strict=True))
    sides = zip((1, -1), ("positive", "negative"), sectors[::-1] if exchanged else sectors, strict=True)
    return Finding(conditions, tuple(c for sign, name, which in sides for c in _side(directions, sign, name, *which)))


def _side(directions: Extremal, sign: int, name: str, sigma: Tensor, equation: int) -> list[Check]:
    of_sign, lost = directions.of(sign), int(directions.lost[0 if sign > 0 else 1])
    count = len(of_sign.G)
    detail = f"{count:,} found" + (f", but {lost:,} starts reached none" if lost else "")
    measured = math.nan if lost and count < 2 else count
    checks = [Check(f"There is exactly one {name} extremal direction", measured, "==", 1, detail=detail)]
    if count:
        opposite = int(((of_sign.sigma != sigma) & (of_sign.sigma != 0)).sum(1).max())
        unclear = int(((of_sign.sigma != sigma) & (of_sign.sigma == 0)).sum(1).max())
        says = f"The {name} extremal sector has the signs of eq. {equation}"
        detail = f"{opposite:,} of {len(sigma):,} signs differ" if opposite else f"all {len(sigma):,} signs agree"
        if unclear and not opposite:  # a cosine within the tolerance may have the sign that it should have
            detail = f"{unclear:,} of {len(sigma):,} signs are unknown, because |cos| ≤ {TOLERANCE:g}"
        checks.append(Check(says, opposite if opposite or not unclear else math.nan, "==", 0, detail=detail))
    return checks


def linearly_separable(X: Float[Tensor, "n d"], y: Float[Tensor, " n"]) -> Check:
    """Check linear separability: the largest margin min_i y_i wᵀx_i/‖x_i‖ with |w_k| ≤ 1, by a linear program.

    Points are divided by their norms, which changes no sign: then the margin does not depend on their lengths.

    Args:
        X: Points, (n, d), one row per point.
        y: Labels −1 and 1, (n,).
    """
    A, d = (unit_rows(X) * y[:, None]).numpy(), X.shape[1]
    solution = linprog(np.r_[np.zeros(d), -1.0], A_ub=np.c_[-A, np.ones(len(A))], b_ub=np.zeros(len(A)),
                       bounds=[(-1, 1)] * d + [(None, None)])  # fmt: skip
    margin = float(-solution.fun)
    detail = f"for points of norm one and weights between −1 and 1, the margin is up to {margin:.3g}; must be positive"
    says = "A hyperplane through the origin separates the classes"
    return Check(says, margin, ">=", 1e-6, detail=detail)


def _orthants() -> Labeled:
    return OppositeOrthants(4).draw(stream(0, Role.DEMONSTRATION, 9), 12)


def _with_zeros() -> Labeled:
    """Points in R⁴: the third is orthogonal to the positive class, the last is not."""
    X = [[1, 0, 0, 0], [2, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 2], [-1, 0, 3, 0]]
    return Labeled(torch.tensor(X).double(), torch.tensor([1, 1, -1, -1, -1]).double())


def _obtuse() -> Labeled:
    """Points in R² separated by the first axis; the two positive points, over 90° apart, and their mean are maxima."""
    return Labeled(torch.tensor([[1, 3], [1, -3], [-1, 0]]).double(), torch.tensor([1, 1, -1]).double())


def _case(data: Labeled, **options) -> Finding:
    return two_extremal_directions(data.X, data.y, **options)


def _of_table(data: Labeled, *, starts: int = 512) -> Finding:
    if len(data.X) > MOST:
        raise UserError(
            f"expected at most {MOST:,} points for the search for extremal directions, got {len(data.X):,} points: "
            "take a subset"
        )
    return two_extremal_directions(data.X, data.y, starts=starts)


THEOREM = Theorem(
    id="IB.L2",
    title="Two extremal directions",
    statement="On orthogonally separable data, G has exactly one positive and one negative extremal direction. In the "
    "positive extremal sector σ₊, the sign of wᵀx_j is 1 for positive points x_j, −1 for negative points with "
    "x_jᵀx_i < 0 for some positive point x_i, and 0 for the other negative points (eq. 13). In the negative extremal "
    "sector σ₋ the classes are exchanged (eq. 14).",
    symbols={
        "x_i, x_j": "training points i and j",
        "y_i": "label of point i, −1 or 1; points are called positive or negative by their label",
        "w": "a unit vector, the direction of a neuron's input weights",
        "G(w)": "½ Σ_i y_i ρ(wᵀx_i), the function whose strict local maxima and minima are the extremal directions",
        **RELU,
        "σ₊": "positive extremal sector: the signs of wᵀx_j for all j at the positive extremal direction w",
        "σ₋": "negative extremal sector: the signs of wᵀx_j for all j at the negative extremal direction w",
    },
    in_print="The lemma is correct, but two steps of the printed proof are incomplete: moving against a misplaced "
    "point raises G only where G > 0, and the maximum is strict because G > 0 there, not because G is not constant. "
    "The lemma is stated in the setting of theorem 1, but it needs neither almost all data nor spanning support "
    "examples; here only orthogonal separability is required.",
    source="IB lemma 2, eqs. 13 and 14",
    check=two_extremal_directions,
    on={LabeledTable: _of_table},
    demonstrations=(
        Demonstration("12 points in opposite orthants of R⁴", Verdict.HOLDS, lambda: _case(_orthants())),
        Demonstration("Exact right angles between the classes", Verdict.HOLDS, lambda: _case(_with_zeros())),
        Demonstration("Points that are only linearly separable", Verdict.NOT_APPLICABLE, lambda: _case(_obtuse())),
        Demonstration(
            "Negative control: the two sectors exchanged", Verdict.REFUTED, lambda: _case(_orthants(), exchanged=True)
        ),
        Demonstration(
            "Negative control: the lemma for linearly separable points",
            Verdict.REFUTED,
            lambda: _case(_obtuse(), linear=True),
        ),
    ),
)
