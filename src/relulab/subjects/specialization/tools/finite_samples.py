"""The common part of SS theorems 3, 4 and 5: conditions on two networks and finitely many points."""

import math
from collections.abc import Callable, Iterable
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
from relulab.subjects.specialization.tools.groups import one_network, two_layer
from relulab.subjects.specialization.tools.lowest_gradient import lowest_gradient
from relulab.subjects.specialization.tools.nodes import Nodes, lowest, regular, regularized
from relulab.subjects.specialization.tools.observed_points import Observed, ObservedPoints


class Setting(NamedTuple):
    """The differences between theorems 3, 4 and 5."""

    gamma: float
    """γ of the theorem"""
    step: float
    """distance of the augmented points, in units of ε'"""
    aware: bool
    """whether points are moved along w̃*_j (theorem 4) instead of all axes (theorems 3 and 5)"""
    everywhere: bool = False
    """whether points beside boundaries of upper layers that are aligned with j are kept, as theorem 5 is printed"""


class Pair(NamedTuple):
    """Teacher and student, their hidden nodes, and the points. The nodes of the teacher are regular."""

    teacher: MLP
    student: MLP
    star: Nodes
    nodes: Nodes
    x: Float[Tensor, "N d"]

    @classmethod
    def of(
        cls, teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"], any_depth: bool = False
    ) -> "Pair":  # fmt: skip
        """Check that the shapes agree and convert everything to float64. Points that occur several times count once.

        Args:
            teacher: One (leaky) ReLU network, with two layers unless ``any_depth``.
            student: Another one with the same inputs and outputs.
            x: Points, (N, d).
            any_depth: Whether the networks may have more than two layers.
        """
        single = one_network if any_depth else two_layer
        teacher, student, x = regularized(single(teacher)), single(student), points(x).double()
        if x.dim() != 2 or not x.shape[1] == teacher.widths[0] == student.widths[0]:
            raise UserError(
                f"points have shape {tuple(x.shape)}, but the teacher has {teacher.widths[0]} inputs and the student "
                f"{student.widths[0]}: expected (points, inputs) with the same number of inputs"
            )
        if teacher.widths[-1] != student.widths[-1]:
            raise UserError(
                f"the teacher has {teacher.widths[-1]} outputs and the student {student.widths[-1]}: they must agree"
            )
        return cls(teacher, student, lowest(teacher), lowest(student), x.unique(dim=0))

    @property
    def deep(self) -> bool:
        """Whether one of the networks has more than two layers, so that α_kj depends on the point."""
        return self.teacher.depth > 2 or self.student.depth > 2

    def alpha(self, j: int) -> Float[Tensor, " n"]:
        """|α_kj| of every student k of two layers, for teacher node j."""
        return (self.student.W[1].data[0] @ self.teacher.W[1].data[0, j]).abs()


Gradients = dict[float, tuple[float, float]]
"""‖g_1‖∞ and its rounding allowance by the width ε', for all teacher nodes"""


