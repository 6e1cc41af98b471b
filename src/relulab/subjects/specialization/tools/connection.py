r"""Paths between two students along which the loss stays low (SS appendix E).

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

from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Float, Shaped
from scipy.optimize import linear_sum_assignment
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.followed import followed
from relulab.core.short_repr import counted
from relulab.nets.hooks import points
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.tools.groups import two_layer
from relulab.subjects.specialization.tools.hand_over import Slots, hand_overs
from relulab.subjects.specialization.tools.ranking import CHUNK
from relulab.subjects.specialization.tools.silenced import Silenced
from relulab.train.losses import MSE, CrossEntropy

TRIED = 8  # numbers of nodes that are tried, if none is given


@dataclass(frozen=True)
class Connection:
    """A path of straight segments between two networks, and the loss along it and along the straight line.

    Args:
        nets: The corners of the path, from the first network to the second.
        moves: What happens on each segment: "merge", "copy", "hand over" or "split".
        keep: Number of nodes that are kept.
        position: Position along the path, from 0 to the number of segments, (t,).
        path: Loss along the path, (t,).
        line: Loss along the straight line, at as many equally spaced positions, (t,).
        constant: Loss of the best constant output, to which the others can be compared.
    """

    nets: list[MLP]
    moves: list[str]
    keep: int
    position: Float[Tensor, " t"]
    path: Float[Tensor, " t"]
    line: Float[Tensor, " t"]
    constant: float

    def __repr__(self) -> str:
        ends, path, line = self.ends, float(self.path.max()), float(self.line.max())
        losses = f"loss {ends[0]:.3g} and {ends[1]:.3g}, largest {path:.3g} on the path, {line:.3g} on the line"
        return f"Connection({counted(len(self.moves), 'segment')}, {counted(self.keep, 'node')} kept: {losses})"

    @property
    def ends(self) -> tuple[float, float]:
        """The losses of both networks."""
        return float(self.path[0]), float(self.path[-1])

    @property
    def corners(self) -> Float[Tensor, " s"]:
        """The losses at the corners of the path."""
        return self.path[:: max(1, (len(self.path) - 1) // max(1, len(self.moves)))]


def connect(
    a: nn.Module,
    b: nn.Module,
    x: Float[Tensor, "N d"],
    y: Shaped[Tensor, "N *C"],
    *,
    keep: int | None = None,
    steps: int = 10,
    test: tuple[Tensor, Tensor] | None = None,
) -> Connection:
    """Find a path between two networks on which the loss stays low, and compare it with the straight line.

    There is such a path for any two networks. Whether the loss stays low on it depends on how well few of their nodes
    do the work of all, and is measured.

    Args:
        a: The first network, a two-layer ReLU network.
        b: The second network, with the same widths.
        x: Points, (N, d), at least 2, on which nodes are chosen and fan-outs are fitted to the outputs of a and b.
        y: Targets: outputs such as the teacher's, (N, C), for the mean squared error, or classes, (N,), for the
            cross-entropy.
        keep: Number of nodes of each network to keep, from 1 to n − 1. None tries several numbers and takes the one
            with the smallest loss.
        steps: Number of positions per segment at which the loss is measured.
        test: Other points and targets on which losses are measured. None uses x and y.

    >>> a, b = MLP((1, 3, 1), dtype=torch.float64), MLP((1, 3, 1), dtype=torch.float64)
    >>> a.W[0].data[0], a.W[1].data[0] = torch.tensor([[1.0, -1.0, 0.5]]), torch.tensor([[1.0], [2.0], [0.0]])
    >>> b.W[0].data[0], b.W[1].data[0] = torch.tensor([[-0.5, -1.0, 1.0]]), torch.tensor([[0.0], [2.0], [1.0]])
    >>> x = torch.linspace(-1, 1, 9, dtype=torch.float64)[:, None]
    >>> connect(a, b, x, a(x)[0].detach()).moves
    ['copy', 'hand over', 'copy']
    """
    a, b = two_layer(a), two_layer(b)
    x, y = _checked(a, b, x, y)
    tested = (x, y) if test is None else _checked(a, b, *test)
    n = a.widths[1]
    if steps < 1 or not (keep is None or 1 <= keep < n):
        raise UserError(
            f"expected at least 1 step and 1 to {n - 1} nodes to keep, got steps={steps} and keep={keep}: the path "
            f"needs one of the {n} nodes to be silent"
        )
    end_a, end_b = Silenced.of(a, x), Silenced.of(b, x)
    # if half of the nodes are enough, all of them are handed over at once, and no fewer do better
    tried = [keep] if keep else sorted({round(k) for k in torch.linspace(max(1, n // 2), n - 1, TRIED).tolist()})
    paths = [(count, *path_between(end_a, end_b, count, x)) for count in followed(tried, "trying paths")]
    count, moves, corners = min(paths, key=lambda p: (float(losses(p[2], x, y).max()), len(p[1])))
    along = [losses(_between(p, q, steps)[:-1], *tested) for p, q in pairwise(corners)]
    return Connection(
        [stacked([slots]) for slots in corners],
        moves,
        count,
        torch.linspace(0, len(moves), len(moves) * steps + 1, dtype=torch.float64),
        torch.cat([*along, losses(corners[-1:], *tested)]),
        losses(_between(corners[0], corners[-1], len(moves) * steps) if moves else corners, *tested),
        constant_loss(tested[1]),
    )


def _checked(a: MLP, b: MLP, x: Tensor, y: Tensor) -> tuple[Float[Tensor, "N d"], Shaped[Tensor, "N C"]]:
    """Return points and targets that fit both networks."""
    if a.slope or b.slope:
        raise UserError(f"expected networks with plain ReLUs, got the slopes {a.slope:g} and {b.slope:g}: use slope 0")
    if a.widths != b.widths or a.widths[1] < 2:
        raise UserError(
            f"expected two networks of the same shape with at least 2 hidden nodes, got {a!r} and {b!r}: a path needs "
            "the same number of weights at both ends"
        )
    x, y = points(x).double(), points(y)
    if x.dim() != 2 or x.shape[1] != a.widths[0] or len(x) < 2:
        raise UserError(f"expected at least 2 points of shape (N, {a.widths[0]}), got {tuple(x.shape)}")
    C, classes = a.widths[-1], y.dim() == 1 and not y.is_floating_point()
    if classes and len(y) == len(x) and C > 1 and int(y.min()) >= 0 and int(y.max()) < C:
        return x, nn.functional.one_hot(y.long(), C).bool()
    if classes or y.shape != (len(x), C):
        raise UserError(
            f"expected targets of shape ({len(x)}, {C}), or {len(x)} classes from 0 to {C - 1}, got {y.dtype} of shape "
            f"{tuple(y.shape)}"
        )
    return x, y.double()


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


def constant_loss(y: Shaped[Tensor, "N C"]) -> float:
    """Return the loss of the best constant output: the variance of the targets, or the entropy of the classes.

    Args:
        y: Target outputs, or for each class whether it is the right one, (N, C).
    """
    mean = y.double().mean(0)
    return float(torch.special.entr(mean).sum() if y.dtype is torch.bool else (y - mean).square().mean())


def _between(p: Slots, q: Slots, steps: int) -> list[Slots]:
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
