"""Paths between two networks along which the loss stays low, and the straight line between them (SS appendix E)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.short_repr import counted
from relulab.nets.hooks import points
from relulab.nets.mlp import MLP, as_mlp
from relulab.subjects.specialization.tools.agreement import outputs
from relulab.subjects.specialization.tools.deep_connection import deep_path, losses_along
from relulab.subjects.specialization.tools.groups import two_layer
from relulab.subjects.specialization.tools.two_layer_connection import between, losses, stacked, two_layer_path
from relulab.train.losses import MSE, CrossEntropy


@dataclass(frozen=True)
class Connection:
    """A path of straight segments between two networks, and the loss along it and along the straight line.

    Args:
        nets: The corners of the path, from the first network to the second.
        moves: What happens on each segment: "merge", "copy", "hand over" or "split".
        keep: Number of nodes that are kept in each hidden layer.
        nodes: Number of nodes of each hidden layer.
        position: Position along the path, from 0 to the number of segments, (t,).
        path: Loss along the path, (t,).
        line: Loss along the straight line, at as many equally spaced positions, (t,).
        constant: Loss of the best constant output, to which the others can be compared.
    """

    nets: list[nn.Module]
    moves: list[str]
    keep: tuple[int, ...]
    nodes: tuple[int, ...]
    position: Float[Tensor, " t"]
    path: Float[Tensor, " t"]
    line: Float[Tensor, " t"]
    constant: float

    def __repr__(self) -> str:
        ends, path, line = self.ends, float(self.path.max()), float(self.line.max())
        losses = f"loss {ends[0]:.3g} and {ends[1]:.3g}, largest {path:.3g} on the path, {line:.3g} on the line"
        return f"Connection({counted(len(self.moves), 'segment')}, {counted(sum(self.keep), 'node')} kept: {losses})"

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
    x: Float[Tensor, "N *x"],
    y: Shaped[Tensor, "N *C"],
    *,
    keep: int | Sequence[int] | None = None,
    steps: int = 10,
    test: tuple[Tensor, Tensor] | None = None,
) -> Connection:
    """Find a path between two networks on which the loss stays low, and compare it with the straight line.

    There is such a path for any two networks. Whether the loss stays low on it depends on how well few of their nodes
    do the work of all, and is measured. Networks with one hidden layer of ReLUs follow the construction of the paper.
    For all others, fully connected or convolutional, also with BatchNorm and residual connections, it is extended layer
    by layer: half of the nodes of each layer stand in for all.

    Args:
        a: The first network.
        b: The second network, of the same architecture.
        x: Points, (N, …), at least 2, on which nodes are chosen and fan-outs are fitted to the outputs of a and b.
        y: Targets: outputs such as the teacher's, (N, C), for the mean squared error, or classes, (N,), for the
            cross-entropy.
        keep: Number of nodes to keep in each hidden layer: of two-layer networks from 1 to n − 1, of deep ones at most
            n/2, one number for all layers or one for each. None tries several numbers for two-layer networks and takes
            the one with the smallest loss; in deep ones it keeps half.
        steps: Number of positions per segment at which the loss is measured.
        test: Other points and targets on which losses are measured. None uses x and y.

    >>> a, b = MLP((1, 3, 1), dtype=torch.float64), MLP((1, 3, 1), dtype=torch.float64)
    >>> a.W[0].data[0], a.W[1].data[0] = torch.tensor([[1.0, -1.0, 0.5]]), torch.tensor([[1.0], [2.0], [0.0]])
    >>> b.W[0].data[0], b.W[1].data[0] = torch.tensor([[-0.5, -1.0, 1.0]]), torch.tensor([[0.0], [2.0], [1.0]])
    >>> x = torch.linspace(-1, 1, 9, dtype=torch.float64)[:, None]
    >>> connect(a, b, x, a(x)[0].detach()).moves
    ['copy', 'hand over', 'copy']
    """
    if steps < 1:
        raise UserError(f"expected at least 1 step per segment, got steps={steps}")
    x, y = points(x), points(y)
    if _shallow(a, x) and _shallow(b, x):
        return _two_layers(two_layer(a), two_layer(b), x, y, keep, steps, test)
    return _deep(a, b, x, y, keep, steps, test)


def _shallow(net: nn.Module, x: Tensor) -> bool:
    """Whether this is a network with one hidden layer of plain ReLUs, for which fewer nodes can be silent."""
    try:
        plain = as_mlp(net)
    except UserError:
        return False
    return plain.depth == 2 and not plain.slope and (isinstance(net, MLP) or x.dim() == 2)


def _two_layers(
    a: MLP, b: MLP, x: Tensor, y: Tensor, keep: int | Sequence[int] | None, steps: int,
    test: tuple[Tensor, Tensor] | None,
) -> Connection:  # fmt: skip
    if a.widths != b.widths or a.widths[1] < 2:
        raise UserError(
            f"expected two networks of the same shape with at least 2 hidden nodes, got {a!r} and {b!r}: a path needs "
            "the same number of weights at both ends"
        )
    if not (keep is None or isinstance(keep, int)):
        raise UserError(f"expected one number of nodes to keep for the one hidden layer, got keep={keep}")
    x, y = _checked(x.double(), y, a.widths[-1], a.widths[0])
    tested = (x, y) if test is None else _checked(test[0].double(), test[1], a.widths[-1], a.widths[0])
    count, moves, corners = two_layer_path(a, b, x, y, keep)
    along = [losses(between(p, q, steps)[:-1], *tested) for p, q in pairwise(corners)]
    path = torch.cat([*along, losses(corners[-1:], *tested)])
    line = losses(between(corners[0], corners[-1], len(moves) * steps) if moves else corners, *tested)
    nets: list[nn.Module] = [stacked([slots]) for slots in corners]
    return Connection(
        nets, moves, (count,), (a.widths[1],), _position(moves, steps), path, line, constant_loss(tested[1])
    )


def _deep(
    a: nn.Module, b: nn.Module, x: Tensor, y: Tensor, keep: int | Sequence[int] | None, steps: int,
    test: tuple[Tensor, Tensor] | None,
) -> Connection:  # fmt: skip
    if len(x) < 2:
        raise UserError(f"expected at least 2 points, got {len(x)}: use more points")
    C = outputs(a, x[:1]).shape[1]
    x, y = _checked(x, y, C)
    tested = (x, y) if test is None else _checked(*test, C)
    loss = CrossEntropy() if y.dtype is torch.bool else MSE()
    found = deep_path(a, b, x, keep)

    def of(net: nn.Module) -> float:
        return float(loss.value(outputs(net, tested[0]).double(), tested[1].double()))

    path, line = losses_along(found, steps, of)
    nets = [found.with_weights(state) for state in found.corners]
    position, constant = _position(found.moves, steps), constant_loss(tested[1])
    return Connection(nets, found.moves, found.kept, found.nodes, position, path, line, constant)


def _position(moves: Sequence[str], steps: int) -> Float[Tensor, " t"]:
    return torch.linspace(0, len(moves), len(moves) * steps + 1, dtype=torch.float64)


def _checked(x: Tensor, y: Tensor, C: int, d: int | None = None) -> tuple[Tensor, Tensor]:
    """Return points and targets that fit; classes as truth values, (N, C)."""
    if len(x) < 2 or (d is not None and (x.dim() != 2 or x.shape[1] != d)):
        raise UserError(f"expected at least 2 points of shape (N, {'…' if d is None else d}), got {tuple(x.shape)}")
    classes = y.dim() == 1 and not y.is_floating_point()
    if classes and len(y) == len(x) and C > 1 and int(y.min()) >= 0 and int(y.max()) < C:
        return x, nn.functional.one_hot(y.long(), C).bool()
    if classes or y.shape != (len(x), C):
        raise UserError(
            f"expected targets of shape ({len(x)}, {C}), or {len(x)} classes from 0 to {C - 1}, got {y.dtype} of shape "
            f"{tuple(y.shape)}"
        )
    return x, y.double()


def constant_loss(y: Shaped[Tensor, "N C"]) -> float:
    """Return the loss of the best constant output: the variance of the targets, or the entropy of the classes.

    Args:
        y: Target outputs, or for each class whether it is the right one, (N, C).
    """
    mean = y.double().mean(0)
    return float(torch.special.entr(mean).sum() if y.dtype is torch.bool else (y - mean).square().mean())