def specialized(
    pair: Pair, epsilon: float, node: int | None, setting: Setting, loose: bool, known: Gradients | None = None
) -> Finding:  # fmt: skip
    """Check theorem 3, 4 or 5 for one teacher node.

    Args:
        pair: The networks and the points.
        epsilon: The largest alignment error ε allowed, above 0.
        node: Index of the teacher node, from 0. None takes the strongest node.
        setting: The setting of the theorem.
        loose: Whether the gradient is bounded by |α_kj| ε only, for the negative control.
        known: Gradients of other teacher nodes, which are the same unless the augmentation is teacher-aware.
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
    known = {} if known is None or setting.aware else known
    best, gradient = _best(pair, _tries(pair, epsilon, j, K, setting, loose), j, setting, known)
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
    boundaries: int
    """K, or Q for deeper networks"""
    left_out: int


def _conditions(
    pair: Pair, j: int, best: _Try, epsilon: float, gradient: tuple[float, float], loose: bool
) -> tuple[Check, ...]:
    star = pair.star
    gap = alignment(Nodes(star.w[j : j + 1], star.b[j : j + 1]), star, either_side=True)[0]
    gap[j] = torch.inf
    bound = ("" if best.active else "c ") + ("(1 − c*) " if pair.teacher.slope else "")
    bound += "min |α_kj|" if pair.deep else "|α_kj|"
    bound += " ε" if loose else " ε'/5"
    g, allowance = gradient
    state = "active" if best.active else "not active"
    band = f"within ε' = {best.width:.2g} of the boundary of node {j}, where student {best.k} is {state}"
    detail = f"{best.count:,} points; at least {math.ceil(best.needed):,} are needed"
    if pair.deep:
        detail += f" for Q = {best.boundaries:,}"
        if best.left_out:
            detail += f"; {best.left_out:,} others are beside a boundary of an upper layer that is ε-aligned with it"
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
            detail=f"|α_kj| {'is at least' if pair.deep and best.alpha else '='} {best.alpha:.3g}",
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
    distance, active = (x @ w + b).abs(), x @ nodes.w.T + nodes.b > 0
    observed = _observed(pair, j, epsilon, setting)
    slope, each, tries = pair.student.slope, (setting.gamma + 3) * (d + 1), []
    for width in (epsilon * 10 ** (-i / 4) for i in range(13)):
        band = distance <= width
        for k, on in product(range(len(nodes.w)), (True, False) if slope else (True,)):
            bend = (1.0 if on else slope) * (1 - pair.teacher.slope)
            for chosen in observed(band & (active[:, k] == on), k, setting.gamma * width, each * K):
                used, Q = x[chosen.inside], K + len(chosen.planes.b)
                needed = (setting.gamma + 3) * Q * (d + 1)
                enough = len(used) >= needed
                normals = torch.cat([others, chosen.planes.w])
                M = band_constant(used, w, float(b), normals, width, Q, setting.gamma) if enough else math.inf
                allowed = bend * chosen.alpha * (epsilon if loose else width / 5)
                margin = min(len(used) / needed, epsilon / (M * width))
                # a choice with too few points has no M: it is ranked below all others, by its number of points
                margin = margin if enough else len(used) / needed * 1e-9
                margin = margin if chosen.alpha > 0 else -1.0
                counts = (Q, chosen.left_out)
                tries.append(_Try(k, on, width, chosen.alpha, allowed, len(used), needed, M, margin, *counts))
    return tries


def _observed(pair: Pair, j: int, epsilon: float, setting: Setting) -> Callable[..., Iterable[Observed]]:
    """A function that selects sets of points at which student k observes j. For two layers, it takes all of them."""
    if pair.deep:
        node = pair.star.w[j], float(pair.star.b[j])
        return ObservedPoints(pair.teacher, pair.student, pair.x, node, j, epsilon, setting.everywhere).sets
    alpha, none = pair.alpha(j), Nodes(pair.x.new_zeros(0, pair.x.shape[1]), pair.x.new_zeros(0))
    return lambda inside, k, reach, enough: (Observed(inside, float(alpha[k]), none, 0),)


def _best(
    pair: Pair, tries: list[_Try], j: int, setting: Setting, known: Gradients
) -> tuple[_Try, tuple[float, float]]:  # fmt: skip
    """The choice that satisfies the conditions best, and its largest gradient with the rounding allowance.

    The gradient is the expensive part, so it is computed only for choices that satisfy (a) and (b), if there are any.
    """
    good = [t for t in tries if t.margin >= 1] or [max(tries, key=lambda t: t.margin)]
    if good[0].count < good[0].needed:
        return good[0], (math.nan, 0.0)
    for width in {t.width for t in good} - known.keys():
        known[width] = _gradient(pair, j, width, setting)
    best = max(good, key=lambda t: t.allowed / max(known[t.width][0], 1e-300))
    return best, known[best.width]


def _gradient(pair: Pair, j: int, width: float, setting: Setting) -> tuple[float, float]:
    """‖g_1‖∞ over the points and their augmentation of definition 7, and its rounding allowance."""
    star, x = pair.star, pair.x
    near = x[(x @ star.w[j] + star.b[j]).abs() <= width] if setting.aware else x
    along = star.w[j : j + 1] if setting.aware else torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    step = setting.step * width * along
    parts = [
        lowest_gradient(pair.teacher, pair.student, part) for part in (x, *(near + e for s in step for e in (s, -s)))
    ]
    g = max((float(g.abs().max()) for g, _ in parts if g.numel()), default=0.0)
    return g, max((float(a.max()) for _, a in parts if a.numel()), default=0.0)
