r"""SS.T3, specialisation from finitely many points (SS theorem 3; theorem 6 and lemmas 6 and 7 in section D.1).

Teacher node j, a student k that observes it, K = m + n nodes in all, γ = 2√d. Take ε' > 0 and let D' be the points of D
in the band |w*_jᵀx| ≤ ε' where k is active. If

    (a) D' has at least (γ + 3) K (d + 1) points,
    (b) max(M₁, M₂) ε' ≤ ε, with M₁ = (1 + γ)/t₁ and M₂ = 1 + γ + M₁ (|b_j| + t₂),
    (c) no other teacher node is ε-aligned with j,
    (d) ‖g_1(x)‖∞ ≤ |α_kj| ε'/5 at all points of D and at x ± 2√d ε' ẽ_u for every axis u,

then some student's hyperplane is ε-aligned with that of j. Here t₁ is so small that no band of half-width t₁ across D',
of a normal at right angles to w*_j, holds more than a share (1 + γ)/((3 + γ)K) of D' and d + 1 points; t₂ so large that
|ũᵀx| > t₂ for no more than that share, for any such normal.

The paper hides these in constants: ε' = ε/(c K^{3/2} √d), N = Θ(K^{5/2} d² /ε κ). Here every number is counted on the
points at hand, so that nothing is left open but the direction over which t₁ is the worst: that is bounded by a net in
up to three dimensions, and beyond them the finding is inconclusive. With η at the scale t₁ the two M are those of
eq. 41.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.nets.hooks import points
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.tools.creases import gradient_at
from relulab.subjects.specialization.tools.groups import two_layer
from relulab.subjects.specialization.tools.nodes import Nodes, lowest, regularised

ANGLES = 720  # of the net in three dimensions


class Setting(NamedTuple):
    """What differs between theorems 3 and 4."""

    gamma: float
    step: float
    """length of the augmentation, in ε'"""
    aware: bool


def polynomial_samples(
    teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"], epsilon: float, *, node: int | None = None,
    loose: bool = False
) -> Finding:  # fmt: skip
    """Checks theorem 3 for one teacher node, the strongest unless told, with the observer and ε' that fit best.

    ``loose`` takes |α_kj| ε for the bound of the gradient: a false variant.
    """
    root = math.sqrt(points(x).shape[-1])
    return specialised(Pair.of(teacher, student, x), epsilon, node, Setting(2 * root, 2 * root, False), loose)


