"""Two-layer networks in which few nodes do the work of all: the others keep their input weights, but not their fan-out.

Since only fan-outs change, the output changes linearly on the way there.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.core.errors import UserError
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.tools.groups import Groups, groups
from relulab.subjects.specialization.tools.hand_over import Slots
from relulab.subjects.specialization.tools.ranking import CHUNK, Ranking, by_refit

COLLINEAR = 1e-12  # nodes up to this alignment error are merged


@dataclass(frozen=True)
class Silenced:
    """A network with its groups of co-linear nodes, in the order in which they are kept.

    ``leaders`` are the strongest nodes of the groups, which take over the fan-outs of their groups.
    """

    slots: Slots
    groups: Groups
    ranking: Ranking
    leaders: list[int]

    @classmethod
    def of(cls, net: MLP, x: Float[Tensor, "N d"], order: list[int] | None = None) -> "Silenced":
        """Rank the nodes of a network by how much they are missed.

        Args:
            net: One two-layer ReLU network in float64.
            x: Points, (N, d), at which the outputs are fitted.
            order: Nodes that come before all others. None for none.
        """
        grouped, slots = groups(net, COLLINEAR), Slots.of(net)
        if not len(grouped):
            raise UserError("all hidden nodes of a network have zero weights, so it is constant: it has no nodes")
        weight = slots.v.norm(dim=1) * slots.w[:, :-1].norm(dim=1)
        leaders = [int(torch.where(grouped.of == s, weight, -1).argmax()) for s in range(len(grouped))]
        with torch.no_grad():
            y = torch.cat([net(part)[0] for part in x.split(CHUNK)])
        first = grouped.of[torch.tensor(order or [], dtype=torch.long)].unique()
        return cls(slots, grouped, by_refit(grouped, x, y, first[first >= 0]), leaders)

    def to(self, keep: int) -> tuple[Slots, list[int]]:
        """Return the slots with fan-outs in a few nodes only, and which nodes these are.

        The fan-outs are fitted by least squares to the outputs of the whole network, unless the other groups contribute
        nothing. Then they are the sums over co-linear nodes, Σ v_k‖w_k‖ (SS theorem 2).

        Args:
            keep: Number of nodes.
        """
        order = self.ranking.order[:keep]
        kept = [self.leaders[s] for s in order.tolist()]
        others = torch.ones(len(self.groups), dtype=torch.bool)
        others[order] = False
        exact = not self.groups.a[others].any()
        top, c = (self.groups.a[order], self.groups.c) if exact else self.ranking.top(len(kept))
        v = torch.zeros_like(self.slots.v)
        v[kept] = top / self.slots.w[kept, :-1].norm(dim=1, keepdim=True)
        if exact:  # nodes that are alone on their hyperplane do not change by rounding
            single = [k for k, s in zip(kept, order.tolist(), strict=True) if self.groups.sizes[s] == 1]
            v[single] = self.slots.v[single]
        return self.slots._replace(v=v, c=c), kept
