r"""IB.LA2: the function G near a direction (IB lemma A.2).

Let w be a unit vector and v any vector. Then there is ε_max > 0 such that for all ε in [0, ε_max]

    G((w + εv)/‖w + εv‖) = (G(w) + ε Σ_i c_i 1{(w + εv)ᵀx_i > 0} vᵀx_i) / ‖w + εv‖   (37),    c_i = −ℓ'_i(0).

The proof has a formula for it: ε_max is half of the largest ε up to which no wᵀx_i ≠ 0 changes its sign (eq. 40). For
the cross-entropy loss c_i = y_i/2; other losses multiply both sides by the same number.

The lemma is checked at random w, some of them orthogonal to several points, because there the indicator depends on v.
The left side is computed by its definition (eq. 12), and the sum on the right side point by point.
"""

import torch
from jaxtyping import Float64, Int8
from torch import Tensor
from torch.nn.functional import normalize

from relulab.core.angle import unit_rows
from relulab.core.errors import UserError
from relulab.core.ranges import at_least
from relulab.core.seeds import Role, stream
from relulab.data.labeled import Labeled
from relulab.lab.inputs.labeled_table import LabeledTable
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.bias.instruments.sectors import check_width, sector, sector_gain, signs
from relulab.subjects.bias.terms import RELU

SHARES = (1e-6, 0.01, 0.5, 1.0)  # ε, as shares of ε_max
FARTHEST = 1e3  # ε_max if no sign changes at any ε, divided by ‖v‖
ROUNDING = 64  # allowance for rounding, in units of the machine epsilon times the number of terms
UNIT = 8  # allowance for the length of a unit vector, in units of the machine epsilon times d: it may have been rotated
KINKED = 1e-12  # largest |cosine| that counts as 0: directions on kinks are projected, and rounded


def gain_near_a_direction(
    data: Labeled, w: Float64[Tensor, "k d"], v: Float64[Tensor, "k d"], *, beyond: bool = False, fixed: bool = False
) -> Finding:
    """Compare both sides of eq. 37 for every row of w and v, at several ε up to ε_max.

    Args:
        data: Points, (n, d), with labels −1 and 1.
        w: Unit vectors, (k, d).
        v: Vectors, (k, d), along which w is moved.
        beyond: False variant for the negative control: eq. 37 up to 8 ε_max.
        fixed: False variant for the negative control: the indicators of w in place of those of w + εv.

    >>> data = Labeled(torch.eye(2).double(), torch.tensor([1.0, -1.0]).double())
    >>> w, v = torch.tensor([[0.6, 0.8], [1.0, -1.0]], dtype=torch.float64).split(1)
    >>> gain_near_a_direction(data, w, v).verdict.name, gain_near_a_direction(data, 2 * w, v).verdict.name
    ('HOLDS', 'NOT_APPLICABLE')
    """
    X, y = data.X.double(), signs(data.X, data.y).double()
    check_width(w, X)
    if w.dim() != 2 or w.shape != v.shape or not len(w):
        raise UserError(
            f"expected one row of w per row of v, got shapes {tuple(w.shape)} and {tuple(v.shape)}: give as many"
        )
    eps = UNIT * torch.finfo(w.dtype).eps * w.shape[1]
    length = float((w.norm(dim=1) - 1).abs().max())
    detail = f"lengths differ from 1 by at most {length:.2g}; up to {eps:.2g} is rounding"
    conditions = (Check("Every w is a unit vector", length, "==", 0.0, eps, detail=detail),)
    if not conditions[0].holds:
        return Finding(conditions, ())
    X, v = X / X.abs().max().clamp(min=torch.finfo(X.dtype).tiny), unit_rows(v)  # eq. 37 is linear in X, and in εv
    sigma = sector(w, X, tolerance=KINKED)
    farthest = largest_move(w, v, X, sigma) * (8 if beyond else 1)
    gaps = torch.stack([_gap(w, share * farthest[:, None] * v, X, y, sigma, fixed) for share in SHARES])
    worst, rounding = float(gaps.max()), ROUNDING * (len(X) + X.shape[1]) * torch.finfo(X.dtype).eps + KINKED
    kinks, below = int((sigma == 0).any(1).sum()), float(farthest.min())
    detail = (
        f"at {len(w):,} directions, {kinks:,} of them on kinks of G, and {len(SHARES)} values of ε each, the two "
        f"differ by at most {worst:.2g} of the sum of all lengths; up to {rounding:.2g} is rounding"
    )
    return Finding(conditions, (
        Check("ε_max is positive", below, ">=", torch.finfo(X.dtype).tiny, detail=f"the smallest is {below:.2g} / ‖v‖"),
        Check("Both sides of eq. 37 are equal", worst, "==", 0.0, rounding, 1e-6, detail=detail),
    ))  # fmt: skip