class Pair(NamedTuple):
    """Two networks with the teacher's nodes regular, and the points."""

    teacher: MLP
    student: MLP
    star: Nodes
    mine: Nodes
    x: Float[Tensor, "N d"]

    @classmethod
    def of(cls, teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"]) -> "Pair":
        teacher, student, x = regularised(two_layer(teacher)), two_layer(student), points(x).double()
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


def specialised(found: Pair, epsilon: float, node: int | None, setting: Setting, loose: bool) -> Finding:
    """What theorems 3 and 4 say of one teacher node."""
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
            M = _constant(some, w, float(b), K, setting.gamma) if len(some) >= wanted else math.inf
            allowed = float(alpha[k]) * (epsilon if loose else width / 5)
            bounds = [len(some) / wanted, allowed / max(g, 1e-300)]
            if not math.isnan(M):  # in many dimensions M is not known, and the rest must choose
                bounds.append(epsilon / (M * width))
            # a choice without enough points has no M either: it counts by how far it is from having them
            margin = min(bounds) if not math.isinf(M) else min(bounds[0], 1.0) * 1e-9
            tries.append(_Try(k, width, float(alpha[k]), len(some), wanted, M, margin if alpha[k] > 0 else -1.0))
    return tries


def _constant(x: Float[Tensor, "N d"], w: Float[Tensor, " d"], b: float, K: int, gamma: float) -> float:
    """max(M₁, M₂) on the points of a band; NaN where t₁ cannot be bounded."""
    share = (1 + gamma) / ((3 + gamma) * K)
    # an orthonormal basis of the directions at right angles to w
    flat = x @ torch.linalg.svd(w[None], full_matrices=True).Vh[1:].T
    if not flat.shape[1]:
        return 1 + gamma  # on a line there is no other normal
    t_1 = _thinnest(flat, int(share * len(x)) + x.shape[1] + 1)
    eigenvalue = float(torch.linalg.eigvalsh(flat.T @ flat / len(x))[-1])
    t_2 = min(float(flat.norm(dim=1).max()), math.sqrt(eigenvalue / share))
    M_1 = (1 + gamma) / t_1 if t_1 > 0 else math.inf
    return max(M_1, 1 + gamma + M_1 * (abs(b) + t_2)) if not math.isnan(t_1) else math.nan


def _thinnest(flat: Float[Tensor, "N r"], most: int) -> float:
    """A half-width of which no band holds more than so many points, whatever its normal; NaN beyond the plane."""
    N, r = flat.shape
    if most >= N:
        return math.inf
    if r == 1:
        normals, widened = flat.new_ones(1, 1), 0.0
    elif r == 2:
        phi = torch.arange(ANGLES, dtype=flat.dtype) * (math.pi / ANGLES)
        normals = torch.stack([phi.cos(), phi.sin()], 1)
        widened = 2 * math.sin(math.pi / (4 * ANGLES)) * float((flat - flat.mean(0)).norm(dim=1).max())
    else:
        return math.nan
    t = (flat @ normals.T).sort(0).values
    return float((t[most:] - t[:-most]).min()) / 2 * (1 - 1e-12) - widened


def _gradient(found: Pair, j: int, width: float, setting: Setting) -> tuple[float, float]:
    """‖g_1‖∞ over the points and their augmentation of definition 7, with its rounding allowance."""
    star, x = found.star, found.x
    near = x[(x @ star.w[j] + star.b[j]).abs() <= width] if setting.aware else x
    along = star.w[j : j + 1] if setting.aware else torch.eye(x.shape[1], dtype=x.dtype)
    step = setting.step * width * along
    parts = [
        gradient_at(found.teacher, found.student, part) for part in (x, *(near + e for s in step for e in (s, -s)))
    ]
    g = max((float(g.abs().max()) for g, _ in parts if g.numel()), default=0.0)
    return g, max((float(a.max()) for _, a in parts if a.numel()), default=0.0)


def of_networks(
    teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"], *, epsilon: float = 0.1, node: int | None = None
) -> Finding:
    return polynomial_samples(teacher, student, x, epsilon, node=node)


def pair(shift: float, n: int = 40_000) -> tuple[MLP, MLP, Float[Tensor, "N 2"]]:
    """A teacher of two nodes in the plane; a student whose nodes are shifted from them to both sides; points.

    Each teacher node is the mean of two students with biases off by ± shift: outputs differ by half of it at most.
    """
    w, b = torch.eye(2, dtype=torch.float64), torch.tensor([0.0, 0.25], dtype=torch.float64)
    v = torch.tensor([[1.0, 0.5], [0.5, 1.0]], dtype=torch.float64)
    teacher, student = MLP((2, 2, 2), dtype=torch.float64), MLP((2, 4, 2), dtype=torch.float64)
    teacher.W[0].data[0], teacher.b[0].data[0, 0], teacher.W[1].data[0] = w.T, b, v
    student.W[0].data[0], student.b[0].data[0, 0] = torch.cat([w, w]).T, torch.cat([b + shift, b - shift])
    student.W[1].data[0] = torch.cat([v, v]) / 2
    x = 2 * torch.rand(n, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64) - 1
    return teacher, student, x


THEOREM = Theorem(
    id="SS.T3",
    title="Specialisation from finitely many points",
    statement="With enough points near the boundary of an observed teacher node and a gradient of at most "
    "|α_kj| ε'/5 on them and their teacher-agnostic augmentation, a student is ε-aligned with it.",
    source="SS theorem 3; theorem 6 and lemmas 6 and 7 in section D.1",
    ids=("SS.T6", "SS.L6", "SS.L7"),
    check=polynomial_samples,
    of_networks=of_networks,
    demonstrations=(
        Demonstration(
            "40,000 points in a square, students off by 1e-4",
            Verdict.HOLDS,
            lambda: polynomial_samples(*pair(1e-4), 0.5),
        ),
        Demonstration("500 points: too few", Verdict.NOT_APPLICABLE, lambda: polynomial_samples(*pair(1e-4, 500), 0.5)),
        Demonstration("students off by 0.1", Verdict.NOT_APPLICABLE, lambda: polynomial_samples(*pair(0.1), 0.5)),
        Demonstration(
            "negative control: a gradient of at most |α_kj| ε, students off by 1.1 ε",
            Verdict.REFUTED,
            lambda: polynomial_samples(*pair(0.55), 0.5, loose=True),
        ),
    ),
)
