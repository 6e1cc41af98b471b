"""Creases: the hyperplanes along which teacher or student bend (SS appendix C)."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.short_repr import short_repr
from relulab.nets.mlp import MLP, absolute
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.instruments.observers import active_on
from relulab.subjects.specialization.tools.box import Box
from relulab.subjects.specialization.tools.groups import assign_leaders, check_finite, two_layer
from relulab.subjects.specialization.tools.nodes import Nodes, gates, lowest, regular

EPS = torch.finfo(torch.float64).eps


@dataclass(frozen=True)
class Creases:
    """The hyperplanes of both networks. Each is listed once, whichever side its nodes are active on.

    Inputs are measured from the center of ``box`` in units of its size. This keeps angles and makes rounding
    independent of the position of the box. On crease s, with regular node (u_s, b_s), the student bends by ``bend`` =
    (1 − slope) Σ v_k‖w_k‖ over its nodes there, and the teacher by ``bend_star``. Nodes on both sides add up because a
    σ(z) + a'σ(−z) = (1 − slope) (a + a')/2 |z| + (1 + slope) (a − a')/2 z, where only |z| bends. ``of`` and ``of_star``
    are the crease of each node (−1 if it has zero weights), ``side`` and ``side_star`` the side on which it is active,
    ±1. Hyperplanes with an alignment error up to ``same``, the size of rounding errors, count as the same.
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

    __repr__ = short_repr

    @property
    def v(self) -> Float[Tensor, "n C"]:
        """v_k, the output weights of the student."""
        return self.student.W[1].data[0]

    @property
    def v_star(self) -> Float[Tensor, "m C"]:
        """v*_j, the output weights of the teacher with regular nodes."""
        return self.teacher.W[1].data[0] * lowest(self.teacher).w.norm(dim=1, keepdim=True)

    @property
    def opposite(self) -> Bool[Tensor, " s"]:
        """Whether a crease has students on both sides. They may add a linear function even if their bends cancel."""
        counts = [torch.bincount(self.of[(self.of >= 0) & (self.side == s)], minlength=len(self.bend)) for s in (1, -1)]
        return (counts[0] > 0) & (counts[1] > 0)


def creases(teacher: nn.Module, student: nn.Module, box: Box) -> Creases:
    """Find the creases of two two-layer networks with the same inputs and outputs.

    Args:
        teacher: One two-layer (leaky) ReLU network.
        student: Another one with the same inputs and outputs. Its slope may differ.
        box: The region of interest, which sets the origin and the unit of the inputs.

    >>> net = MLP((2, 3, 1), dtype=torch.float64)
    >>> net.W[0].data[0] = torch.tensor([[1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    >>> creases(net, net, Box.around(2)).of.tolist()
    [0, 0, 1]
    """
    nets = two_layer(teacher), two_layer(student)
    if (nets[0].widths[0], nets[0].widths[-1]) != (nets[1].widths[0], nets[1].widths[-1]):
        raise UserError(
            f"the teacher has widths {nets[0].widths} and the student {nets[1].widths}: inputs and outputs must agree"
        )
    for net in nets:
        check_finite(net)
    box = box.fits(nets[0].widths[0])
    rounded = torch.cat([_rounding(lowest(net), box) for net in nets])
    teacher, student = (_framed(net, box) for net in nets)
    nodes = Nodes(*(torch.cat(both) for both in zip(lowest(teacher), lowest(student), strict=True)))
    dead = nodes.w.abs().amax(1) == 0
    close = alignment(nodes, nodes, either_side=True) <= rounded[:, None] + rounded
    # teacher nodes come first, so that they represent the creases they share with students
    of, leaders = assign_leaders(close, torch.arange(len(dead), device=dead.device), dead)
    u = regular(nodes)
    planes = Nodes(u.w[leaders], u.b[leaders])
    side = torch.where((u.w * planes.w[of.clamp(min=0)]).sum(1) < 0, -1, 1) if len(leaders) else torch.ones_like(of)
    m, bends = teacher.widths[1], []
    for net, part in ((teacher, slice(0, m)), (student, slice(m, None))):
        a = (1 - net.slope) * net.W[1].data[0] * nodes.w[part].norm(dim=1, keepdim=True)
        into = torch.where(dead[part], len(leaders), of[part])
        bends.append(a.new_zeros(len(leaders) + 1, a.shape[1]).index_add_(0, into, a)[:-1])
    same = float(2 * rounded[~dead].max()) if len(leaders) else 0.0
    bend_star, bend = bends
    return Creases(teacher, student, box.framed, planes, of[:m], of[m:], side[:m], side[m:], bend_star, bend, same)


def _rounding(nodes: Nodes, box: Box) -> Float[Tensor, " n"]:
    """The largest shift of each regular node by rounding of its weights, in units of the box."""
    norm = nodes.w.norm(dim=1)
    size = nodes.w.abs() @ box.farthest + nodes.b.abs() + norm * box.size
    return 8 * (nodes.w.shape[1] + 4) * EPS * size / (norm * box.size).where(norm > 0, 1)


def _framed(net: MLP, box: Box) -> MLP:
    """The network as a function of (x − middle)/size."""
    net.b[0].data[0] += box.middle @ net.W[0].data[0]
    net.W[0].data[0] *= box.size
    return net


def seen(pair: Creases) -> Bool[Tensor, "s n"]:
    """Whether student k observes crease s: its gate is not zero somewhere on it within the box, beyond rounding.

    A plain ReLU observes a crease if it is active somewhere on it (definition 4). A leaky ReLU passes on a gradient
    everywhere, so it observes every crease that cuts the box, also its own.

    Args:
        pair: The creases of teacher and student.
    """
    nodes = regular(lowest(pair.student))
    low, high = pair.box.reach(pair.planes)
    cut = (low < -pair.same) & (high > pair.same)
    if pair.student.slope:
        return cut[:, None].expand(-1, len(nodes.b))
    observes = active_on(pair.planes, nodes, *pair.box, above=pair.same) & cut[:, None]
    # a node is 0 on its own hyperplane
    own = pair.of.clamp(min=0) == torch.arange(len(cut), device=cut.device)[:, None]
    return observes & ~(own & (pair.of >= 0))


def _roundings(pair: Creases) -> int:
    return 4 * (sum(pair.teacher.widths) + sum(pair.student.widths))


@torch.no_grad()
def largest_gradient(pair: Creases) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """An upper bound on |g_k(x)| = |z_k v_kᵀ(f* − f)| over the box for every student k, and its rounding allowance.

    The part of the box where the gate of k is not zero is convex: where k is active, or all of it for a leaky student.
    There, v_kᵀ(f* − f) is a linear function plus a bend v_kᵀ(bend*_s − bend_s) for every crease s that k observes. So
    it vanishes everywhere if and only if that linear function and all these bends vanish. The bound is the sum of their
    largest values on the box.

    Args:
        pair: The creases of teacher and student.
    """
    star, students = lowest(pair.teacher), lowest(pair.student)
    start, alive = _inside(students, pair.box)
    if pair.student.slope:
        start, alive = pair.box.middle.expand_as(start), torch.ones_like(alive)
    # the side of each crease is decided once per starting point, so that all nodes on the crease agree
    above = torch.where(start @ pair.planes.w.T + pair.planes.b >= 0, 1, -1)
    c = pair.teacher.b[1].data[0, 0] - pair.student.b[1].data[0, 0]
    slope, level = torch.zeros_like(start), pair.v @ c
    for net, nodes, of, side, sign in (
        (pair.teacher, star, pair.of_star, pair.side_star, 1),
        (pair.student, students, pair.of, pair.side, -1),
    ):
        gate = (
            above[:, of.clamp(min=0)] == side if len(pair.bend) else torch.zeros(len(start), len(of), dtype=torch.bool)
        )
        gate = gates(torch.where(of >= 0, gate, nodes.b > 0), net.slope)
        a = sign * (pair.v @ net.W[1].data[0].T) * gate
        slope, level = slope + a @ nodes.w, level + a @ nodes.b
    linear = pair.box.reach(Nodes(slope, level)).abs().amax(0)
    bends = (pair.v @ (pair.bend_star - pair.bend).T).abs() * seen(pair).T
    bound = linear + bends @ pair.box.reach(pair.planes).abs().amax(0)
    size_star, size = (absolute(net)(pair.box.farthest[None])[0] for net in (pair.teacher, pair.student))
    allowance = pair.v.abs() @ (size_star + size)[0] * (_roundings(pair) * EPS + 4 * pair.same)
    return bound * alive, allowance


def _inside(nodes: Nodes, box: Box) -> tuple[Float[Tensor, "n d"], Bool[Tensor, " n"]]:
    """A point of the box where the node is active, and whether there is one, for every node."""
    corner = torch.where(nodes.w > 0, box.high, box.low)
    top, at = (nodes.w * corner).sum(1) + nodes.b, nodes.w @ box.middle + nodes.b
    # the center if the node is active there, otherwise halfway from the corner to the boundary of the node
    t = torch.where(at > 0, 1, 0.5 * top / (top - at).where(top > at, 1)).clamp(0, 1)
    return corner + t[:, None] * (box.middle - corner), top > 0


@torch.no_grad()
def gradient_at(
    teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"]
) -> tuple[Float[Tensor, "N n"], Float[Tensor, "N n"]]:
    """g_k(x) = z_k v_kᵀ(f* − f) of every student k at given points, in float64, and its rounding allowance.

    Args:
        teacher: One two-layer (leaky) ReLU network.
        student: Another one with the same inputs and outputs.
        x: Points, (N, d).
    """
    teacher, student = two_layer(teacher), two_layer(student)
    if x.dim() != 2 or not x.shape[1] == teacher.widths[0] == student.widths[0]:
        raise UserError(
            f"points have shape {tuple(x.shape)}, but the teacher has {teacher.widths[0]} inputs and the student "
            f"{student.widths[0]}: expected (points, inputs) with the same number of inputs"
        )
    v = student.W[1].data[0]
    gate = gates(x @ student.W[0][0] + student.b[0][0] > 0, student.slope)
    g = ((teacher(x)[0] - student(x)[0]) @ v.T) * gate
    size = sum(absolute(net)(x.abs())[0] for net in (teacher, student)) @ v.abs().T
    return g, size * (4 * (sum(teacher.widths) + sum(student.widths)) * EPS)