def largest_move(
    w: Float64[Tensor, "k d"], v: Float64[Tensor, "k d"], X: Float64[Tensor, "n d"], sigma: Int8[Tensor, "k n"]
) -> Float64[Tensor, " k"]:
    """Compute ε_max of eq. 40: half of the largest ε up to which no wᵀx_i ≠ 0 changes its sign.

    Args:
        w: Unit vectors, (k, d).
        v: Vectors, (k, d).
        X: Points, (n, d).
        sigma: Signs of wᵀx_i, (k, n).
    """
    at, rate = w @ X.T, v @ X.T
    falls = (sigma != 0) & (rate.sign() == -sigma)
    return torch.where(falls, at / -rate.where(falls, 1.0), 2 * FARTHEST).amin(1).clamp(max=2 * FARTHEST) / 2


def _gap(w: Tensor, move: Tensor, X: Tensor, y: Tensor, sigma: Tensor, fixed: bool) -> Tensor:
    """The difference of the two sides, relative to Σ_i ‖x_i‖/2, times ‖w + εv‖."""
    new = w + move
    left = sector_gain(new, X, y) * new.norm(dim=1)
    total, change = torch.zeros(len(w)).double(), torch.zeros(len(w)).double()
    for x, label, sign in zip(X, y, sigma.T, strict=True):
        # a point on the kink has wᵀx = 0 up to rounding, so v alone decides whether it is active
        active = torch.where(sign == 0, move @ x > 0, new @ x > 0)
        change += label / 2 * torch.where(sign > 0 if fixed else active, move @ x, 0.0)
        total += label / 2 * torch.where(sign > 0, w @ x, 0.0)  # G(w)
    return (left - total - change).abs() / (X.norm(dim=1).sum() / 2 * new.norm(dim=1).clamp(min=1.0))


def directions(data: Labeled, count: int, seed: int) -> tuple[Float64[Tensor, "k d"], Float64[Tensor, "k d"]]:
    """Draw unit vectors w, every second one orthogonal to some points, and vectors v.

    Args:
        data: Points, (n, d), with labels −1 and 1.
        count: Number of vectors.
        seed: Seed of the vectors.
    """
    rng, d = stream(0, Role.CHANCE, seed), data.X.shape[1]
    w, v = (torch.from_numpy(rng.standard_normal((count, d))) for _ in range(2))
    unit = unit_rows(data.X.double())
    for row in w[::2]:
        chosen = unit[rng.choice(len(unit), size=min(len(unit), int(rng.integers(1, max(2, d)))), replace=False)]
        if int(torch.linalg.matrix_rank(chosen)) < d:
            for _ in range(2):  # the second pass removes rounding errors
                row -= torch.linalg.lstsq(chosen.T, row[:, None], driver="gelsd").solution[:, 0] @ chosen
    return normalize(w, dim=1), v


def _of_table(data: Labeled, *, count: int = 200, seed: int = 0) -> Finding:
    at_least(1, count=count)
    return gain_near_a_direction(data, *directions(data, count, seed))


def _case(factor: float = 1.0, **variant: bool) -> Finding:
    rng = stream(0, Role.DEMONSTRATION, 15)
    data = Labeled(torch.from_numpy(rng.standard_normal((20, 4))), torch.from_numpy(rng.choice((-1.0, 1.0), 20)))
    w, v = directions(data, 100, 0)
    return gain_near_a_direction(data, factor * w, v, **variant)


THEOREM = Theorem(
    id="IB.LA2",
    title="The function G near a direction",
    statement="For every unit vector w and every vector v there is ε_max > 0 such that G((w + εv)/‖w + εv‖) = "
    "(G(w) + ½ ε Σ_i y_i 1{(w + εv)ᵀx_i > 0} vᵀx_i)/‖w + εv‖ for all ε from 0 to ε_max. Half of the largest ε up to "
    "which no wᵀx_i ≠ 0 changes its sign is such an ε_max.",
    symbols={
        "x_i": "training point i",
        "y_i": "label of point i, −1 or 1",
        "w": "a unit vector, the direction of a neuron's input weights",
        "v": "a vector along which w is moved",
        "ε": "the length of the move, in units of v",
        "ε_max": "the largest ε of the lemma",
        "ε_i": "the ε at which wᵀx_i changes its sign",
        "G(w)": "½ Σ_i y_i ρ(wᵀx_i)",
        "1{…}": "1 if the condition is true, and 0 otherwise",
        **RELU,
    },
    source="IB lemma A.2, eqs. 37 and 40",
    check=gain_near_a_direction,
    on={LabeledTable: _of_table},
    variants=("beyond", "fixed"),
    demonstrations=(
        Demonstration("100 directions, half of them on kinks, 20 points in R⁴", Verdict.HOLDS, _case),
        Demonstration("Vectors w that are 1% too long", Verdict.NOT_APPLICABLE, lambda: _case(1.01)),
        Demonstration("Negative control: eq. 37 up to 8 ε_max", Verdict.REFUTED, lambda: _case(beyond=True)),
        Demonstration("Negative control: the indicators of w", Verdict.REFUTED, lambda: _case(fixed=True)),
    ),
)
