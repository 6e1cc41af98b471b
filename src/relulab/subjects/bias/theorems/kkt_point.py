r"""IB.LC1, the limit is a KKT point of the non-linear margin problem (IB lemma C.1).

On orthogonally separable data let W = u w₊ᵀ + z w₋ᵀ, a = ‖w₊‖u − ‖w₋‖z for u, z ≥ 0 with u_j = 0 or z_j = 0, and
‖u‖ = ‖w₊‖^(−1/2), ‖z‖ = ‖w₋‖^(−1/2) (eqs. 75, 76). Then θ = (W, a) is a KKT point of

    min ½‖θ‖²   subject to   y_i f_θ(x_i) ≥ 1   (77),

with multipliers λ_i = α_i/‖w₊‖ for y_i = 1 and α_i/‖w₋‖ for y_i = −1 (eq. 89), α those of w₊ and w₋.
"""

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.core.seeds import Role, stream
from relulab.data.labeled import Labeled
from relulab.lab.inputs.labeled_table import LabeledTable
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.bias.instruments.max_margin import max_margin
from relulab.subjects.bias.instruments.sectors import sector
from relulab.subjects.bias.tools.conditions import orthogonally_separable
from relulab.subjects.bias.tools.half_spaces import half_spaces
from relulab.subjects.bias.tools.orthants import OppositeOrthants

ROUNDING = 1e-8  # of residuals relative to ‖θ‖ or to 1; those of w₊ and w₋ are within 1e-10


def kkt_point(data: Labeled, *, width: int = 10, seed: int = 0, size: float = 1.0) -> Finding:
    """Checks the KKT conditions at the limit with random u and z.

    Args:
        data: Points, (n, d), with labels −1 and 1.
        width: Number of neurons.
        seed: Seed of u and z.
        size: A false variant of the statement, for the negative control, if other than 1: that u and z may be longer or
            shorter by this factor, though the margins are then not 1.

    >>> data = OppositeOrthants(3).draw(np.random.default_rng(0), 6)
    >>> kkt_point(data).verdict.name, kkt_point(data, size=1.01).verdict.name
    ('HOLDS', 'REFUTED')
    """
    conditions = orthogonally_separable(data)
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    found = max_margin(data.X, data.y)
    W, a = limit_point(found.positive.w, found.negative.w, width, stream(0, Role.CHANCE, seed), size)
    lengths = found.positive.w.norm(), found.negative.w.norm()
    # every row has its multiplier on its own side, and zero on the other
    lam = found.positive.multipliers / lengths[0] + found.negative.multipliers / lengths[1]
    margins, pull = _gradient(W, a, data, lam)
    theta = torch.cat([W.flatten(), a])
    return Finding(conditions, (
        Check("least margin y_i f(x_i)", float(margins.min()), ">=", 1 - ROUNDING),
        Check("least multiplier λ_i", float(lam.min()), ">=", 0.0),
        Check("largest |λ_i (y_i f(x_i) − 1)|, as a share of Σ λ", float((lam * (margins - 1)).abs().max() / lam.sum()),
              "<=", ROUNDING),
        Check("‖θ − Σ λ_i y_i ∂f(x_i)‖/‖θ‖", float((theta - pull).norm() / theta.norm()), "<=", ROUNDING),
    ))  # fmt: skip


def limit_point(
    w_plus: Float64[Tensor, " d"],
    w_minus: Float64[Tensor, " d"],
    width: int,
    rng: np.random.Generator,
    size: float = 1.0,
) -> tuple[Float64[Tensor, "p d"], Float64[Tensor, " p"]]:
    """W and a of eqs. 75 and 76 for random u and z, at least one neuron of either sign."""
    shares, positive = torch.from_numpy(rng.exponential(size=width)), torch.from_numpy(rng.random(width) < 0.5)
    positive[0], positive[-1] = True, False
    u, z = shares * positive, shares * ~positive
    u, z = (v / v.norm() * size * w.norm() ** -0.5 for v, w in ((u, w_plus), (z, w_minus)))
    return torch.outer(u, w_plus) + torch.outer(z, w_minus), w_plus.norm() * u - w_minus.norm() * z


def _gradient(W: Tensor, a: Tensor, data: Labeled, lam: Tensor) -> tuple[Tensor, Tensor]:
    """Margins, and Σ λ_i y_i ∂f(x_i) with 1{w_jᵀx_i > 0} for ρ', a member of the subdifferential (eq. 90).

    A product within rounding of 0 counts as 0, as it does where separability is judged: right angles are no accident.
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
    title="The limit is a KKT point of the non-linear margin problem",
    statement="On orthogonally separable data the limit of theorem 1, with ‖u‖ = ‖w₊‖^(−1/2) and ‖z‖ = ‖w₋‖^(−1/2), is "
    "a KKT point of min ½‖θ‖² subject to y_i f(x_i) ≥ 1.",
    source="IB lemma C.1, eqs. 75 to 89",
    check=kkt_point,
    on={LabeledTable: kkt_point},
    variants=("size",),
    demonstrations=(
        Demonstration("500 points in R²⁰ of the paper's construction", Verdict.HOLDS, _case),
        Demonstration(
            "data that are only linearly separable", Verdict.NOT_APPLICABLE, lambda: kkt_point(half_spaces(11))
        ),
        Demonstration("negative control: u and z one percent longer", Verdict.REFUTED, lambda: _case(size=1.01)),
    ),
)
