"""IB.L2, two extremal directions (IB lemma 2).

On orthogonally separable data, x_iᵀx_j > 0 for points of one class and ≤ 0 for points of two, G has exactly one strict
local maximum and one strict local minimum on the unit sphere. The first lies in the sector σ₊ of eq. 13, the second in
σ₋ of eq. 14: active on one class, off on the points of the other, or on the kink of those that are orthogonal to it.

Neither almost-all data nor spanning support examples are needed for this lemma. Two steps of the printed proof need a
word more. That moving against a misplaced point raises G takes G > 0; where G ≤ 0, a strict maximum would have points
of the other class alone on its kinks, spanning all tangent directions, and the way against one of these does not lead
down. And the largest value of G is taken strictly because it is positive, not because G is not constant: see
``relulab.subjects.bias.tools.strict_maxima``.
"""

import math

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import linprog
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.data.labeled import Labeled
from relulab.lab.inputs.labeled_table import LabeledTable
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.bias.instruments.extremal import Extremal, extremal_directions
from relulab.subjects.bias.instruments.sectors import extremal_sectors, signs
from relulab.subjects.bias.tools.conditions import orthogonally_separable
from relulab.subjects.bias.tools.orthants import OppositeOrthants

MOST = 2000  # points of a table, for a minute or so


def two_extremal_directions(
    X: Float[Tensor, "n d"], y: Tensor, *, starts: int = 512, exchanged: bool = False, linear: bool = False
) -> Finding:
    """Counts the extremal directions that ``starts`` starts find, and compares their sectors with eqs. 13 and 14.

    A count is of directions that are extremal beyond doubt, so more than one refutes; one and no more is what the
    starts can say, and nothing is said if some of them got lost.

    Args:
        X: Points, (n, d), a point a row.
        y: Labels −1 and 1, (n,).
        starts: Number of directions from which extremal ones are looked for.
        exchanged: A false variant of the statement, for the negative control: each sector is claimed for the other
            sign.
        linear: A false variant of the statement, for the negative control: the lemma is claimed for all linearly
            separable data.

    >>> data = OppositeOrthants(3).draw(np.random.default_rng(0), 6)
    >>> two_extremal_directions(data.X, data.y, starts=16).verdict.name
    'HOLDS'
    """
    X, y = X.detach().double(), signs(X, y).double()
    conditions = (linearly_separable(X, y),) if linear else orthogonally_separable(Labeled(X, y))
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    found = extremal_directions(X, y, starts=starts)
    closed = extremal_sectors(X, y)
    sides = list(zip((1, -1), ("positive", "negative"), closed[::-1] if exchanged else closed, strict=True))
    return Finding(conditions, tuple(c for sign, name, sigma in sides for c in _side(found, sign, name, sigma)))


def _side(found: Extremal, sign: int, name: str, sigma: Tensor) -> list[Check]:
    here, lost = found.of(sign), int(found.lost[0 if sign > 0 else 1])
    count = len(here.G)
    checks = [Check(f"{name} extremal directions", math.nan if lost and count < 2 else count, "==", 1)]
    if count:
        wrong = int((here.sigma != sigma).sum(1).max())
        checks.append(Check(f"signs of a {name} extremal sector that differ from the closed form", wrong, "==", 0))
    return checks


def linearly_separable(X: Float[Tensor, "n d"], y: Float[Tensor, " n"]) -> Check:
    """The largest margin min_i y_i wᵀx_i with all |w_k| ≤ 1, by a linear program."""
    A, d = (X * y[:, None]).numpy(), X.shape[1]
    found = linprog(np.r_[np.zeros(d), -1.0], A_ub=np.c_[-A, np.ones(len(A))], b_ub=np.zeros(len(A)),
                    bounds=[(-1, 1)] * d + [(None, None)])  # fmt: skip
    return Check("margin of the best linear separator with |w_k| ≤ 1", float(-found.fun), ">=", 1e-6 * np.abs(A).max())


def _orthants() -> Labeled:
    return OppositeOrthants(4).draw(stream(0, Role.DEMONSTRATION, 9), 12)


def _with_zeros() -> Labeled:
    """In R⁴: the third point is orthogonal to the positive class, the last one is not."""
    X = [[1, 0, 0, 0], [2, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 2], [-1, 0, 3, 0]]
    return Labeled(torch.tensor(X).double(), torch.tensor([1, 1, -1, -1, -1]).double())


def _obtuse() -> Labeled:
    """In R²: the first axis separates the classes; the positive points, over 90° apart, and their mean are maxima."""
    return Labeled(torch.tensor([[1, 3], [1, -3], [-1, 0]]).double(), torch.tensor([1, 1, -1]).double())


def _case(data: Labeled, **options) -> Finding:
    return two_extremal_directions(data.X, data.y, **options)


def _of_table(data: Labeled, *, starts: int = 512) -> Finding:
    if len(data.X) > MOST:
        raise UserError(f"{len(data.X):,} points: extremal directions are looked for among at most {MOST:,}, take some")
    return two_extremal_directions(data.X, data.y, starts=starts)


THEOREM = Theorem(
    id="IB.L2",
    title="Two extremal directions",
    statement="On orthogonally separable data G has one positive and one negative extremal direction. The positive one "
    "is active on all positive points, off on negative points that make an obtuse angle with a positive one, and "
    "orthogonal to the other negative points; the negative one likewise with the classes exchanged.",
    source="IB lemma 2, eqs. 13 and 14",
    check=two_extremal_directions,
    on={LabeledTable: _of_table},
    demonstrations=(
        Demonstration("12 points in opposite orthants of R⁴", Verdict.HOLDS, lambda: _case(_orthants())),
        Demonstration("exact right angles between the classes", Verdict.HOLDS, lambda: _case(_with_zeros())),
        Demonstration("linearly, not orthogonally separable points", Verdict.NOT_APPLICABLE, lambda: _case(_obtuse())),
        Demonstration(
            "negative control: the sectors exchanged", Verdict.REFUTED, lambda: _case(_orthants(), exchanged=True)
        ),
        Demonstration(
            "negative control: the lemma for linearly separable points",
            Verdict.REFUTED,
            lambda: _case(_obtuse(), linear=True),
        ),
    ),
)
