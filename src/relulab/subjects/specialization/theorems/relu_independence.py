r"""SS.L4 and SS.L3, local independence of ReLUs (SS lemmas 3 and 4, sections C.2 and C.3; S0 lemmas 2 and 3).

Consider K nodes σ(w_jᵀx + b_j), no two of them on the same hyperplane, and an open region R. If

    Σ_j c_j σ(w_jᵀx + b_j) + (linear function of x) = 0   on R,

then c_j = 0 for every node whose boundary meets R (lemma 4). Without the linear function and on the whole space, all
c_j are 0 (lemma 3). The check samples points and computes the null space of a matrix with one row per point and one
column per node. The null space contains all coefficients that give 0 at every sampled point.

As printed, lemma 4 only requires that no weight vector is a positive multiple of another. This is not enough, since
σ(z) − σ(−z) − z = 0 everywhere. The printed condition is the negative control.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.show.words import number
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.tools.box import Box
from relulab.subjects.specialization.tools.nodes import Nodes, apart, lowest, regular

TRIES = 32  # candidate points per boundary; the one farthest from all other boundaries is used
SAME = 1e-12  # hyperplanes with a smaller alignment error count as the same
ENTRIES = 50_000_000  # size limit of the sample matrix


def relu_independence(
    nodes: Nodes, box: Box | None = None, *, linear: bool = True, as_printed: bool = False, seed: int = 0
) -> Finding:
    """Check that no combination of the nodes (and, with ``linear``, of x and 1) vanishes on the box.

    Points are sampled in the whole box and near every boundary.

    Args:
        nodes: The nodes, for instance ``lowest(net)``, with weights (K, d) and biases (K,).
        box: The region R. None means the whole space, sampled in a cube that all boundaries meet.
        linear: Whether a linear function may be added, as in lemma 4. False, with ``box=None``, is lemma 3.
        as_printed: True treats nodes on the two sides of one hyperplane as distinct, as printed. This is the negative
            control.
        seed: Seed of the sample.

    >>> relu_independence(Nodes(torch.eye(2), torch.tensor([0.0, 0.25])), Box.around(2)).verdict.name
    'HOLDS'
    """
    nodes, d = Nodes(nodes.w.double(), nodes.b.double()), nodes.w.shape[1]
    box = Box.around(d, 4 * float(1 + regular(nodes).b.abs().max())) if box is None else box.fits(d)
    # coordinates relative to the center of the box, in units of its size
    u, box = regular(Nodes(nodes.w * box.size, nodes.b + nodes.w @ box.middle)), box.framed
    K = len(u.b)
    low, high = box.reach(u)
    visible = (low < 0) & (high > 0)
    if 4 * K * (d + 3) * (K + d + 1) > ENTRIES:
        raise UserError(f"the sample matrix for {K:,} nodes with {d:,} inputs is too large: use fewer nodes")
    alive = int((u.w.abs().amax(1) > 0).sum())
    distance = alignment(u, u, either_side=not as_printed).fill_diagonal_(torch.inf).min()
    conditions = _conditions(K, alive, float(distance), int(visible.sum()), as_printed)
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    x = _sample(u, visible, box, seed)
    F = (x @ u.w.T + u.b).clamp(min=0)
    c, error = _vanishing(torch.cat([F, x, torch.ones(len(x), 1, dtype=x.dtype)], 1) if linear else F)
    # the error grows if two hyperplanes nearly coincide, or if one cuts off only a tiny part of the box
    thin = min(float(distance), float(torch.minimum(-low, high)[visible].min()))
    error = max(error, 100 * len(x) * torch.finfo(x.dtype).eps / thin)
    says = "In every combination of the nodes that vanishes on the region, c_j = 0 for each of these nodes j"
    largest = float(c[:K][visible].max())
    detail = (
        f"the largest |c_j| of a combination that is 0 at {len(x):,} sampled points is {number(largest)}; up to "
        f"{number(error)} is rounding"
    )
    return Finding(conditions, (Check(says, largest, "==", 0.0, error, 0.01, detail),))


def _conditions(K: int, alive: int, distance: float, visible: int, as_printed: bool) -> tuple[Check, ...]:
    says = f"No two nodes {'are equal up to a positive factor' if as_printed else 'share a hyperplane'}"
    meets = "The boundary of at least one node meets the region"
    return (
        Check("All nodes have nonzero weights", alive, "==", K, detail=f"{alive:,} of {K:,} do"),
        Check(says, distance, ">=", SAME, detail=apart(distance, SAME)),
        Check(meets, visible, ">=", 1, detail=f"{visible:,} of {K:,} boundaries do"),
    )


def _sample(u: Nodes, visible: Bool[Tensor, " K"], box: Box, seed: int) -> Float[Tensor, "N d"]:
    """Points in the whole box and, as in the proof, in cubes around points of each boundary that no other one cuts."""
    generator = torch.Generator().manual_seed(int(seed))
    K, d = u.w.shape
    top, bottom = torch.where(u.w > 0, box.high, box.low), torch.where(u.w > 0, box.low, box.high)
    low, high = box.reach(u)
    y = box.draw(TRIES, generator)[:, None]
    value = (y * u.w).sum(-1) + u.b
    # move from y toward a corner on the other side, up to the boundary
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
    """The largest value of each coefficient over unit vectors c with F c = 0, and its error.

    The columns of F are scaled to length one. The error of a null vector is rounding divided by the smallest singular
    value that counts as nonzero.
    """
    norms = F.norm(dim=0)
    F = F / norms.where(norms > 0, 1)
    _, s, Vh = torch.linalg.svd(F, full_matrices=F.shape[0] < F.shape[1])
    rounding = max(F.shape) * torch.finfo(F.dtype).eps * float(s[0])
    rank = int((s > rounding).sum())
    return Vh[rank:].square().sum(0).sqrt(), rounding / float(s[rank - 1])


def of_networks(teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"]) -> Finding:
    """Check the nodes of both networks together, on the box spanned by the points.

    Args:
        teacher: One network of Linear and ReLU layers.
        student: Another one with the same inputs.
        x: Points, (N, d).
    """
    star, nodes = lowest(teacher), lowest(student)
    if star.w.shape[1] != nodes.w.shape[1]:
        raise UserError(f"the teacher has {star.w.shape[1]} inputs and the student {nodes.w.shape[1]}: they must agree")
    both = Nodes(*(torch.cat(part) for part in zip(star, nodes, strict=True)))
    alive = both.w.abs().amax(1) > 0  # nodes without weights are constants
    return relu_independence(Nodes(both.w[alive], both.b[alive]), Box.of(x))


def _nodes(K: int = 6, d: int = 3) -> Nodes:
    rng = stream(0, Role.DEMONSTRATION, 4)
    return Nodes(torch.from_numpy(rng.standard_normal((K, d))), torch.from_numpy(rng.standard_normal(K)) / 4)


def _with(nodes: Nodes, factor: float) -> Nodes:
    """The nodes and one more: the first node times a factor."""
    return Nodes(torch.cat([nodes.w, factor * nodes.w[:1]]), torch.cat([nodes.b, factor * nodes.b[:1]]))


THEOREM = Theorem(
    id="SS.L4",
    title="Local independence of ReLUs",
    statement="Consider nodes σ(w_jᵀx + b_j), no two of which share a hyperplane. If Σ_j c_j σ(w_jᵀx + b_j) plus a "
    "linear function of x vanishes on an open region, then c_j = 0 for every node j whose boundary w_jᵀx + b_j = 0 "
    "meets the region.",
    symbols={
        "σ(z)": "the ReLU, max(z, 0)",
        "x": "input, a vector in R^d",
        "d": "number of inputs",
        "j": "a node",
        "w_j": "weights of node j",
        "b_j": "bias of node j",
        "c_j": "coefficient of node j",
    },
    in_print="Lemma 4 only requires that no w_j is a positive multiple of another one. This is not enough: σ(z) − "
    "σ(−z) − z = 0 everywhere. Here no two nodes may share a hyperplane. The printed condition is the negative "
    "control.",
    source="SS lemmas 3 and 4, sections C.2 and C.3; S0 lemmas 2 and 3",
    ids=("SS.L3", "S0.L2", "S0.L3"),
    check=relu_independence,
    on={TeacherStudent: of_networks},
    demonstrations=(
        Demonstration(
            "Six nodes in R³ on a cube (lemma 4)", Verdict.HOLDS, lambda: relu_independence(_nodes(), Box.around(3))
        ),
        Demonstration(
            "The same nodes on the whole space, no linear function (lemma 3)",
            Verdict.HOLDS,
            lambda: relu_independence(_nodes(), linear=False),
        ),
        Demonstration(
            "A node and twice the same node",
            Verdict.NOT_APPLICABLE,
            lambda: relu_independence(_with(_nodes(), 2.0), Box.around(3)),
        ),
        Demonstration(
            "Negative control: the printed condition, with a node and its opposite",
            Verdict.REFUTED,
            lambda: relu_independence(_with(_nodes(), -1.0), Box.around(3), as_printed=True),
        ),
    ),
)
