"""Co-linear groups: nodes that share a hyperplane, and their contribution to the output (SS theorem 2)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.short_repr import counted
from relulab.nets.mlp import MLP, as_mlp
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.tools.nodes import Nodes, regular


@dataclass(frozen=True)
class Groups:
    """Hidden nodes of a two-layer network, grouped by hyperplane and by the side on which they are active.

    ``of`` is the group of every node, −1 for a node with zero weights. ``nodes`` has one regular node per group, and
    ``a`` = Σ_k v_k ‖w_k‖ over the members of each group. The network equals c + Σ_s a_s σ(u_sᵀx + b_s) up to the
    tolerance, where σ is the ReLU or the leaky ReLU with slope ``slope``.

    Nodes on opposite sides are not merged: σ(−z) = σ(z) − (1 + slope) z, so one node cannot replace two without a
    linear function.
    """

    of: Int[Tensor, " n"]
    nodes: Nodes
    a: Float[Tensor, "s C"]
    c: Float[Tensor, " C"]
    slope: float = 0.0

    def __repr__(self) -> str:
        shared, dead = int((self.sizes > 1).sum()), int((self.of < 0).sum())
        zero = f", {counted(dead, 'node')} with zero weights" if dead else ""
        return f"Groups({counted(len(self.of), 'node')} in {counted(len(self), 'group')}, {shared} with several{zero})"

    def __len__(self) -> int:
        return len(self.a)

    @property
    def sizes(self) -> Int[Tensor, " s"]:
        """Number of members of each group."""
        return torch.bincount(self.of[self.of >= 0], minlength=len(self))


def two_layer(net: nn.Module) -> MLP:
    """Return a copy in float64, or raise an error if this is not a single two-layer (leaky) ReLU network.

    Args:
        net: An ``MLP`` or an ``nn.Sequential`` of Linear and ReLU or LeakyReLU layers.
    """
    net = as_mlp(net)
    if net.depth != 2 or net.lanes != 1:
        raise UserError(
            f"expected one two-layer network, got {net.lanes} with {net.depth} layers: choose one lane of a two-layer "
            "network"
        )
    return MLP.of(net.module()).double()


def one_network(net: nn.Module) -> MLP:
    """Return a copy in float64, or raise an error if this is not a single (leaky) ReLU network with hidden layers.

    Args:
        net: An ``MLP`` or an ``nn.Sequential`` of Linear and ReLU or LeakyReLU layers.
    """
    net = as_mlp(net)
    if net.depth < 2 or net.lanes != 1:
        raise UserError(
            f"expected one network with hidden layers, got {net.lanes} with {net.depth} layers: choose one lane of a "
            "network with at least two layers"
        )
    net = MLP.of(net.module()).double()
    check_finite(net)
    return net


def check_finite(net: MLP) -> None:
    """Raise an error if a network has weights that are NaN or infinite.

    Args:
        net: The network.
    """
    if not all(p.data.isfinite().all() for p in net.parameters()):
        raise UserError(
            "expected a network with finite weights, got NaN or infinite ones, so its training diverged: use a smaller "
            "learning rate"
        )


def groups(net: nn.Module, epsilon: float = 1e-6) -> Groups:
    """Group nodes that are ε-aligned with the strongest node of their group.

    Nodes are taken in decreasing order of ‖v_k‖‖w_k‖. Each node without a group starts one and takes in all nodes that
    are ε-aligned with it and have no group yet. A node with zero weights is a constant and is added to c, the output
    bias. The node of a group is the mean of its members, weighted by ‖v_k‖‖w_k‖. With ε = 0 the network is unchanged up
    to rounding.

    Args:
        net: One two-layer (leaky) ReLU network.
        epsilon: The alignment error ε up to which a node joins a group, at least 0.

    >>> net = MLP((1, 3, 1), dtype=torch.float64)
    >>> net.W[0].data[0], net.W[1].data[0] = torch.tensor([[1.0, 2.0, -1.0]]), torch.tensor([[4.0], [-2.0], [1.0]])
    >>> grouped = groups(net)
    >>> grouped.of.tolist(), grouped.a.tolist()
    ([0, 0, 1], [[0.0], [1.0]])
    """
    if not epsilon >= 0:
        raise UserError(f"expected an epsilon of at least 0, got {epsilon}")
    net = two_layer(net)
    check_finite(net)
    nodes, v = Nodes(net.W[0].data[0].T, net.b[0].data[0, 0]), net.W[1].data[0]
    norm = nodes.w.norm(dim=1)
    dead = norm == 0
    c = net.b[1].data[0, 0] + nn.functional.leaky_relu(nodes.b[dead], net.slope) @ v[dead]
    weight = v.norm(dim=1) * norm
    of, leaders = assign_leaders(alignment(nodes, nodes) <= epsilon, weight.argsort(descending=True, stable=True), dead)
    member = nn.functional.one_hot(of.clamp(min=0), max(len(leaders), 1))[:, : len(leaders)].T.double() * ~dead
    u = regular(nodes)
    # in groups whose total weight is zero, all members count equally
    share = member * torch.where((member @ weight > 0)[:, None], weight, 1)
    share = share / share.sum(1, keepdim=True)
    mean = Nodes(share @ u.w, share @ u.b)
    single = member.sum(1) == 1  # copied, so that they do not change by rounding
    mean = Nodes(torch.where(single[:, None], u.w[leaders], regular(mean).w), torch.where(single, u.b[leaders], mean.b))
    return Groups(of, mean, member @ (v * norm[:, None]), c, net.slope)


def assign_leaders(close: Tensor, order: Tensor, dead: Tensor) -> tuple[Int[Tensor, " n"], Int[Tensor, " s"]]:
    """Assign nodes to leaders. In the given order, each free node becomes a leader and takes all free nodes near it.

    Args:
        close: Whether two nodes are close, (n, n).
        order: Order in which nodes become leaders, (n,).
        dead: Nodes that get no leader, (n,).

    Returns:
        The group of every node, −1 for dead ones, and the leader of every group.
    """
    of = torch.full((len(order),), -1, device=order.device)
    free, leaders = ~dead, []
    for k in order.tolist():
        if free[k]:
            members = close[k] & free
            members[k] = True
            of[members], free = len(leaders), free & ~members
            leaders.append(k)
    return of, torch.tensor(leaders, dtype=torch.long, device=order.device)
