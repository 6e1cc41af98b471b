"""Moves of hidden nodes between the slots of a layer that hardly change the output (SS appendix E).

A layer has n slots, each with input weights w_k, a bias b_k and a fan-out v_k. A slot with v_k = 0 is silent. There are
two moves, each a straight line in the space of all weights:

- copy: the input weights of silent slots change. The output stays the same.
- hand over: fan-outs change. The output is a linear function of them, so a convex loss is at most the larger of its
  values at both ends.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.nets.mlp import MLP


class Slots(NamedTuple):
    """The slots of a two-layer network: input weights and biases, fan-outs, and the output bias."""

    w: Float[Tensor, "n d1"]
    v: Float[Tensor, "n C"]
    c: Float[Tensor, " C"]

    @classmethod
    def of(cls, net: MLP) -> "Slots":
        """Return the slots of one two-layer network.

        Args:
            net: The network.
        """
        return cls(torch.cat([net.W[0].data[0], net.b[0].data[0]]).T, net.W[1].data[0], net.b[1].data[0, 0])


@dataclass(frozen=True)
class Node:
    """A node on its way from slot ``at`` of the first network to slot ``home`` of the second.

    ``at`` is None for a node that only the second network has, and ``home`` for one that only the first has. ``new``
    says whether it has the weights of the second network already.
    """

    at: int | None
    home: int | None
    new: bool = False

    @property
    def arrived(self) -> bool:
        """Whether nothing is left to do."""
        return self.at == self.home and (self.new or self.home is None)


def hand_overs(a: Slots, b: Slots, pairs: list[tuple[int | None, int | None]]) -> Iterator[tuple[str, Slots]]:
    """Yield the moves that lead from a to b: their names, and the slots after each of them.

    In each round, nodes are copied to silent slots, at best to their slot in b, and then take over from the nodes of a.
    As many as possible do so at once. If one silent slot is left, any permutation of the nodes can be reached.

    Args:
        a: The slots of the first network, at least one of them silent.
        b: The slots of the second network, at least one of them silent.
        pairs: All slots of a and of b that are not silent, in pairs of nodes that replace each other; None for a node
            without a partner.
    """
    nodes = [Node(at, home, home is not None and at == home and a.w[at].equal(b.w[home])) for at, home in pairs]
    # nodes that stay in their slot with the same input weights only change their fan-out
    settled = {i: nodes[i].home for i in range(len(nodes)) if nodes[i].new}
    state = a
    while settled or not all(node.arrived for node in nodes):
        places = _places(nodes, len(a.w)) | settled
        w, v = state.w.clone(), state.v.clone()
        for i, place in places.items():
            if place is not None:
                w[place] = b.w[nodes[i].home]
        copied = state._replace(w=w)
        for i in places:
            if nodes[i].at is not None:
                v[nodes[i].at] = 0
        for i, place in places.items():
            if place is not None:
                v[place] = b.v[nodes[i].home]
        nodes = [replace(n, at=places[i], new=True) if i in places else n for i, n in enumerate(nodes)]
        share = sum(node.new for node in nodes) / len(nodes)
        state, settled = Slots(w, v, b.c if share == 1 else torch.lerp(a.c, b.c, share)), {}
        yield "copy", copied
        yield "hand over", state
    yield "copy", state._replace(w=b.w)


def _places(nodes: list[Node], n: int) -> dict[int, int | None]:
    """Return which nodes move in the next round, and to which slots; None for nodes that disappear."""
    waiting = [i for i, node in enumerate(nodes) if not node.arrived]
    silent = sorted(set(range(n)) - {node.at for node in nodes})
    places: dict[int, int | None] = {i: None for i in waiting if nodes[i].home is None}
    for i in waiting:
        home = nodes[i].home
        if home is not None and home in silent:
            places[i] = home
            silent.remove(home)
    # the other slots, first those that are nobody's home, take nodes that still have the weights of a
    homes = {node.home for node in nodes}
    silent.sort(key=lambda slot: slot in homes)
    places |= dict(zip((i for i in waiting if i not in places and not nodes[i].new), silent, strict=False))
    if waiting and not places:  # all nodes wait for each other: one makes room
        places[waiting[0]] = silent[0]
    return places
