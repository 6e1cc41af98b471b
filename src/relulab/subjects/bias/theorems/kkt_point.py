r"""IB.LC1: the limit of training is a KKT point of the nonlinear margin problem (IB lemma C.1).

Let the data be orthogonally separable, and let W = u w₊ᵀ + z w₋ᵀ and a = ‖w₊‖u − ‖w₋‖z (eqs. 75, 76) for u, z ≥ 0 with
u_j = 0 or z_j = 0 for every j, ‖u‖ = ‖w₊‖^{−1/2} and ‖z‖ = ‖w₋‖^{−1/2}. Then θ = (W, a) is a KKT point of

    min ½‖θ‖²   subject to   y_i f_θ(x_i) ≥ 1   (77),

with multipliers λ_i = α_i/‖w₊‖ for y_i = 1 and α_i/‖w₋‖ for y_i = −1 (eq. 89), where α_i are the multipliers of w₊ and
w₋.
"""

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.core.ranges import at_least
from relulab.core.seeds import Role, stream
from relulab.data.labeled import Labeled
from relulab.lab.inputs.labeled_table import LabeledTable
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.bias.instruments.max_margin import max_margin
from relulab.subjects.bias.instruments.sectors import sector
from relulab.subjects.bias.terms import LIMIT, RELU, SHARES
from relulab.subjects.bias.tools.conditions import orthogonally_separable
from relulab.subjects.bias.tools.half_spaces import half_spaces
from relulab.subjects.bias.tools.orthants import OppositeOrthants

ROUNDING = 16  # allowance for rounding, in units of the KKT residuals of w₊ and w₋ and of sums of d + p rounded numbers
RESOLUTION = 1e-8  # largest allowance with which the conditions are decided


def kkt_point(data: Labeled, *, width: int = 10, seed: int = 0, size: float = 1.0) -> Finding:
    """Check the KKT conditions at the limit point with random u and z.

    Args:
        data: Points, (n, d), with labels −1 and 1.
        width: Number of neurons, at least 2.
        seed: Seed of u and z.
        size: Factor of u and z. Any factor except 1 is a false variant for the negative control, because the margins of
            the support examples are then not 1.

    >>> data = OppositeOrthants(3).draw(np.random.default_rng(0), 6)
    >>> kkt_point(data).verdict.name, kkt_point(data, size=1.01).verdict.name
    ('HOLDS', 'REFUTED')
    """
    at_least(2, width=width)
    conditions = orthogonally_separable(data)
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    vectors = max_margin(data.X, data.y)
    W, a = limit_point(vectors.positive.w, vectors.negative.w, width, stream(0, Role.CHANCE, seed), size)
    lengths = vectors.positive.w.norm(), vectors.negative.w.norm()
    # the multipliers of each side are zero on the points of the other class
    lam = vectors.positive.multipliers / lengths[0] + vectors.negative.multipliers / lengths[1]
    margins, pull = _gradient(W, a, data, lam)
    theta = torch.cat([W.flatten(), a])
    sides = (vectors.positive, vectors.negative)
    rounding = ROUNDING * (max(side.residual for side in sides) + (W.shape[0] + W.shape[1]) * torch.finfo(W.dtype).eps)
    # A margin is a sum of terms up to ‖w₊‖‖x_i‖ or ‖w₋‖‖x_i‖, and rounded accordingly.
    reach = (torch.stack(lengths).max() * data.X.norm(dim=1)).clamp(min=1.0)
    below = float(((1 - margins).clamp(min=0) / reach).max())
    slack = float((lam * (margins - 1) / reach).abs().max() / lam.sum())
    gap = float((theta - pull).norm() / theta.norm())
    return Finding(conditions, (
        Check("Feasibility, y_i f(x_i) ≥ 1 for every i", below, "==", 0.0, rounding, RESOLUTION,
              detail=f"the minimum is {float(margins.min()):.12g}, must be at least 1; up to {rounding:.2g} of the "
              "terms of a sum is rounding"),
        Check("Dual feasibility, λ_i ≥ 0 for every i", float(lam.min()), ">=", 0.0,
              detail=f"the minimum is {float(lam.min()):.3g}, must be at least 0"),
        Check("Complementary slackness, λ_i (y_i f(x_i) − 1) = 0 for every i", slack, "==", 0.0,
              rounding, RESOLUTION,
              detail=f"the largest absolute value is {slack:.2g} of Σ_i λ_i; up to {rounding:.2g} is rounding"),
        Check("Stationarity, θ = Σ_i λ_i y_i ∂f(x_i)", gap, "==", 0.0, rounding, RESOLUTION,
              detail=f"the two sides differ by {gap:.2g} of ‖θ‖; up to {rounding:.2g} is rounding"),
    ))  # fmt: skip


