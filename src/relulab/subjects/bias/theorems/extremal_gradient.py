r"""IB.LA1: at an extremal direction, the projected gradient is parallel to it (IB lemma A.1).

If the unit vector w is an extremal direction, then g(w) = C w for some number C, where

    g(w) = Σ_i c_i 1{wᵀx_i > 0} P_w x_i   (31),    c_i = −ℓ'_i(0),

and P_w is the orthogonal projection onto span{x_i: wᵀx_i = 0}^⊥. Since wᵀg(w) = G(w), the number C is G(w). For the
cross-entropy loss c_i = y_i/2; for other losses, g and C change by the same factor.

The lemma is the base of ``extremal_directions``, so a check on its results could not fail. The directions are therefore
found without it, by ``relulab.subjects.bias.tools.cone_ascent``, from random starts; those with G > 0 (positive) and
with G < 0 (negative) are found. The data may be arbitrary.
"""

import math

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.core.angle import unit_rows
from relulab.core.errors import UserError
from relulab.core.ranges import at_least
from relulab.core.seeds import Role, stream
from relulab.data.labeled import Labeled
from relulab.lab.inputs.labeled_table import LabeledTable
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.bias.instruments.sectors import check_width, sector, sector_gain, signs
from relulab.subjects.bias.tools.cone_ascent import ZERO, is_strict, local_maximum

MOST = 500  # largest number of points in a table; this takes about a minute
ALLOWED = 1e-8  # allowance for the accuracy of a direction, which is better than 1e-9


def extremal_gradient(
    data: Labeled, w: Float64[Tensor, "k d"] | None = None, *, starts: int = 32, seed: int = 0, plain: bool = False
) -> Finding:
    """Compare g(w) with G(w) w at extremal directions.

    Args:
        data: Points, (n, d), with labels −1 and 1.
        w: Unit vectors, (k, d); whether they are extremal is tested. Default: extremal directions found from random
            starts.
        starts: Number of random starts for each sign, if ``w`` is not given.
        seed: Seed of the starts.
        plain: False variant for the negative control: g without the projection P_w.

    >>> data = Labeled(torch.tensor([[2.0, 0.0], [0.0, -4.0]]).double(), torch.tensor([1.0, -1.0]).double())
    >>> extremal_gradient(data, starts=4).verdict.name
    'HOLDS'
    """
    at_least(1, starts=starts)
    X, y = data.X.double(), signs(data.X, data.y).double()
    if len(X) > MOST:
        raise UserError(f"expected at most {MOST} points for the search, got {len(X):,}: take a subset")
    if not X.isfinite().all():
        raise UserError("expected finite points, got NaN or infinite entries: remove these points")
    X = X / X.norm(dim=1).max().clamp(min=torch.finfo(X.dtype).tiny)  # directions do not change
    conditions, found = _searched(X, y, starts, seed) if w is None else _given(w, X, y)
    if conditions[0].holds is False:
        return Finding(conditions, ())
    sigma = sector(found, X, tolerance=ZERO)
    g = torch.stack([projected_gradient(s, X, y, plain) for s in sigma])
    gap = float((g - sector_gain(found, X, y)[:, None] * found).norm(dim=1).max() / (X.norm(dim=1).sum() / 2))
    kinks = int((sigma == 0).any(1).sum())
    return Finding(conditions, (
        Check("g(w) = G(w) w", gap if kinks or not plain else math.nan, "==", 0.0, ALLOWED,
              detail=f"at {len(found):,} extremal directions, {kinks:,} of them on kinks of G, the two differ by at "
              f"most {gap:.2g} of the sum of all lengths; up to {ALLOWED:g} is the accuracy of the directions"),
    ))  # fmt: skip


def projected_gradient(
    sigma: Tensor, X: Float64[Tensor, "n d"], y: Float64[Tensor, " n"], plain: bool = False
) -> Float64[Tensor, " d"]:
    """Compute g of eq. 31 in the sector σ.

    Args:
        sigma: Signs of wᵀx_i, (n,).
        X: Points, (n, d).
        y: Labels −1 and 1, (n,).
        plain: Whether to leave out the projection.
    """
    g = y[sigma > 0] @ X[sigma > 0] / 2
    Z = X[(sigma == 0) & (X.norm(dim=1) > 0)]
    return g if plain or not len(Z) else g - torch.linalg.pinv(Z, rtol=ZERO) @ (Z @ g)


