"""What the studies of LM figures 8 and 10 share: kinds of students side by side, their claims and their figure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from pydantic import PositiveFloat

from relulab.lab.claim import Claim
from relulab.lab.control import Control
from relulab.lab.study import Tick, Unit
from relulab.subjects.specialization.studies.course_drawing import drawn_courses, drawn_losses
from relulab.subjects.specialization.studies.deep_students import DeepStudents
from relulab.subjects.specialization.studies.shuffled import before_training, shuffled
from relulab.subjects.specialization.studies.statements import Statement, claimed, per_seed

NORMED = " with BatchNorm"


class Courses(DeepStudents):
    """Base class: ρ̄ and r̄ of several kinds of students, each with and without BatchNorm after the ReLU."""

    prefix: ClassVar[str]
    """how the ids of the claims about figure 8 begin"""
    usual: ClassVar[str]
    """the kind of students that figure 8 is about"""

    lr: PositiveFloat = 0.01
    """learning rate with BatchNorm"""
    lr_without: PositiveFloat = 0.001
    """learning rate without BatchNorm"""

    def kinds(self) -> Mapping[str, Mapping[str, Any]]:
        """The fields of each kind of students that differ from those of the study."""
        raise NotImplementedError

    def arms(self) -> dict[str, "Courses"]:
        """The settings of each kind of students, without and with BatchNorm."""
        plain = {"batch_norm": "none", "lr": self.lr_without}
        return {
            f"{kind}{suffix}": self.model_copy(update={**fields, **norm})
            for kind, fields in self.kinds().items()
            for suffix, norm in (("", plain), (NORMED, {"batch_norm": "after"}))
        }

    def units(self) -> list[Unit]:
        return [
            replace(unit, name=f"{arm.replace(' ', '-')}-{unit.name}", values={"arm": arm, **unit.values})
            for arm, study in self.arms().items()
            for unit in super(Courses, study).units()
        ]

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        arm = unit.values["arm"]
        data = super(Courses, self.arms()[arm]).measure(unit, tick)
        return data.assign_coords(arm=arm).expand_dims("arm")

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        seeds, widths = result.sizes["seed"], "× and ".join(map(str, self.over))
        about = f"{seeds} seeds, students {widths}× the teacher"
        return {"courses": drawn_courses(result, about), "losses": drawn_losses(result, about)}

    def controls(self, result: xr.Dataset) -> list[Control]:
        return [
            Control("students before training", (f"{self.prefix}.lowest", f"{self.prefix}.early"),
                    before_training(result)),
            Control("kinds of students assigned at random", ("LM.*",),
                    shuffled(result, "arm", "rho", "mean_rank", root=self.root)),
        ]  # fmt: skip

    def claims(self, result: xr.Dataset) -> list[Claim]:
        lost = ~np.isfinite(result.loss.sel(epoch=self.epochs)).all(("over", "arm")).values
        return claimed([*self.of_figure_8(result), *self.of_figure_10(result)], lost)

    def of_figure_8(self, result: xr.Dataset) -> list[Statement]:
        """Return what LM says about figure 8, as one number per seed.

        Args:
            result: The result of the study.
        """
        both = [self.usual, self.usual + NORMED]
        early, last = self.looks()[1], self.epochs
        risen = way(result.rho.sel(arm=both)).sel(epoch=last).mean("arm")
        rank = result.mean_rank.sel(arm=both).mean(("arm", "layer"))  # in a single layer it may be 0 from the start
        fallen = 1 - rank.sel(epoch=early) / rank.sel(epoch=0)
        end, first = result.rho.sel(epoch=last).mean("layer"), result.mean_rank.sel(epoch=early).mean("layer")
        plain, normed = both
        return [
            Statement(
                f"{self.prefix}.lowest", "Correlations grow most in the lowest layer",
                per_seed(risen.sel(layer=0) - risen.sel(layer=slice(1, None)).mean("layer")),
                statistic=f"share of the way of ρ̄ from its start to 1 after {last} epochs, layer 0 − the others",
            ),
            Statement(
                f"{self.prefix}.early", "The best students of the end are ahead early in training", per_seed(fallen),
                bound=0.5, statistic=f"share of the fall of r̄, from its start to 0, after epoch {early}",
            ),
            Statement(
                f"{self.prefix}.norm-rho", "BatchNorm gives better correlations",
                per_seed(end.sel(arm=normed) - end.sel(arm=plain)), within=(-1, 1),
                statistic=f"ρ̄ after {last} epochs, mean over layers, difference with − without BatchNorm",
            ),
            Statement(
                f"{self.prefix}.norm-rank", "With BatchNorm, the best students of the end are ahead earlier",
                per_seed(first.sel(arm=plain) - first.sel(arm=normed)), within=(-1, 1),
                statistic=f"r̄ after epoch {early}, mean over layers, difference without − with BatchNorm",
            ),
        ]  # fmt: skip

    def of_figure_10(self, result: xr.Dataset) -> list[Statement]:
        """Return what LM says about figure 10, as one number per seed.

        Args:
            result: The result of the study.
        """
        raise NotImplementedError

    def statistics(self, result: xr.Dataset) -> dict[str, xr.DataArray]:
        return {
            f"{name} of {arm}": result[variable].sel(arm=arm, epoch=self.epochs).mean(("over", "layer"))
            for arm in self.arms()
            for variable, name in (("rho", "ρ̄"), ("recovered", "recovered nodes"))
        }


def way(rho: xr.DataArray) -> xr.DataArray:
    """Return the share of the way from the initial correlation to 1.

    Args:
        rho: Mean best correlations over epochs.
    """
    start = rho.sel(epoch=0, drop=True)
    return (rho - start) / (1 - start)
