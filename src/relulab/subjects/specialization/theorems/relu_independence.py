r"""SS.L4 and SS.L3, local independence of ReLUs (SS lemmas 3 and 4, sections C.2 and C.3; S0 lemmas 2 and 3).

Take K nodes σ(w_jᵀx + b_j), no two of them on one hyperplane, and an open region R. If

    Σ_j c_j σ(w_jᵀx + b_j) + (linear function of x) = 0   on R,

then c_j = 0 for every node whose boundary meets R (lemma 4). Without the linear function and on the whole space, all
c_j are 0 (lemma 3). It is checked by rank: the coefficients that give 0 at all of a sample of points are the null space
of a matrix with a column a node.

As printed, lemma 4 only asks that no weight be a positive multiple of another. That is too little: σ(z) − σ(−z) − z = 0
everywhere. The printed condition is the negative control.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.tools.box import Box
from relulab.subjects.specialization.tools.nodes import Nodes, lowest, regular

TRIES = 32  # points of a boundary of which the one farthest from all others is taken
SAME = 1e-12  # distance below which two hyperplanes count as one
ENTRIES = 50_000_000  # of the largest matrix whose rank is asked for


def relu_independence(
    nodes: Nodes, box: Box | None = None, *, linear: bool = True, as_printed: bool = False, seed: int = 0
) -> Finding:
    """Checks that no combination of the nodes (and, with ``linear``, of x and 1) vanishes on the box.

    The box is sampled all over and about every boundary.

    Args:
        nodes: The nodes, with weights (K, d) and biases (K,).
        box: The region R. None is the whole space, sampled where all boundaries are.
        linear: Whether a linear function may be added, as in lemma 4; without it, on the whole space, it is lemma 3.
        as_printed: A false variant of the statement, for the negative control: nodes on two sides of one hyperplane
            count as distinct.
        seed: Seed of the sample.

    >>> relu_independence(Nodes(torch.eye(2), torch.tensor([0.0, 0.25])), Box.around(2)).verdict.name
    'HOLDS'
    """
    nodes, d = Nodes(nodes.w.double(), nodes.b.double()), nodes.w.shape[1]
    box = Box.around(d, 4 * float(1 + regular(nodes).b.abs().max())) if box is None else box.fits(d)
    # from the middle of the box in units of its size
    u, box = regular(Nodes(nodes.w * box.size, nodes.b + nodes.w @ box.middle)), box.framed
    K = len(u.b)
    low, high = box.reach(u)
    visible = (low < 0) & (high > 0)
    if 4 * K * (d + 3) * (K + d + 1) > ENTRIES:
        raise UserError(f"{K} nodes of {d} inputs need a sample too large for its rank to be found: take fewer nodes")
    alive = int((u.w.abs().amax(1) > 0).sum())
    distance = alignment(u, u, either_side=not as_printed).fill_diagonal_(torch.inf).min()
    says = "distance of the two nearest " + ("nodes" if as_printed else "hyperplanes")
    conditions = (
        Check("nodes with weights, all of them", alive, "==", K),
        Check(says, float(distance), ">=", SAME),
        Check("nodes whose boundary meets the region, at least one", int(visible.sum()), ">=", 1),
    )
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    x = _sample(u, visible, box, seed)
    F = (x @ u.w.T + u.b).clamp(min=0)
    c, error = _vanishing(torch.cat([F, x, torch.ones(len(x), 1, dtype=x.dtype)], 1) if linear else F)
    # hyperplanes that nearly coincide, or that hardly cut the box, cannot be told from ones that do and do not
    thin = min(float(distance), float(torch.minimum(-low, high)[visible].min()))
    error = max(error, 100 * len(x) * torch.finfo(x.dtype).eps / thin)
    says = f"largest |c_j| of a node whose boundary is met, in a combination that is 0 at {len(x):,} points"
    return Finding(conditions, (Check(says, float(c[:K][visible].max()), "==", 0.0, error, 0.01),))


def _sample(u: Nodes, visible: Bool[Tensor, " K"], box: Box, seed: int) -> Float[Tensor, "N d"]:
    """Points all over the box and, as in the proof, in a cube about a point of each boundary that no other one cuts."""
    generator = torch.Generator().manual_seed(seed)
    K, d = u.w.shape
    top, bottom = torch.where(u.w > 0, box.high, box.low), torch.where(u.w > 0, box.low, box.high)
    low, high = box.reach(u)
    y = box.draw(TRIES, generator)[:, None]
    value = (y * u.w).sum(-1) + u.b
    # from a point y toward the corner of the other side, up to the boundary
    corner, end = torch.where((value < 0)[..., None], top, bottom), torch.where(value < 0, high, low)
    at = (y + (value / (value - end).where(value != end, 1))[..., None] * (corner - y))[:, visible]
    others = (at @ u.w.T + u.b).abs() / math.sqrt(d)
    others[:, torch.arange(at.shape[1]), visible.nonzero()[:, 0]] = torch.inf
    room = torch.cat([at - box.low, box.high - at, others], -1).amin(-1)
    room, best = room.max(0)
    at = at[best, torch.arange(at.shape[1])]
    around = Box.around(d).draw(len(at) * 4 * (d + 2), generator).reshape(len(at), -1, d)
    near = (at[:, None] + room.clamp(min=0)[:, None, None] * around).flatten(0, 1)
    return torch.cat([near, box.draw(4 * (K + d + 1), generator)])


def _vanishing(F: Float[Tensor, "N c"]) -> tuple[Float[Tensor, " c"], float]:
    """The largest each coefficient gets in unit vectors c with F c = 0, columns of F scaled to length one; the error.

    A null vector is known up to rounding over the gap that separates the singular values of rounding size.
    """
    norms = F.norm(dim=0)
    F = F / norms.where(norms > 0, 1)
    _, s, Vh = torch.linalg.svd(F, full_matrices=F.shape[0] < F.shape[1])
    rounding = max(F.shape) * torch.finfo(F.dtype).eps * float(s[0])
    rank = int((s > rounding).sum())
    return Vh[rank:].square().sum(0).sqrt(), rounding / float(s[rank - 1])


def of_networks(teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"]) -> Finding:
    """The nodes of both networks together, on the box that the points span."""
    star, mine = lowest(teacher), lowest(student)
    if star.w.shape[1] != mine.w.shape[1]:
        raise UserError(f"a teacher of {star.w.shape[1]} inputs and a student of {mine.w.shape[1]}: they must agree")
    both = Nodes(*(torch.cat(part) for part in zip(star, mine, strict=True)))
    alive = both.w.abs().amax(1) > 0  # the others are constants
    return relu_independence(Nodes(both.w[alive], both.b[alive]), Box.of(x))


def _nodes(K: int = 6, d: int = 3) -> Nodes:
    rng = stream(0, Role.DEMONSTRATION, 4)
    return Nodes(torch.from_numpy(rng.standard_normal((K, d))), torch.from_numpy(rng.standard_normal(K)) / 4)


def _with(nodes: Nodes, factor: float) -> Nodes:
    """One more node: the first one times a factor."""
    return Nodes(torch.cat([nodes.w, factor * nodes.w[:1]]), torch.cat([nodes.b, factor * nodes.b[:1]]))


THEOREM = Theorem(
    id="SS.L4",
    title="Local independence of ReLUs",
    statement="If a combination of ReLUs of distinct hyperplanes and a linear function vanishes on an open region, the "
    "coefficient of every node whose boundary meets the region is 0.",
    source="SS lemmas 3 and 4, sections C.2 and C.3; S0 lemmas 2 and 3",
    ids=("SS.L3", "S0.L2", "S0.L3"),
    check=relu_independence,
    on={TeacherStudent: of_networks},
    demonstrations=(
        Demonstration(
            "six nodes in R³ on a cube (lemma 4)", Verdict.HOLDS, lambda: relu_independence(_nodes(), Box.around(3))
        ),
        Demonstration(
            "the same on the whole space, no linear function (lemma 3)",
            Verdict.HOLDS,
            lambda: relu_independence(_nodes(), linear=False),
        ),
        Demonstration(
            "a node and its double",
            Verdict.NOT_APPLICABLE,
            lambda: relu_independence(_with(_nodes(), 2.0), Box.around(3)),
        ),
        Demonstration(
            "negative control: as printed, with a node and its opposite",
            Verdict.REFUTED,
            lambda: relu_independence(_with(_nodes(), -1.0), Box.around(3), as_printed=True),
        ),
    ),
)