def _searched(X: Tensor, y: Tensor, starts: int, seed: int) -> tuple[tuple[Check, ...], Float64[Tensor, "k d"]]:
    """Extremal directions of both signs, each once. The negative ones are the positive ones of the labels −y."""
    rng, found = stream(0, Role.CHANCE, seed), []
    for sign in (1, -1):
        for w in rng.standard_normal((starts, X.shape[1])):
            end = local_maximum(w / np.linalg.norm(w), X.numpy(), sign * y.numpy())
            if end is not None and all(np.linalg.norm(end - other) > ALLOWED for other in found):
                found.append(end)
    detail = f"{len(found):,} different ones from {2 * starts:,} starts"
    some = Check("Extremal directions are found", len(found), ">=", 1, detail=detail)
    return (some,), torch.from_numpy(np.array(found).reshape(-1, X.shape[1]))


def _given(w: Tensor, X: Tensor, y: Tensor) -> tuple[tuple[Check, ...], Float64[Tensor, "k d"]]:
    """The given directions, normalized, and whether they are strict local maxima or minima."""
    check_width(w, X)
    w = unit_rows(w.double())
    strict = [[is_strict(row.numpy(), X.numpy(), sign * y.numpy()) for sign in (1, -1)] for row in w]
    extremal = [True if True in row else None if None in row else False for row in strict]
    no, unknown = extremal.count(False), extremal.count(None)
    detail = f"{extremal.count(True):,} of {len(w):,} are" + (f", {unknown:,} are unknown" if unknown else "")
    measured = math.nan if unknown and not no else no
    return (Check("The directions are extremal", measured, "==", 0, detail=detail),), w


def _of_table(data: Labeled, *, starts: int = 32, seed: int = 0) -> Finding:
    return extremal_gradient(data, starts=starts, seed=seed)


def _data() -> Labeled:
    rng = stream(0, Role.DEMONSTRATION, 16)
    return Labeled(torch.from_numpy(rng.standard_normal((12, 4))), torch.from_numpy(rng.choice((-1.0, 1.0), 12)))


def _case(**options) -> Finding:
    return extremal_gradient(_data(), starts=12, **options)


THEOREM = Theorem(
    id="IB.LA1",
    title="The projected gradient at an extremal direction",
    statement="If the unit vector w is an extremal direction, then g(w) = C w with C = G(w), where g(w) = "
    "½ Σ_i y_i 1{wᵀx_i > 0} P_w x_i and P_w is the orthogonal projection onto the orthogonal complement of all x_i "
    "with wᵀx_i = 0.",
    symbols={
        "x_i": "training point i",
        "y_i": "label of point i, −1 or 1",
        "w": "a unit vector, the direction of a neuron's input weights",
        "G(w)": "½ Σ_i y_i ρ(wᵀx_i), whose strict local maxima and minima are the extremal directions",
        "ρ": "the ReLU, which replaces negative numbers by 0",
        "g(w)": "the projected gradient of G at w",
        "P_w": "the projection",
        "C": "a number",
        "1{…}": "1 if the condition is true, and 0 otherwise",
    },
    source="IB lemma A.1, eqs. 31 to 36",
    check=extremal_gradient,
    on={LabeledTable: _of_table},
    variants=("plain",),
    demonstrations=(
        Demonstration("Extremal directions of 12 points in R⁴ with random labels", Verdict.HOLDS, _case),
        Demonstration(
            "Random directions, which are not extremal",
            Verdict.NOT_APPLICABLE,
            lambda: _case(w=torch.from_numpy(stream(0, Role.DEMONSTRATION, 17).standard_normal((5, 4)))),
        ),
        Demonstration("Negative control: g without the projection", Verdict.REFUTED, lambda: _case(plain=True)),
    ),
)
