"""The common part of SS theorems 3 and 4: conditions on two networks and finitely many points."""

import math
from itertools import product
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.lab.show.words import number
from relulab.lab.theorem import Check, Finding
from relulab.nets.hooks import points
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.tools.band_constants import band_constant
from relulab.subjects.specialization.tools.creases import gradient_at
from relulab.subjects.specialization.tools.groups import two_layer
from relulab.subjects.specialization.tools.nodes import Nodes, lowest, regular, regularized


class Setting(NamedTuple):
    """The differences between theorems 3 and 4."""

    gamma: float
    """γ of the theorem"""
    step: float
    """distance of the augmented points, in units of ε'"""
    aware: bool
    """whether points are moved along w̃*_j (theorem 4) instead of all axes (theorem 3)"""


class Pair(NamedTuple):
    """Teacher and student, their hidden nodes, and the points. The nodes of the teacher are regular."""

    teacher: MLP
    student: MLP
    star: Nodes
    nodes: Nodes
    x: Float[Tensor, "N d"]

    @classmethod
    def of(cls, teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"]) -> "Pair":
        """Check that the shapes agree and convert everything to float64.

        Args:
            teacher: One two-layer (leaky) ReLU network.
            student: Another one with the same inputs and outputs.
            x: Points, (N, d).
        """
        teacher, student, x = regularized(two_layer(teacher)), two_layer(student), points(x).double()
        if x.dim() != 2 or not x.shape[1] == teacher.widths[0] == student.widths[0]:
            raise UserError(
                f"points have shape {tuple(x.shape)}, but the teacher has {teacher.widths[0]} inputs and the student "
                f"{student.widths[0]}: expected (points, inputs) with the same number of inputs"
            )
        if teacher.widths[-1] != student.widths[-1]:
            raise UserError(
                f"the teacher has {teacher.widths[-1]} outputs and the student {student.widths[-1]}: they must agree"
            )
        return cls(teacher, student, lowest(teacher), lowest(student), x)

    def alpha(self, j: int) -> Float[Tensor, " n"]:
        """|α_kj| of every student k, for teacher node j."""
        return (self.student.W[1].data[0] @ self.teacher.W[1].data[0, j]).abs()


def specialized(pair: Pair, epsilon: float, node: int | None, setting: Setting, loose: bool) -> Finding:
    """Check theorem 3 or 4 for one teacher node.

    Args:
        pair: The networks and the points.
        epsilon: The largest alignment error ε allowed, above 0.
        node: Index of the teacher node, from 0. None takes the strongest node.
        setting: The setting of theorem 3 or 4.
        loose: Whether the gradient is bounded by |α_kj| ε only, for the negative control.
    """
    star, x, d = pair.star, pair.x, pair.x.shape[1]
    if not epsilon > 0:
        raise UserError(f"expected an epsilon above 0, the largest alignment error allowed, got {epsilon}")
    if len(x) < d + 1:
        raise UserError(f"expected at least {d + 1} points in {d} dimensions, got {len(x)}")
    j = int(pair.teacher.W[1].data[0].norm(dim=1).argmax()) if node is None else node
    if not 0 <= j < len(star.w):
        raise UserError(f"teacher node {j} does not exist: choose a node from 0 to {len(star.w) - 1}")
    K = len(star.w) + len(pair.nodes.w)
    best, gradient = _best(pair, _tries(pair, epsilon, j, K, setting, loose), j, setting)
    conditions = _conditions(pair, j, best, epsilon, gradient, loose)
    if best.count < best.needed:  # with too few points, (b) to (d) are not defined
        return Finding(conditions[:2], ())
    nearest = alignment(Nodes(star.w[j : j + 1], star.b[j : j + 1]), pair.nodes, either_side=True).min()
    says = f"The hyperplane of some student is ε-aligned with that of teacher node {j}"
    detail = f"the alignment error of the nearest student is {number(float(nearest))}, must be at most {epsilon:g}"
    return Finding(conditions, (Check(says, float(nearest), "<=", epsilon, detail=detail),))


class _Try(NamedTuple):
    """One choice of observer k and width ε', with the quantities in its conditions."""

    k: int
    active: bool
    """whether the points are those at which k is active; at the others, a leaky student has the gate c"""
    width: float
    alpha: float
    allowed: float
    count: int
    needed: float
    M: float
    margin: float


def _conditions(
    pair: Pair, j: int, best: _Try, epsilon: float, gradient: tuple[float, float], loose: bool
) -> tuple[Check, ...]:
    star = pair.star
    gap = alignment(Nodes(star.w[j : j + 1], star.b[j : j + 1]), star, either_side=True)[0]
    gap[j] = torch.inf
    bound = ("" if best.active else "c ") + ("(1 − c*) " if pair.teacher.slope else "")
    bound += "|α_kj| ε" if loose else "|α_kj| ε'/5"
    g, allowance = gradient
    state = "active" if best.active else "not active"
    band = f"within ε' = {best.width:.2g} of the boundary of node {j}, where student {best.k} is {state}"
    detail = f"{best.count:,} points; at least {math.ceil(best.needed):,} are needed"
    reach = best.M * best.width
    size = f"max(M₁, M₂) ε' is {number(reach)}, must be at most {epsilon:g}"
    tiny, above = float(torch.finfo(pair.x.dtype).tiny), math.nextafter(epsilon, math.inf)
    other = "(c) No other teacher node is ε-aligned with this one"
    others = f"the smallest alignment error is {number(float(gap.min()))}, must exceed {epsilon:g}"
    if not torch.isfinite(gap.min()):
        others = "there is no other teacher node"
    small = f"(d) ‖g_1‖∞ is at most {bound} on the points and their augmentation"
    return (
        Check(
            f"Student k = {best.k} has α_kj ≠ 0 for teacher node j = {j}",
            best.alpha,
            ">=",
            tiny,
            detail=f"|α_kj| = {best.alpha:.3g}",
        ),
        Check(f"(a) Enough points lie {band}", best.count, ">=", best.needed, detail=detail),
        Check("(b) max(M₁, M₂) ε' is at most ε", reach, "<=", epsilon, detail=size),
        Check(other, float(gap.min()), ">=", above, detail=others),
        Check(
            small,
            g,
            "<=",
            best.allowed,
            allowance,
            detail=f"it is {number(g)}, must be at most {number(best.allowed)}",
        ),
    )


def _tries(pair: Pair, epsilon: float, j: int, K: int, setting: Setting, loose: bool) -> list[_Try]:
    nodes, x, d = pair.nodes, pair.x, pair.x.shape[1]
    w, b = pair.star.w[j], pair.star.b[j]
    others = torch.cat([regular(pair.star).w[torch.arange(len(pair.star.b)) != j], regular(nodes).w])
    distance, active, alpha = (x @ w + b).abs(), x @ nodes.w.T + nodes.b > 0, pair.alpha(j)
    needed = (setting.gamma + 3) * K * (d + 1)
    slope, tries = pair.student.slope, []
    for width in (epsilon * 10 ** (-i / 4) for i in range(13)):
        band = distance <= width
        for k, on in product(range(len(nodes.w)), (True, False) if slope else (True,)):
            inside = x[band & (active[:, k] == on)]
            enough = len(inside) >= needed
            M = band_constant(inside, w, float(b), others, width, K, setting.gamma) if enough else math.inf
            bend = (1.0 if on else slope) * (1 - pair.teacher.slope) * float(alpha[k])
            allowed = bend * (epsilon if loose else width / 5)
            margin = min(len(inside) / needed, epsilon / (M * width))
            # a choice with too few points has no M: it is ranked below all others, by its number of points
            margin = margin if enough else len(inside) / needed * 1e-9
            margin = margin if alpha[k] > 0 else -1.0
            tries.append(_Try(k, on, width, float(alpha[k]), allowed, len(inside), needed, M, margin))
    return tries


def _best(pair: Pair, tries: list[_Try], j: int, setting: Setting) -> tuple[_Try, tuple[float, float]]:
    """The choice that satisfies the conditions best, and its largest gradient with the rounding allowance.

    The gradient is the expensive part, so it is computed only for choices that satisfy (a) and (b), if there are any.
    """
    good = [t for t in tries if t.margin >= 1] or [max(tries, key=lambda t: t.margin)]
    if good[0].count < good[0].needed:
        return good[0], (math.nan, 0.0)
    gradients = {width: _gradient(pair, j, width, setting) for width in dict.fromkeys(t.width for t in good)}
    best = max(good, key=lambda t: t.allowed / max(gradients[t.width][0], 1e-300))
    return best, gradients[best.width]


def _gradient(pair: Pair, j: int, width: float, setting: Setting) -> tuple[float, float]:
    """‖g_1‖∞ over the points and their augmentation of definition 7, and its rounding allowance."""
    star, x = pair.star, pair.x
    near = x[(x @ star.w[j] + star.b[j]).abs() <= width] if setting.aware else x
    along = star.w[j : j + 1] if setting.aware else torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    step = setting.step * width * along
    parts = [gradient_at(pair.teacher, pair.student, part) for part in (x, *(near + e for s in step for e in (s, -s)))]
    g = max((float(g.abs().max()) for g, _ in parts if g.numel()), default=0.0)
    return g, max((float(a.max()) for _, a in parts if a.numel()), default=0.0)
