"""Statements on pruning without a teacher as numbers, and the controls."""

import numpy as np
import xarray as xr

from relulab.core.short_repr import counted
from relulab.lab.claim import Claim
from relulab.lab.control import Control
from relulab.lab.interval import interval
from relulab.subjects.specialization.studies.pruned_pictures.measures import STAGES
from relulab.subjects.specialization.studies.shuffled import shuffled
from relulab.subjects.specialization.studies.statements import Statement, claimed, per_seed

LITTLE = 0.02
"""accuracy that counts as a small loss; the papers give no number"""


def claims_of(result: xr.Dataset, tuning_epochs: int) -> list[Claim]:
    """Judge the statements.

    Args:
        result: The result of the study.
        tuning_epochs: Number of epochs of training after pruning.
    """
    found, criteria = result.accuracy, result.by.values.tolist()
    pruned, refitted, tuned = (found.sel(stage=stage) for stage in STAGES)
    after = f"after {counted(tuning_epochs, 'epoch')} of training"
    statements = []
    if {"modulation", "norm"} <= {*criteria}:
        gain = pruned.sel(by="modulation") - pruned.sel(by="norm")
        statements.append(
            Statement(
                "LM.X.prune.modulation", "Pruning by top-down modulation costs less accuracy than by weight norm",
                per_seed(gain), within=(-1, 1),
                statistic="accuracy on held-out pictures directly after pruning, difference modulation − norm",
            )
        )  # fmt: skip
    statements.append(
        Statement(
            "LM.X.prune.refit", "Fitting the weights again that read the kept channels restores accuracy",
            per_seed((refitted - pruned).mean("by")), within=(-1, 1),
            statistic="accuracy on held-out pictures, with these weights fitted − directly after pruning, mean over "
            "criteria",
        )
    )  # fmt: skip
    if len(criteria) > 1:
        statements.append(
            Statement(
                "LM.X.prune.criteria", "Further training makes the choice of the criterion less important",
                per_seed(_spread(pruned) - _spread(tuned)), within=(-1, 1),
                statistic=f"accuracy of the best − of the worst criterion, directly after pruning − {after}",
            )
        )  # fmt: skip
    if "missed" in criteria:
        statements.append(
            Statement(
                "LM.X.prune.half", "Half of the multiply-adds can go at a cost of little accuracy",
                per_seed(result.whole - tuned.sel(by="missed")), "<", LITTLE, within=(-1, 1), note=_table(result),
                statistic=f"accuracy of the whole network − of the one pruned by the criterion missed, {after}",
            )
        )  # fmt: skip
    return claimed(statements, ~np.isfinite(result.whole.values))


def controls_of(result: xr.Dataset, root: int) -> list[Control]:
    """Return results on which the claims must not hold.

    Args:
        result: The result of the study.
        root: Root seed of all random streams.
    """
    stages = shuffled(result, "stage", "accuracy", root=root)
    without = result.accuracy.sel(stage="pruned", drop=True).min("by")
    return [
        Control("criteria assigned at random", ("LM.X.prune.modulation",),
                shuffled(result, "by", "accuracy", root=root)),
        Control("times of measurement assigned at random", ("LM.X.prune.refit", "LM.X.prune.criteria"), stages),
        Control("the worst criterion, without further training", ("LM.X.prune.half",),
                result.assign(accuracy=without.broadcast_like(result.accuracy))),
    ]  # fmt: skip


def _spread(accuracy: xr.DataArray) -> xr.DataArray:
    return accuracy.max("by") - accuracy.min("by")


def _table(result: xr.Dataset) -> str:
    """All accuracies in one sentence."""
    if result.sizes["seed"] < 2:
        return ""
    mean, half = interval(100 * result.accuracy)

    def cell(by: str, stage: str) -> str:
        at = {"by": by, "stage": stage}
        return f"{float(mean.sel(at)):.1f} ± {float(half.sel(at)):.1f}"

    rows = [f"{by} {', '.join(cell(by, stage) for stage in STAGES)}" for by in result.by.values.tolist()]
    whole, error = interval(100 * result.whole)
    return (
        f"In percent, with 95% intervals, the whole network has {float(whole):.1f} ± {float(error):.1f}. Directly "
        f"after pruning, with weights fitted again, and after training: {'; '.join(rows)}."
    )
