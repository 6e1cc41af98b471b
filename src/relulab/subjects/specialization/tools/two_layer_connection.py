r"""Paths between two two-layer students along which the loss stays low (SS appendix E).

Two networks that learned the same teacher have a node for each of its nodes, but in different slots, and slots that
contribute nothing. On the straight line between their weights, nodes turn into other nodes, and the loss is high. The
path instead

1. keeps as many nodes of the first network as needed, merges co-linear nodes into them, and takes the fan-out of all
   others to zero (SS theorem 2);
2. copies nodes of the second network into the slots that have become silent, and hands the fan-outs over;
3. undoes the first step for the second network.

Along every segment either the output stays the same, or only fan-outs and the output bias change, and the output is
linear in them. So a convex loss is nowhere larger than at the corners of the path.
"""

import torch
from jaxtyping import Float, Shaped
from scipy.optimize import linear_sum_assignment
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.followed import followed
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.tools.hand_over import Slots, hand_overs
from relulab.subjects.specialization.tools.ranking import CHUNK
from relulab.subjects.specialization.tools.silenced import Silenced
from relulab.train.losses import MSE, CrossEntropy

TRIED = 8  # numbers of nodes that are tried, if none is given


def two_layer_path(
    a: MLP, b: MLP, x: Float[Tensor, "N d"], y: Shaped[Tensor, "N C"], keep: int | None
) -> tuple[int, list[str], list[Slots]]:
    """Return the number of nodes that are kept, the moves and the corners of the path with the smallest loss.

    Args:
        a: The first network.
        b: The second network, with the same widths.
        x: Points, (N, d).
        y: Target outputs, or for each class whether it is the right one, (N, C).
        keep: Number of nodes of each network to keep; None tries several numbers.
    """
    n = a.widths[1]
    if not (keep is None or 1 <= keep < n):
        raise UserError(
            f"expected 1 to {n - 1} nodes to keep, got keep={keep}: the path needs one of the {n} nodes to be silent"
        )
    end_a, end_b = Silenced.of(a, x), Silenced.of(b, x)
    # if half of the nodes are enough, all of them are handed over at once, and no fewer do better
    tried = [keep] if keep else sorted({round(k) for k in torch.linspace(max(1, n // 2), n - 1, TRIED).tolist()})
    paths = [(count, *path_between(end_a, end_b, count, x)) for count in followed(tried, "trying paths")]
    return min(paths, key=lambda p: (float(losses(p[2], x, y).max()), len(p[1])))


def stacked(slots: list[Slots]) -> MLP:
    """Return the networks with the given slots as the lanes of one MLP.

    Args:
        slots: The slots of one or more networks of the same shape.
    """
    (n, d1), C = slots[0].w.shape, len(slots[0].c)
    net = MLP((d1 - 1, n, C), lanes=len(slots), dtype=torch.float64)
    w = torch.stack([s.w.T for s in slots])
    net.W[0].data, net.b[0].data = w[:, :-1], w[:, -1:]
    net.W[1].data, net.b[1].data = torch.stack([s.v for s in slots]), torch.stack([s.c for s in slots])[:, None]
    return net


@torch.no_grad()
def losses(slots: list[Slots], x: Float[Tensor, "N d"], y: Shaped[Tensor, "N C"]) -> Float[Tensor, " s"]:
    """Return the loss of each network: the mean squared error, or the cross-entropy if targets are truth values.

    Args:
        slots: The slots of the networks.
        x: Points, (N, d).
        y: Target outputs, or for each class whether it is the right one, (N, C).
    """
    net, loss = stacked(slots), CrossEntropy() if y.dtype is torch.bool else MSE()
    total = x.new_zeros(len(slots))
    for x_, y_ in zip(x.split(CHUNK), y.split(CHUNK), strict=True):
        total += loss.value(net(x_), y_.double().expand(len(slots), *y_.shape)) * len(x_)
    return total / len(x)


def between(p: Slots, q: Slots, steps: int) -> list[Slots]:
    """Return equally spaced points of a segment, including both ends."""
    shares = torch.linspace(0, 1, steps + 1, dtype=torch.float64).tolist()
    return [p, *(Slots(*(torch.lerp(s, t, share) for s, t in zip(p, q, strict=True))) for share in shares[1:-1]), q]


def path_between(a: Silenced, b: Silenced, keep: int, x: Float[Tensor, "N d"]) -> tuple[list[str], list[Slots]]:
    """Return the moves and the corners of the path; segments of length zero are left out.

    Args:
        a: The first network.
        b: The second network.
        keep: Number of nodes of each network to keep.
        x: Points, (N, d), at which nodes of the two networks are compared.
    """
    if all(map(torch.equal, a.slots, b.slots)):
        return [], [a.slots]
    (slots_a, kept_a), (slots_b, kept_b) = (end.to(keep) for end in (a, b))
    middle = hand_overs(slots_a, slots_b, _pairs(slots_a, kept_a, slots_b, kept_b, x))
    moves, corners = [], [a.slots]
    for move, slots in [("merge", slots_a), *middle, ("split", b.slots)]:
        if not all(map(torch.equal, slots, corners[-1])):
            moves.append(move)
            corners.append(slots)
    return moves, corners


def _pairs(a: Slots, kept_a: list[int], b: Slots, kept_b: list[int], x: Tensor) -> list[tuple[int | None, int | None]]:
    """Match nodes whose contributions v_k σ(w_kᵀx + b_k) to the output are closest, up to their means."""
    x1 = nn.functional.pad(x, (0, 1), value=1.0)
    f_a, f_b = ((x1 @ slots.w[kept].T).clamp(min=0) for slots, kept in ((a, kept_a), (b, kept_b)))
    f_a, f_b, v_a, v_b = f_a - f_a.mean(0), f_b - f_b.mean(0), a.v[kept_a], b.v[kept_b]
    sizes = [(f.square().sum(0) * v.square().sum(1)) for f, v in ((f_a, v_a), (f_b, v_b))]
    gap = sizes[0][:, None] + sizes[1] - 2 * (f_a.T @ f_b) * (v_a @ v_b.T)
    rows, columns = (index.tolist() for index in linear_sum_assignment(gap.numpy()))
    pairs = [(kept_a[i], kept_b[j]) for i, j in zip(rows, columns, strict=True)]
    alone = [(k, None) for i, k in enumerate(kept_a) if i not in rows]
    return [*pairs, *alone, *((None, k) for j, k in enumerate(kept_b) if j not in columns)]
