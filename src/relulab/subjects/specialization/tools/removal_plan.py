"""One order in which the nodes of all layers are removed, and the networks on the way."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Int
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.followed import followed
from relulab.nets.narrowing import narrowed
from relulab.nets.stages import Structure
from relulab.subjects.specialization.tools.agreement import outputs
from relulab.subjects.specialization.tools.node_moments import Moments
from relulab.subjects.specialization.tools.output_costs import variance_lost
from relulab.subjects.specialization.tools.removal import IN_OUTPUTS, Criterion, Removal
from relulab.subjects.specialization.tools.stand_ins import fitted_stands, merged_stands

SHARES = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)  # of multiply-adds, whose costs are measured
Kept = dict[str, Int[Tensor, " _"]]
"""the nodes that are kept, in ascending order, by the name of their stage"""


class Plan:
    """Removes nodes of all stages in the order of their costs; one node of each stage is left.

    Where costs are changes of the outputs, the order is that of their squares per multiply-add that is saved.

    Args:
        of: The structure of the network.
        by: The criterion.
        removal: The order in each stage.
        found: The moments of the values that are read, needed by ``refit`` and by merging.
        refit: Whether the kept nodes stand in for the removed ones.
    """

    def __init__(
        self, of: Structure, by: Criterion, removal: Mapping[str, Removal], found: Mapping[str, Moments], refit: bool
    ):
        self.of, self.by, self.removal, self.found, self.refit = of, by, removal, found, refit
        steps = [
            (cost / price, l, i)
            for l, (s, price) in enumerate(zip(of.stages, self._prices(), strict=True))
            for i, cost in enumerate(removal[s.name].costs[:-1].tolist())
        ]
        self.steps = [l for _, l, _ in sorted(steps)]

    def _prices(self) -> list[float]:
        """Return what the costs of each stage are divided by: errors of outputs count per multiply-add."""
        if self.by not in IN_OUTPUTS:
            return [1.0] * len(self.of.stages)
        counts = self.of.multiply_adds()
        layers = ((*s.makers, *(reader.layer for reader in s.readers)) for s in self.of.stages)
        return [(sum(counts[l] for l in of) / s.nodes) ** 0.5 for of, s in zip(layers, self.of.stages, strict=True)]

    def widths(self, keep: Sequence[int]) -> Kept:
        """Return the kept nodes for a number of nodes in each stage.

        Args:
            keep: The numbers, one per stage.
        """
        stages = self.of.stages
        if len(keep) != len(stages):
            named = ", ".join(f"{stage.name} with {stage.nodes}" for stage in stages)
            raise UserError(
                f"expected one number of nodes to keep for each of the {len(stages)} layers ({named}), got "
                f"{len(keep)}: {', '.join(map(str, keep))}"
            )
        for stage, count in zip(stages, keep, strict=True):
            if not 1 <= count <= stage.nodes:
                raise UserError(f"expected from 1 to {stage.nodes} nodes to keep in layer {stage.name}, got {count}")
        return {s.name: self._last(s.name, count) for s, count in zip(stages, keep, strict=True)}

    def first(self, count: int) -> Kept:
        """Return the kept nodes after the first removals.

        Args:
            count: Number of removed nodes.
        """
        gone = torch.bincount(torch.tensor(self.steps[:count], dtype=torch.long), minlength=len(self.of.stages))
        return {s.name: self._last(s.name, s.nodes - int(gone[l])) for l, s in enumerate(self.of.stages)}

    def _last(self, name: str, count: int) -> Int[Tensor, " k"]:
        order = self.removal[name].order
        return order[len(order) - count :].sort().values

    def network(self, kept: Kept) -> nn.Module:
        """Return the network with some of its nodes.

        Args:
            kept: The nodes.
        """
        stands = None
        if self.refit:
            stands = fitted_stands(self.of, kept, self.found)
        elif self.by == "merge":
            stands = merged_stands(self.of, kept, self.found)
        return narrowed(self.of, kept, stands).eval()

    def multiply_adds(self, kept: Kept) -> int:
        """Return the multiply-adds per point with some of the nodes.

        Args:
            kept: The nodes.
        """
        return sum(self.of.multiply_adds({name: len(nodes) for name, nodes in kept.items()}).values())

    def affordable(self, share: float) -> int:
        """Return the smallest number of removals after which at most a share of the multiply-adds is left.

        Args:
            share: The share, above 0 and at most 1.
        """
        if not 0 < share <= 1:
            raise UserError(f"expected a share of the multiply-adds above 0 and at most 1, got {share}")
        total = self.multiply_adds(self.first(0))
        low, high = 0, len(self.steps)
        least = self.multiply_adds(self.first(high)) / total
        if least > share:
            raise UserError(
                f"expected a share of the multiply-adds that can be reached, got {share:g}: with one node in each "
                f"layer that can be pruned, {least:.2g} is left"
            )
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.multiply_adds(self.first(middle)) <= share * total else (middle + 1, high)
        return low

    def spread(self) -> list[int]:
        """Return numbers of removals that leave some shares of the multiply-adds, all, and the least; largest first."""
        least = self.multiply_adds(self.first(len(self.steps))) / self.multiply_adds(self.first(0))
        return sorted({0, len(self.steps), *(self.affordable(s) for s in SHARES if s > least)}, reverse=True)

    def fewest(self, tolerance: float, x: Tensor) -> int:
        """Return a number of removals that loses at most a share of the variance, while one more loses more.

        Args:
            tolerance: The share.
            x: Points on which it is measured.
        """
        if not 0 <= tolerance < 1:
            raise UserError(f"expected a tolerance from 0 to below 1, a share of the variance, got {tolerance}")
        y = outputs(self.of.net, x)

        def fits(count: int) -> bool:
            return variance_lost(y, outputs(self.network(self.first(count)), x)) <= tolerance

        tried = self.spread()
        most = next((i for i, count in enumerate(followed(tried, "trying sizes")) if fits(count)), None)
        if not most:
            return 0 if most is None else tried[0]
        low, high = tried[most], tried[most - 1]
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return low
