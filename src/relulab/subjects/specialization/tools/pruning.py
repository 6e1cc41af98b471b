"""Pruning of networks: fewer nodes in one or more layers, with hardly any change of the outputs."""

from collections.abc import Sequence
from numbers import Integral

from jaxtyping import Float, Shaped
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.nets.hooks import points
from relulab.nets.mlp import MLP, as_mlp
from relulab.subjects.specialization.tools.layer_pruning import PrunedLayers, prune_layers
from relulab.subjects.specialization.tools.removal import Criterion
from relulab.subjects.specialization.tools.two_layer_pruning import EPSILON, Pruned, prune_two_layers


def prune(
    net: nn.Module,
    x: Float[Tensor, "N *x"],
    *,
    by: Criterion | None = None,
    epsilon: float = EPSILON,
    keep: int | Sequence[int] | None = None,
    keep_macs: float | None = None,
    tolerance: float = 0.01,
    teacher: nn.Module | None = None,
    refit: bool = True,
    choose: Float[Tensor, "K *x"] | None = None,
    test: Float[Tensor, "M *x"] | None = None,
    labels: Shaped[Tensor, " M_"] | None = None,
    seed: int = 0,
) -> Pruned | PrunedLayers:
    r"""Remove as many nodes of a network as possible, such that its outputs hardly change.

    Whole nodes are removed: units of linear layers and channels of convolutions, with their entries in BatchNorm layers
    and the columns that read them. So the result is a smaller network. Layers may be connected by activations,
    pooling, flattening, dropout and additions, as in residual blocks; a layer whose nodes enter anything else is kept
    whole.

    With a refit, the nodes that are kept stand in for those that are removed: their activations are fitted by least
    squares to those of the removed nodes, and the coefficients go into the weights of the layers that read them.

    A network with one hidden layer of (leaky) ReLUs is pruned with more care, unless one of ``by``, ``keep_macs`` and
    ``labels`` is given: nodes that share a hyperplane within ε are merged into groups (SS theorem 2, corollary 1),
    groups are dropped one by one, each time the one without which a least-squares fit of the outputs is best, and the
    change is bounded. With a teacher, the group nearest to each of its nodes is dropped last, if the alignment error
    is at most 0.2 (or ε, if that is larger).

    Args:
        net: A module that can be traced, an ``MLP`` with one lane, or a program read by ``relulab.load``. It is not
            changed.
        x: Points, (N, …), at least 2, on which nodes are selected and weights are fitted.
        by: What the order of removal depends on: "missed" (default), "modulation", "merge", "fan-out", "norm" or
            "random"; see ``removals``.
        epsilon: The alignment error ε up to which nodes of a two-layer network are merged, at least 0.
        keep: Number of nodes to keep, at least 1; for several layers, one number for each of them. None keeps as few
            as possible within ``tolerance``.
        keep_macs: Share of the multiply-adds to keep, such as 0.5. None keeps as few as possible within ``tolerance``.
        tolerance: Share of the variance of the outputs that may be lost, from 0 to below 1.
        teacher: A two-layer network. The groups nearest to its nodes are kept first. None ranks all in the same way.
        refit: Whether the nodes that are kept stand in for the others. Without, removed nodes count as 0; nodes merged
            by "merge" are replaced by multiples of others.
        choose: Other points, (K, …), on which the number of nodes is chosen. None uses the test points, which makes
            the costs of the chosen number look somewhat lower than they are.
        test: Other points, (M, …), on which the costs of the pruned network are measured. None uses ``x``.
        labels: Classes of the test points, (M,), for accuracy and loss.
        seed: Seed of random choices.

    Returns:
        The smaller network ``net`` with its costs: ``PrunedLayers``, or ``Pruned`` for one hidden layer.

    >>> import torch
    >>> net = MLP((1, 3, 1), dtype=torch.float64)
    >>> net.W[0].data[0], net.W[1].data[0] = torch.tensor([[1.0, 2.0, -1.0]]), torch.tensor([[4.0], [-2.0], [1.0]])
    >>> prune(net, torch.linspace(-1, 1, 9)[:, None]).net.widths
    (1, 1, 1)
    """
    x = points(x)
    if keep is not None and keep_macs is not None:
        raise UserError("expected a number of nodes or a share of the multiply-adds to keep, got both: leave out one")
    keep = int(keep) if isinstance(keep, Integral) else keep  # a number of NumPy
    count = keep if isinstance(keep, int) else None
    simple = by is None and keep_macs is None and labels is None and keep == count
    if simple and (plain := shallow(net, x)) is not None:
        return prune_two_layers(
            plain, x, epsilon=epsilon, keep=count, tolerance=tolerance, teacher=teacher, refit=refit, choose=choose,
            test=test,
        )  # fmt: skip
    for name, wrong in (("epsilon", epsilon != EPSILON), ("teacher", teacher is not None)):
        if wrong:
            raise UserError(
                f"expected no {name}, which is for two-layer networks that are pruned without by, keep_macs and "
                "labels: leave it out"
            )
    return prune_layers(
        net, x, by=by or "missed", keep=[keep] if isinstance(keep, int) else keep, keep_macs=keep_macs,
        tolerance=tolerance, refit=refit, choose=choose, test=test, labels=labels, seed=seed,
    )  # fmt: skip


def shallow(net: nn.Module, x: Tensor) -> MLP | None:
    """Return a network with one hidden layer of (leaky) ReLUs; None for another one, or if points are no rows.

    Args:
        net: The network.
        x: Points.
    """
    try:
        plain = as_mlp(net)
    except UserError:
        return None
    return plain if plain.depth == 2 and (isinstance(net, MLP) or x.dim() == 2) else None
