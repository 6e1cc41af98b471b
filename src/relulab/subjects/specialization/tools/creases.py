"""Creases: the hyperplanes along which the difference of a teacher and a student bends (SS appendix C)."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.nets.mlp import MLP, absolute
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.instruments.observers import sight
from relulab.subjects.specialization.tools.box import Box
from relulab.subjects.specialization.tools.groups import led, two_layer
from relulab.subjects.specialization.tools.nodes import Nodes, lowest, regular

EPS = torch.finfo(torch.float64).eps


@dataclass(frozen=True)
class Creases:
    """The hyperplanes of both networks, each once, whichever side its nodes look to, seen from a box.

    Inputs are counted from the middle of ``box`` in units of its size, so that angles stay as they are and rounding
    does not depend on where the box lies. On crease s, with regular node (u_s, b_s), the student bends by ``bend`` =
    Σ v_k‖w_k‖ over its nodes there and the teacher by ``bend_star``, since a σ(z) + a'σ(−z) =
    (a + a')/2 |z| + (a − a')/2 z and all but |z| is linear. ``of`` and ``of_star`` say on which crease a node lies
    (−1: it has no weights), ``side`` and ``side_star`` to which side it looks, ±1. Hyperplanes closer than ``same``,
    which is what rounding leaves of their weights, are one.
    """

    teacher: MLP
    student: MLP
    box: Box
    planes: Nodes
    of_star: Int[Tensor, " m"]
    of: Int[Tensor, " n"]
    side_star: Int[Tensor, " m"]
    side: Int[Tensor, " n"]
    bend_star: Float[Tensor, "s C"]
    bend: Float[Tensor, "s C"]
    same: float

    @property
    def v(self) -> Float[Tensor, "n C"]:
        return self.student.W[1].data[0]

    @property
    def v_star(self) -> Float[Tensor, "m C"]:
        """v*_j of the teacher with regular nodes."""
        return self.teacher.W[1].data[0] * lowest(self.teacher).w.norm(dim=1, keepdim=True)

    @property
    def opposite(self) -> Bool[Tensor, " s"]:
        """Creases with students on both sides, which may add a linear function though their bends cancel."""
        counts = [torch.bincount(self.of[(self.of >= 0) & (self.side == s)], minlength=len(self.bend)) for s in (1, -1)]
        return (counts[0] > 0) & (counts[1] > 0)


def creases(teacher: nn.Module, student: nn.Module, box: Box) -> Creases:
    """The creases of a pair of two-layer networks with the same inputs and outputs.

    Args:
        teacher: One two-layer ReLU network.
        student: Another with the same inputs and outputs.
        box: The box from which they are seen.

    >>> net = MLP((2, 3, 1), dtype=torch.float64)
    >>> net.W[0].data[0] = torch.tensor([[1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    >>> creases(net, net, Box.around(2)).of.tolist()
    [0, 0, 1]
    """
    nets = two_layer(teacher), two_layer(student)
    if (nets[0].widths[0], nets[0].widths[-1]) != (nets[1].widths[0], nets[1].widths[-1]):
        raise UserError(
            f"a teacher of widths {nets[0].widths} and a student of {nets[1].widths}: inputs and outputs must agree"
        )
    box = box.fits(nets[0].widths[0])
    rounded = torch.cat([_rounding(lowest(net), box) for net in nets])
    teacher, student = (_framed(net, box) for net in nets)
    nodes = Nodes(*(torch.cat(both) for both in zip(lowest(teacher), lowest(student), strict=True)))
    dead = nodes.w.abs().amax(1) == 0
    close = alignment(nodes, nodes, either_side=True) <= rounded[:, None] + rounded
    # the teacher's nodes first, so that its hyperplanes stand for those of students that lie on them
    of, leaders = led(close, torch.arange(len(dead), device=dead.device), dead)
    u = regular(nodes)
    planes = Nodes(u.w[leaders], u.b[leaders])
    side = torch.where((u.w * planes.w[of.clamp(min=0)]).sum(1) < 0, -1, 1) if len(leaders) else torch.ones_like(of)
    m, bends = teacher.widths[1], []
    for net, part in ((teacher, slice(0, m)), (student, slice(m, None))):
        a = net.W[1].data[0] * nodes.w[part].norm(dim=1, keepdim=True)
        into = torch.where(dead[part], len(leaders), of[part])
        bends.append(a.new_zeros(len(leaders) + 1, a.shape[1]).index_add_(0, into, a)[:-1])
    same = float(2 * rounded[~dead].max()) if len(leaders) else 0.0
    bend_star, bend = bends
    return Creases(teacher, student, box.framed, planes, of[:m], of[m:], side[:m], side[m:], bend_star, bend, same)


def _rounding(nodes: Nodes, box: Box) -> Float[Tensor, " n"]:
    """By how much rounding of its weights may move a regular node, in units of the box."""
    norm = nodes.w.norm(dim=1)
    size = nodes.w.abs() @ box.farthest + nodes.b.abs() + norm * box.size
    return 8 * (nodes.w.shape[1] + 4) * EPS * size / (norm * box.size).where(norm > 0, 1)


def _framed(net: MLP, box: Box) -> MLP:
    """The network as a function of (x − middle)/size."""
    net.b[0].data[0] += box.middle @ net.W[0].data[0]
    net.W[0].data[0] *= box.size
    return net


def seen(found: Creases) -> Bool[Tensor, "s n"]:
    """Whether student k is active somewhere on crease s within the box (definition 4), beyond rounding."""
    mine = regular(lowest(found.student))
    low, high = found.box.reach(found.planes)
    cut = (low < -found.same) & (high > found.same)
    sees = (sight(found.planes, mine, *found.box) > found.same) & cut[:, None]
    # on its own hyperplane a node is 0
    own = found.of.clamp(min=0) == torch.arange(len(cut), device=cut.device)[:, None]
    return sees & ~(own & (found.of >= 0))


def _roundings(found: Creases) -> int:
    return 4 * (sum(found.teacher.widths) + sum(found.student.widths))


@torch.no_grad()
def largest_gradient(found: Creases) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """A bound on |g_k(x)| = |z_k v_kᵀ(f* − f)| over the whole box for every student k, and its rounding allowance.

    Where k is active, which is a convex part of the box, v_kᵀ(f* − f) is a linear function plus, for every crease s
    that is seen there, a bend v_kᵀ(bend*_s − bend_s) away from the side of one point. So it vanishes everywhere if
    and only if that linear function and all these bends do; the bound adds up their largest values on the box.
    """
    star, mine = lowest(found.teacher), lowest(found.student)
    start, alive = _inside(mine, found.box)
    # on which side of each crease the start lies is decided once, so that all nodes there agree
    above = torch.where(start @ found.planes.w.T + found.planes.b >= 0, 1, -1)
    c = found.teacher.b[1].data[0, 0] - found.student.b[1].data[0, 0]
    slope, level = torch.zeros_like(start), found.v @ c
    for net, nodes, of, side, sign in (
        (found.teacher, star, found.of_star, found.side_star, 1),
        (found.student, mine, found.of, found.side, -1),
    ):
        gate = above[:, of.clamp(min=0)] == side if len(found.bend) else above.new_zeros(len(start), len(of))
        gate = torch.where(of >= 0, gate, nodes.b > 0)
        a = sign * (found.v @ net.W[1].data[0].T) * gate
        slope, level = slope + a @ nodes.w, level + a @ nodes.b
    linear = found.box.reach(Nodes(slope, level)).abs().amax(0)
    bends = (found.v @ (found.bend_star - found.bend).T).abs() * seen(found).T
    bound = linear + bends @ found.box.reach(found.planes).abs().amax(0)
    of_star, of_own = (absolute(net)(found.box.farthest[None])[0] for net in (found.teacher, found.student))
    size = of_star + of_own
    allowance = found.v.abs() @ size[0] * (_roundings(found) * EPS + 4 * found.same)
    return bound * alive, allowance


def _inside(nodes: Nodes, box: Box) -> tuple[Float[Tensor, "n d"], Bool[Tensor, " n"]]:
    """For every node a point within the box where it is active, and whether there is one."""
    corner = torch.where(nodes.w > 0, box.high, box.low)
    top, at = (nodes.w * corner).sum(1) + nodes.b, nodes.w @ box.middle + nodes.b
    # the middle, if that is active already, or else half the way from the corner to the node's boundary
    t = torch.where(at > 0, 1, 0.5 * top / (top - at).where(top > at, 1)).clamp(0, 1)
    return corner + t[:, None] * (box.middle - corner), top > 0


@torch.no_grad()
def gradient_at(
    teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"]
) -> tuple[Float[Tensor, "N n"], Float[Tensor, "N n"]]:
    """g_k(x) = z_k v_kᵀ(f* − f) of every student at points, in float64, and its rounding allowance."""
    teacher, student = two_layer(teacher), two_layer(student)
    if x.dim() != 2 or not x.shape[1] == teacher.widths[0] == student.widths[0]:
        raise UserError(
            f"points of shape {tuple(x.shape)} for networks of {teacher.widths[0]} and {student.widths[0]} inputs"
        )
    v = student.W[1].data[0]
    g = ((teacher(x)[0] - student(x)[0]) @ v.T) * (x @ student.W[0][0] + student.b[0][0] > 0)
    size = sum(absolute(net)(x.abs())[0] for net in (teacher, student)) @ v.abs().T
    return g, size * (4 * (sum(teacher.widths) + sum(student.widths)) * EPS)
