"""Creases: the hyperplanes along which the difference of a teacher and a student bends (SS appendix C)."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from relulab.errors import UserError
from relulab.nets.mlp import MLP, absolute
from relulab.specialization.alignment import alignment
from relulab.specialization.box import Box
from relulab.specialization.groups import led, two_layer
from relulab.specialization.nodes import Nodes, lowest, regular
from relulab.specialization.observers import sight

SAME = 1e-12  # alignment up to which two hyperplanes are one: what regularising leaves of float64


@dataclass(frozen=True)
class Creases:
    """The hyperplanes of both networks, each once, whichever side its nodes look to.

    On crease s, with regular node (u_s, b_s), the student bends by ``bend`` = Σ v_k‖w_k‖ over its nodes there and the
    teacher by ``bend_star``, since a σ(z) + a'σ(−z) = (a + a')/2 |z| + (a − a')/2 z and all but |z| is linear.
    ``of`` and ``of_star`` say on which crease a node lies (−1: a node without weights), ``side`` on which side, ±1.
    """

    teacher: MLP
    student: MLP
    planes: Nodes
    of_star: Int[Tensor, " m"]
    of: Int[Tensor, " n"]
    side: Int[Tensor, " n"]
    bend_star: Float[Tensor, "s C"]
    bend: Float[Tensor, "s C"]

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


def creases(teacher: nn.Module, student: nn.Module) -> Creases:
    """The creases of a pair of two-layer networks with the same inputs and outputs."""
    teacher, student = two_layer(teacher), two_layer(student)
    if (teacher.widths[0], teacher.widths[-1]) != (student.widths[0], student.widths[-1]):
        raise UserError(
            f"a teacher of widths {teacher.widths} and a student of {student.widths}: inputs and outputs must agree"
        )
    star, mine = lowest(teacher), lowest(student)
    nodes = Nodes(torch.cat([star.w, mine.w]), torch.cat([star.b, mine.b]))
    dead = nodes.w.abs().amax(1) == 0
    # the teacher's nodes first, so that its hyperplanes stand for those of students that lie on them
    of, leaders = led(alignment(nodes, nodes, either_side=True) <= SAME, torch.arange(len(dead)), dead)
    u = regular(nodes)
    planes = Nodes(u.w[leaders], u.b[leaders])
    side = torch.where((u.w * planes.w[of.clamp(min=0)]).sum(1) < 0, -1, 1) if len(leaders) else torch.ones_like(of)
    m, bends = len(star.w), []
    for net, part in ((teacher, slice(0, m)), (student, slice(m, None))):
        a = net.W[1].data[0] * nodes.w[part].norm(dim=1, keepdim=True)
        bends.append(a.new_zeros(len(leaders), a.shape[1]).index_add_(0, of[part].clamp(min=0), a * ~dead[part, None]))
    return Creases(teacher, student, planes, of[:m], of[m:], side[m:], *bends)


def seen(found: Creases, box: Box) -> Bool[Tensor, "s n"]:
    """Whether student k observes crease s on the box (definition 4)."""
    return sight(found.planes, lowest(found.student), *box) > 0


@torch.no_grad()
def gradient_at(found: Creases, x: Float[Tensor, "N d"]) -> tuple[Float[Tensor, "N n"], Float[Tensor, "N n"]]:
    """g_k(x) = z_k v_kᵀ(f* − f) of every student at points, and its rounding allowance."""
    if x.dim() != 2 or x.shape[1] != found.student.widths[0]:
        raise UserError(f"points of shape {tuple(x.shape)} for networks of {found.student.widths[0]} inputs")
    f_star, f = found.teacher(x)[0], found.student(x)[0]
    g = ((f_star - f) @ found.v.T) * (x @ found.student.W[0][0] + found.student.b[0][0] > 0)
    size = sum(absolute(net)(x.abs())[0] for net in (found.teacher, found.student)) @ found.v.abs().T
    return g, size * (_roundings(found) * torch.finfo(x.dtype).eps)


def _roundings(found: Creases) -> int:
    return 4 * (sum(found.teacher.widths) + sum(found.student.widths))


def largest_gradient(found: Creases, box: Box) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """A bound on |g_k(x)| = |z_k v_kᵀ(f* − f)| over the whole box for every student k, and its rounding allowance.

    Where k is active, which is a convex part of the box, v_kᵀ(f* − f) is a linear function plus, for every crease s
    that is seen there, a bend v_kᵀ(bend*_s − bend_s) away from the side of one point. So it vanishes everywhere if
    and only if that linear function and all these bends do; the bound adds up their largest values on the box.
    """
    star, mine, box = lowest(found.teacher), lowest(found.student), box.fits(found.teacher.widths[0])
    start, alive = _inside(mine, box)
    V = [found.teacher.W[1].data[0], -found.v]  # of f* − f
    c = found.teacher.b[1].data[0, 0] - found.student.b[1].data[0, 0]
    size = (found.v @ c).abs()
    slope, level = torch.zeros_like(start), found.v @ c
    for nodes, v in zip((star, mine), V, strict=True):
        a = (found.v @ v.T) * (start @ nodes.w.T + nodes.b > 0)
        slope, level = slope + a @ nodes.w, level + a @ nodes.b
        size = size + (found.v @ v.T).abs() @ box.reach(nodes).abs().amax(0)
    linear = box.reach(Nodes(slope, level)).abs().amax(0)
    bends = (found.v @ (found.bend_star - found.bend).T).abs() * seen(found, box).T
    bound = linear + bends @ box.reach(found.planes).abs().amax(0)
    allowance = size * (_roundings(found) * torch.finfo(size.dtype).eps + 2 * SAME)
    return bound * alive, allowance


def _inside(nodes: Nodes, box: Box) -> tuple[Float[Tensor, "n d"], Bool[Tensor, " n"]]:
    """For every node a point within the box where it is active, and whether there is one."""
    corner = torch.where(nodes.w > 0, box.high, box.low)
    top, at = (nodes.w * corner).sum(1) + nodes.b, nodes.w @ box.middle + nodes.b
    # from the middle, if that is active already, or else half the way from the corner to the node's boundary
    t = torch.where(at > 0, 1, 0.5 * top / (top - at).where(top > at, 1)).clamp(0, 1)
    return corner + t[:, None] * (box.middle - corner), top > 0
