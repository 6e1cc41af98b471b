"""Two-layer studies that train students in several ways, the arms, in the same seeds."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from relulab.lab.show.figure import look
from relulab.lab.study import Tick, Unit
from relulab.subjects.specialization.studies.two_layer_students import Correlation, TwoLayer, recovered_nodes


class Arms(TwoLayer):
    """Base class: a unit trains one arm of one student width with a block of seeds.

    In each seed, all arms share the random streams of teacher, data, initial weights and batches.
    """

    arms: ClassVar[Mapping[str, str]]
    """the arms, with their labels in figures"""

    threshold: Correlation = 0.95
    """correlation above which a student follows a teacher node, and the node counts as recovered"""

    def units(self) -> list[Unit]:
        return [
            replace(unit, name=f"{arm}-{unit.name}", values={**unit.values, "arm": arm})
            for arm in self.arms
            for unit in self.in_arm(arm).one_arm_units()
        ]

    def one_arm_units(self) -> list[Unit]:
        """The units of one arm."""
        return super().units()

    @abstractmethod
    def in_arm(self, arm: str) -> "Arms":
        """Return the study with the settings of one arm."""

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        data = TwoLayer.measure(self.in_arm(unit.values["arm"]), unit, tick)
        return data.assign_coords(arm=unit.values["arm"]).expand_dims("arm")

    def statistics(self, result: xr.Dataset) -> dict[str, xr.DataArray]:
        shares = self.share(result).sel(epoch=self.epochs, drop=True)
        return {
            f"share of nodes recovered, {words}": shares.sel(arm=arm, drop=True) for arm, words in self.arms.items()
        }

    def share(self, result: xr.Dataset) -> xr.DataArray:
        """Return the share of teacher nodes that are recovered, along "seed", "arm" and "epoch"."""
        shares = recovered_nodes(result, self.threshold).mean(("over", "polarity", "node"), skipna=False)
        return shares.transpose("seed", "arm", ...)

    def curves(self, ax: Axes, values: xr.DataArray) -> None:
        """Plot means over seeds against the epoch with two standard errors, one line per arm.

        Args:
            ax: Where to plot.
            values: Values along "seed", "arm" and "epoch".
        """
        mean, error = values.mean("seed"), values.std("seed", ddof=1) / np.sqrt(values.sizes["seed"])
        for i, (arm, label) in enumerate(self.arms.items()):
            y, e = (a.sel(arm=arm) for a in (mean, error))
            ax.plot(y.epoch, y, ms=4, label=label, **look(i))
            ax.fill_between(y.epoch, y - 2 * e, y + 2 * e, color=look(i)["color"], alpha=0.2, lw=0)
        ax.set(xlabel="epoch")

    def apart(self, values: xr.DataArray, first: str, second: str, **where: Any) -> np.ndarray:
        """Return the difference of two arms in every seed.

        Args:
            values: Values along "seed" and "arm".
            first: An arm.
            second: The arm that is subtracted.
            where: Places along other dimensions.
        """
        at = values.sel(where)
        return (at.sel(arm=first, drop=True) - at.sel(arm=second, drop=True)).values
