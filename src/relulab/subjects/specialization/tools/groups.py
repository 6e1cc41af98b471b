"""Co-linear groups: nodes that share a hyperplane, and what each group adds to the output (SS theorem 2)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.tools.nodes import Nodes, regular


@dataclass(frozen=True)
class Groups:
    """Hidden nodes of a two-layer network by hyperplane.

    ``of`` is the group of every node, −1 of a node without weights. A group's ``nodes`` is one regular node, and
    ``a`` = Σ_k v_k ‖w_k‖ over its members, so that the network is c + Σ_s a_s σ(u_sᵀx + b_s) up to the tolerance.
    """

    of: Int[Tensor, " n"]
    nodes: Nodes
    a: Float[Tensor, "s C"]
    c: Float[Tensor, " C"]

    def __len__(self) -> int:
        return len(self.a)

    @property
    def sizes(self) -> Int[Tensor, " s"]:
        return torch.bincount(self.of[self.of >= 0], minlength=len(self))


def two_layer(net: nn.Module) -> MLP:
    """A copy of one two-layer network in float64, or a sentence."""
    net = net if isinstance(net, MLP) else MLP.of(net)
    if net.depth != 2 or net.lanes != 1 or net.slope:
        leaky = f", leaky with slope {net.slope:g}" if net.slope else ""
        raise UserError(f"one two-layer ReLU network was expected, given was {net.lanes} of {net.depth} layers{leaky}")
    return MLP.of(net.module()).double()


def groups(net: nn.Module, epsilon: float = 1e-6) -> Groups:
    """Groups nodes that are ε-aligned with the strongest of them: ‖v_k‖‖w_k‖ falls, each joins the first that fits.

    A node without weights is a constant and goes into c, the output's bias. The node of a group is the mean of its
    members, weighted by ‖v_k‖‖w_k‖; with ε = 0 the network is unchanged to rounding.

    Args:
        net: One two-layer ReLU network.
        epsilon: The alignment error ε up to which a node joins a group, at least 0.

    >>> net = MLP((1, 3, 1), dtype=torch.float64)
    >>> net.W[0].data[0], net.W[1].data[0] = torch.tensor([[1.0, 2.0, -1.0]]), torch.tensor([[4.0], [-2.0], [1.0]])
    >>> found = groups(net)
    >>> found.of.tolist(), found.a.tolist()
    ([0, 0, 1], [[0.0], [1.0]])
    """
    if not epsilon >= 0:
        raise UserError(f"epsilon {epsilon}: a tolerance of at least 0")
    net = two_layer(net)
    nodes, v = Nodes(net.W[0].data[0].T, net.b[0].data[0, 0]), net.W[1].data[0]
    norm = nodes.w.norm(dim=1)
    dead = norm == 0
    c = net.b[1].data[0, 0] + nodes.b[dead].clamp(min=0) @ v[dead]
    weight = v.norm(dim=1) * norm
    of, leaders = led(alignment(nodes, nodes) <= epsilon, weight.argsort(descending=True, stable=True), dead)
    member = nn.functional.one_hot(of.clamp(min=0), max(len(leaders), 1))[:, : len(leaders)].T.double() * ~dead
    u = regular(nodes)
    # Groups of nodes that add nothing have no weights: their members count alike.
    share = member * torch.where((member @ weight > 0)[:, None], weight, 1)
    share = share / share.sum(1, keepdim=True)
    mean = Nodes(share @ u.w, share @ u.b)
    single = member.sum(1) == 1  # which keep their bits
    mean = Nodes(torch.where(single[:, None], u.w[leaders], regular(mean).w), torch.where(single, u.b[leaders], mean.b))
    return Groups(of, mean, member @ (v * norm[:, None]), c)


def led(close: Tensor, order: Tensor, dead: Tensor) -> tuple[Int[Tensor, " n"], Int[Tensor, " s"]]:
    """Leaders in the given order, each with all nodes close to it that have no leader yet."""
    of = torch.full((len(order),), -1, device=order.device)
    free, leaders = ~dead, []
    for k in order.tolist():
        if free[k]:
            mine = close[k] & free
            mine[k] = True
            of[mine], free = len(leaders), free & ~mine
            leaders.append(k)
    return of, torch.tensor(leaders, dtype=torch.long, device=order.device)