def limit_point(
    w_plus: Float64[Tensor, " d"],
    w_minus: Float64[Tensor, " d"],
    width: int,
    rng: np.random.Generator,
    size: float = 1.0,
) -> tuple[Float64[Tensor, "p d"], Float64[Tensor, " p"]]:
    """Return W and a of eqs. 75 and 76 for random u and z, with at least one neuron of each sign.

    Args:
        w_plus: Max-margin vector w₊ of the positive points, (d,).
        w_minus: Max-margin vector w₋ of the negative points, (d,).
        width: Number of neurons.
        rng: Random generator of u and z.
        size: Factor of u and z; 1 in the lemma.
    """
    shares, positive = torch.from_numpy(rng.exponential(size=width)), torch.from_numpy(rng.random(width) < 0.5)
    positive[0], positive[-1] = True, False
    u, z = shares * positive, shares * ~positive
    u, z = (v / v.norm() * size * w.norm() ** -0.5 for v, w in ((u, w_plus), (z, w_minus)))
    return torch.outer(u, w_plus) + torch.outer(z, w_minus), w_plus.norm() * u - w_minus.norm() * z


def _gradient(W: Tensor, a: Tensor, data: Labeled, lam: Tensor) -> tuple[Tensor, Tensor]:
    """Margins and Σ_i λ_i y_i ∂f(x_i), with the subgradient 1{w_jᵀx_i > 0} of ρ (eq. 90).

    An inner product within rounding of 0 counts as 0, as in the check of separability: exact right angles are common.
    """
    gates = (sector(W, data.X) > 0).to(W.dtype)  # p n
    z = gates * (W @ data.X.T)
    weights = lam * data.y
    pull = torch.cat([((gates * weights) @ data.X * a[:, None]).flatten(), z @ weights])
    return data.y * (a @ z), pull


def _case(**options) -> Finding:
    return kkt_point(OppositeOrthants(20).draw(stream(0, Role.DEMONSTRATION, 11), 500), **options)


THEOREM = Theorem(
    id="IB.LC1",
    title="The limit is a KKT point of the nonlinear margin problem",
    statement="Let the data be orthogonally separable. Let W = u w₊ᵀ + z w₋ᵀ and a = ‖w₊‖u − ‖w₋‖z for u, z ≥ 0 with "
    "u_j = 0 or z_j = 0 for every j, ‖u‖ = ‖w₊‖^{−1/2} and ‖z‖ = ‖w₋‖^{−1/2}. Then θ = (W, a) is a KKT point of the "
    "problem min ½‖θ‖² subject to y_i f(x_i) ≥ 1 for all i.",
    symbols={
        "x_i": "training point i",
        "y_i": "label of point i, −1 or 1",
        "f(x)": "output of the network at the input x, f(x) = aᵀρ(Wx)",
        "∂f": "gradient of f with respect to all weights",
        **RELU,
        "W": "first-layer weights, one row per neuron",
        "a": "second-layer weights, one number per neuron",
        "θ": "all weights, θ = (W, a)",
        **LIMIT,
        **SHARES,
        "λ_i": "multiplier of the constraint y_i f(x_i) ≥ 1 of point i",
    },
    source="IB lemma C.1, eqs. 75 to 89",
    check=kkt_point,
    on={LabeledTable: kkt_point},
    variants=("size",),
    demonstrations=(
        Demonstration("500 points in R²⁰ drawn as in the paper", Verdict.HOLDS, _case),
        Demonstration(
            "Data that are only linearly separable", Verdict.NOT_APPLICABLE, lambda: kkt_point(half_spaces(11))
        ),
        Demonstration("Negative control: u and z 1% longer", Verdict.REFUTED, lambda: _case(size=1.01)),
    ),
)
