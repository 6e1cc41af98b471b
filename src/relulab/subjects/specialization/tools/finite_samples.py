"""What SS theorems 3 and 4 share: the conditions of both on a pair of networks and finitely many points."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.lab.theorem import Check, Finding
from relulab.nets.hooks import points
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.tools.band_constants import band_constant
from relulab.subjects.specialization.tools.creases import gradient_at
from relulab.subjects.specialization.tools.groups import two_layer
from relulab.subjects.specialization.tools.nodes import Nodes, lowest, regularized


class Setting(NamedTuple):
    """What differs between theorems 3 and 4."""

    gamma: float
    step: float
    """length of the augmentation, in ε'"""
    aware: bool


class Pair(NamedTuple):
    """Two networks with the teacher's nodes regular, and the points."""

    teacher: MLP
    student: MLP
    star: Nodes
    mine: Nodes
    x: Float[Tensor, "N d"]

    @classmethod
    def of(cls, teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"]) -> "Pair":
        """Checks that they go together.

        Args:
            teacher: a two-layer network.
            student: another with the same inputs and outputs.
            x: points.
        """
        teacher, student, x = regularized(two_layer(teacher)), two_layer(student), points(x).double()
        if x.dim() != 2 or not x.shape[1] == teacher.widths[0] == student.widths[0]:
            raise UserError(
                f"points of shape {tuple(x.shape)} for networks of {teacher.widths[0]} and {student.widths[0]} inputs"
            )
        if teacher.widths[-1] != student.widths[-1]:
            raise UserError(f"{teacher.widths[-1]} and {student.widths[-1]} outputs: they must agree")
        return cls(teacher, student, lowest(teacher), lowest(student), x)

    def alpha(self, j: int) -> Float[Tensor, " n"]:
        """|α_kj| of every student k."""
        return (self.student.W[1].data[0] @ self.teacher.W[1].data[0, j]).abs()


def specialized(found: Pair, epsilon: float, node: int | None, setting: Setting, loose: bool) -> Finding:
    """What theorems 3 and 4 say of one teacher node.

    Args:
        found: the networks and the points.
        epsilon: the alignment that is asked for.
        node: the teacher node, the strongest unless told.
        setting: that of theorem 3 or 4.
        loose: whether |α_kj| ε bounds the gradient, which is a false variant.
    """
    star, mine, x, d = found.star, found.mine, found.x, found.x.shape[1]
    if not epsilon > 0:
        raise UserError(f"epsilon {epsilon}: the alignment that is asked for, above 0")
    if len(x) < d + 1:
        raise UserError(f"{len(x)} points in {d} dimensions: at least {d + 1} are needed to tell hyperplanes apart")
    j = int(found.teacher.W[1].data[0].norm(dim=1).argmax()) if node is None else node
    if not 0 <= j < len(star.w):
        raise UserError(f"teacher node {j}: the teacher has nodes 0 … {len(star.w) - 1}")
    K = len(star.w) + len(mine.w)
    best = max(_tries(found, epsilon, j, K, setting, loose), key=lambda t: t.margin)
    gap = alignment(Nodes(star.w[j : j + 1], star.b[j : j + 1]), star, either_side=True)[0]
    gap[j] = torch.inf
    above = math.nextafter(epsilon, math.inf)
    allowed = best.alpha * epsilon if loose else best.alpha * best.width / 5
    g, allowance = _gradient(found, j, best.width, setting)
    conditions = (
        Check(f"|α_kj| of student {best.k}, above 0", best.alpha, ">=", float(torch.finfo(x.dtype).tiny)),
        Check(
            f"(a) points within ε' = {best.width:.2g} of the boundary of node {j} where student {best.k} is active",
            best.count,
            ">=",
            best.wanted,
        ),
        Check("(b) max(M₁, M₂) ε', at most ε", best.M * best.width, "<=", epsilon),
        Check("(c) distance of the nearest other teacher node, above ε", float(gap.min()), ">=", above),
        Check("(d) largest |g_1| on the points and their augmentation", g, "<=", allowed, allowance),
    )
    if math.isinf(best.M):  # too few points: there is nothing that (b) and (d) could be about
        return Finding(conditions[:2], ())
    nearest = alignment(Nodes(star.w[j : j + 1], star.b[j : j + 1]), mine, either_side=True).min()
    return Finding(conditions, (Check(f"alignment error of teacher node {j}", float(nearest), "<=", epsilon),))


class _Try(NamedTuple):
    """One choice of observer and ε' with what it asks for."""

    k: int
    width: float
    alpha: float
    count: int
    wanted: float
    M: float
    margin: float


def _tries(found: Pair, epsilon: float, j: int, K: int, setting: Setting, loose: bool) -> list[_Try]:
    mine, x, d = found.mine, found.x, found.x.shape[1]
    w, b = found.star.w[j], found.star.b[j]
    at, active, alpha = (x @ w + b).abs(), x @ mine.w.T + mine.b > 0, found.alpha(j)
    wanted = (setting.gamma + 3) * K * (d + 1)
    tries = []
    for width in (epsilon * 10 ** (-i / 4) for i in range(13)):
        band = at <= width
        g, _ = _gradient(found, j, width, setting)
        for k in range(len(mine.w)):
            some = x[band & active[:, k]]
            M = band_constant(some, w, float(b), K, setting.gamma) if len(some) >= wanted else math.inf
            allowed = float(alpha[k]) * (epsilon if loose else width / 5)
            bounds = [len(some) / wanted, allowed / max(g, 1e-300)]
            if not math.isnan(M):  # in many dimensions M is not known, and the rest must choose
                bounds.append(epsilon / (M * width))
            # a choice without enough points has no M either: it counts by how far it is from having them
            margin = min(bounds) if not math.isinf(M) else min(bounds[0], 1.0) * 1e-9
            tries.append(_Try(k, width, float(alpha[k]), len(some), wanted, M, margin if alpha[k] > 0 else -1.0))
    return tries


def _gradient(found: Pair, j: int, width: float, setting: Setting) -> tuple[float, float]:
    """‖g_1‖∞ over the points and their augmentation of definition 7, with its rounding allowance."""
    star, x = found.star, found.x
    near = x[(x @ star.w[j] + star.b[j]).abs() <= width] if setting.aware else x
    along = star.w[j : j + 1] if setting.aware else torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    step = setting.step * width * along
    parts = [
        gradient_at(found.teacher, found.student, part) for part in (x, *(near + e for s in step for e in (s, -s)))
    ]
    g = max((float(g.abs().max()) for g, _ in parts if g.numel()), default=0.0)
    return g, max((float(a.max()) for _, a in parts if a.numel()), default=0.0)
