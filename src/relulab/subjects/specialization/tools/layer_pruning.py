"""Pruning of deep networks: nodes are removed from all layers, and the curve of what each size costs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.followed import followed
from relulab.nets.narrowing import check_narrowing
from relulab.nets.stages import structure
from relulab.subjects.specialization.tools.agreement import outputs
from relulab.subjects.specialization.tools.node_moments import moments
from relulab.subjects.specialization.tools.output_costs import Costs, costs
from relulab.subjects.specialization.tools.removal import Criterion, removals
from relulab.subjects.specialization.tools.removal_plan import Kept, Plan


class SizeOfLayers(NamedTuple):
    """A size of a deep network, and what it costs at the test points.

    Attributes:
        kept: Number of nodes kept in all layers.
        widths: Number of nodes kept in each layer.
        multiply_adds: Multiply-adds per point.
        costs: What is lost at the test points.
    """

    kept: int
    widths: tuple[int, ...]
    multiply_adds: int
    costs: Costs


@dataclass(frozen=True, repr=False)
class PrunedLayers:
    """A deep network with fewer nodes and the change of its outputs.

    Attributes:
        net: The smaller network, of the same class as the given one; an ``MLP`` is returned as an ``nn.Sequential``.
        kept: The nodes that are kept, by the name of the layer that makes them.
        makers: For each layer with such nodes, the name in ``kept``; layers whose outputs are added keep the same ones.
        by: The criterion.
        size: The chosen size, and its costs at the test points.
        sizes: The same for other sizes, from the smallest to the whole network.
        whole: Layers that were not pruned, with the reason.
        layers: Multiply-adds per point of each layer, before and after.
    """

    net: nn.Module
    kept: dict[str, list[int]]
    makers: dict[str, str]
    by: Criterion
    size: SizeOfLayers
    sizes: list[SizeOfLayers]
    whole: dict[str, str]
    layers: dict[str, tuple[int, int]]

    def __repr__(self) -> str:
        before, after = self.sizes[-1], self.size
        return (
            f"PrunedLayers({_chain(before.widths)} nodes to {_chain(after.widths)}, {after.multiply_adds:,} of "
            f"{before.multiply_adds:,} multiply-adds, lost {self.lost:.2g} of the variance)"
        )

    @property
    def lost(self) -> float:
        """Share of the variance of the outputs that is lost at the test points."""
        return self.size.costs.lost.value

    @property
    def agree(self) -> float | None:
        """Share of test points at which the largest output stays the same; None for a single output."""
        return None if self.size.costs.agree is None else self.size.costs.agree.value

    @property
    def largest(self) -> float:
        """Largest change of an output at the test points."""
        return self.size.costs.largest


def _chain(widths: Sequence[int]) -> str:
    return "-".join(map(str, widths))


def prune_layers(
    net: nn.Module,
    x: Tensor,
    *,
    by: Criterion = "missed",
    keep: Sequence[int] | None = None,
    keep_macs: float | None = None,
    tolerance: float = 0.01,
    refit: bool = True,
    choose: Tensor | None = None,
    test: Tensor | None = None,
    labels: Tensor | None = None,
    seed: int = 0,
) -> PrunedLayers:
    """Remove nodes from the layers of a network; see ``prune``.

    Args:
        net: The network. It is not changed.
        x: Points, (N, …), on which nodes are selected and weights are fitted.
        by: The criterion; see ``removals``.
        keep: Number of nodes to keep in each layer that can be pruned.
        keep_macs: Share of the multiply-adds to keep.
        tolerance: Share of the variance of the outputs that may be lost.
        refit: Whether the kept nodes stand in for the removed ones.
        choose: Points on which the size is chosen.
        test: Points on which costs are measured.
        labels: Classes of the test points.
        seed: Seed of random choices.
    """
    test = x if test is None else test
    if len(x) < 2 or len(test) < 2:
        raise UserError(f"expected at least 2 points to compute a variance, got {min(len(x), len(test))}")
    of = structure(net, x)
    if not all(p.isfinite().all() for p in of.net.parameters() if p.is_floating_point()):
        raise UserError(
            "expected a network with finite weights, got NaN or infinite ones: use one that did not diverge"
        )
    check_narrowing(of, x)
    y = outputs(of.net, test)
    costs(y, y, labels)  # complains about points and labels before the work begins
    needed = refit or by in ("missed", "modulation", "merge")
    found = moments(of, x, seed) if needed else {}
    plan = Plan(of, by, removals(of, by, found, seed), found, refit)
    if keep is not None:
        kept = plan.widths(keep)
    elif keep_macs is not None:
        kept = plan.first(plan.affordable(keep_macs))
    else:
        kept = plan.first(plan.fewest(tolerance, test if choose is None else choose))
    small = plan.network(kept)

    def size(chosen: Kept, network: nn.Module) -> SizeOfLayers:
        widths = tuple(len(nodes) for nodes in chosen.values())
        return SizeOfLayers(sum(widths), widths, plan.multiply_adds(chosen), costs(y, outputs(network, test), labels))

    others = [plan.first(count) for count in plan.spread()]
    curve = [size(chosen, plan.network(chosen)) for chosen in followed(others, "measuring sizes")]
    before, after = of.multiply_adds(), of.multiply_adds({name: len(nodes) for name, nodes in kept.items()})
    return PrunedLayers(
        small, {name: nodes.tolist() for name, nodes in kept.items()},
        {maker: stage.name for stage in of.stages for maker in stage.makers}, by, size(kept, small), curve,
        dict(of.whole), {layer: (before[layer], after[layer]) for layer in before},
    )  # fmt: skip
