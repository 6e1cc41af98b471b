"""The statements of SS and LM on CIFAR-10 as numbers, and the controls."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from relulab.lab.claim import Claim
from relulab.lab.control import Control
from relulab.subjects.specialization.studies.cifar_students.measures import Arm
from relulab.subjects.specialization.studies.shuffled import shuffled
from relulab.subjects.specialization.studies.statements import Statement, claimed, per_seed

PRINTED = {1: (79.67, 80.15), 2: (83.09, 83.48), 5: (83.85, 84.18)}
"""accuracies in percent that SS prints, average and best, by width"""


def claims_of(result: xr.Dataset, arms: Sequence[Arm]) -> list[Claim]:
    """Judge the statements.

    Args:
        result: The result of the study.
        arms: The kinds of students.
    """
    last = int(result.epoch.max())
    end = result.sel(epoch=last)
    lost = ~np.isfinite(end.loss).all("arm").transpose("seed").values
    widths = sorted(arm.over for arm in arms if arm.norm)
    statements = _of_width(end, f"{widths[0]}×", f"{widths[-1]}×", widths, last) if len(widths) > 1 else []
    plain = next(arm for arm in arms if not arm.norm)
    statements += _of_norm(result, plain.name, f"{plain.over}×", last)
    statements.append(
        Statement(
            "LM.F9.better", "Students are more accurate than the teacher that they learn from",
            per_seed(end.accuracy.sel(arm=f"{widths[-1]}×") - end.pruned), within=(-1, 1),
            note=f"The teacher has {_percent(end.teacher)} before and {_percent(end.pruned)} after pruning.",
            statistic=f"accuracy on held-out pictures after {last} epochs, {widths[-1]}× students − pruned teacher",
        )
    )  # fmt: skip
    return claimed([*statements, *_of_order(end)], lost)


def controls_of(result: xr.Dataset, root: int) -> list[Control]:
    """Return results on which the claims must not hold.

    Args:
        result: The result of the study.
        root: Root seed of all random streams.
    """
    at_random = shuffled(result, "arm", "rho", "mean_rank", "accuracy", root=root)
    return [
        Control(
            "students assigned to the kinds at random", ("SS.F10.rho", "SS.F10.accuracy", "LM.F9.norm-*"), at_random
        ),
        Control("students before training", ("LM.F9.better",), _untrained(result)),
        Control("strengths in random order", ("SS.F10.order-*",), result.assign(order=result.order_random)),
    ]


def _untrained(result: xr.Dataset) -> xr.Dataset:
    start = result.accuracy.sel(epoch=0, drop=True)
    return result.assign(accuracy=start.expand_dims(epoch=result.epoch).transpose(*result.accuracy.dims))


def _of_width(end: xr.Dataset, low: str, high: str, widths: Sequence[int], last: int) -> list[Statement]:
    rho, found = end.rho.mean("layer"), end.accuracy
    printed = ", ".join(f"{a} / {b} at {over}×" for over, (a, b) in PRINTED.items())
    here = ", ".join(f"{_percents(found.sel(arm=f'{over}×'))} at {over}×" for over in widths)
    return [
        Statement(
            "SS.F10.rho", "Wider students specialize more",
            per_seed(rho.sel(arm=high) - rho.sel(arm=low)), within=(-1, 1),
            statistic=f"ρ_mean after {last} epochs, mean over layers, difference {high} − {low}",
        ),
        Statement(
            "SS.F10.accuracy", "Wider students generalize better",
            per_seed(found.sel(arm=high) - found.sel(arm=low)), within=(-1, 1),
            note=f"Average / best accuracy in percent here: {here}. Printed: {printed}.",
            statistic=f"accuracy on held-out pictures after {last} epochs, difference {high} − {low}",
        ),
    ]  # fmt: skip


def _of_norm(result: xr.Dataset, plain: str, normed: str, last: int) -> list[Statement]:
    early = int(result.epoch[1])
    at, rank = result.accuracy.sel(epoch=early), result.mean_rank.sel(epoch=early).mean("layer")
    return [
        Statement(
            "LM.F9.norm-accuracy", "BatchNorm makes students accurate earlier",
            per_seed(at.sel(arm=normed) - at.sel(arm=plain)), within=(-1, 1),
            statistic=f"accuracy on held-out pictures after epoch {early}, difference with − without BatchNorm",
        ),
        Statement(
            "LM.F9.norm-rank", "With BatchNorm, the best students of the end are ahead earlier",
            per_seed(rank.sel(arm=plain) - rank.sel(arm=normed)), within=(-1, 1),
            statistic=f"r̄ after epoch {early}, mean over layers, difference without − with BatchNorm",
        ),
    ]  # fmt: skip


def _of_order(end: xr.Dataset) -> list[Statement]:
    return [
        Statement(
            f"SS.F10.order-{layer}", f"Strong channels of layer {layer} are learned first",
            per_seed(end.order.sel(layer=layer).mean("arm")), within=(-1, 1),
            note="Not stated in the papers for deep networks.",
            statistic="rank correlation of √E[β_jj] and the rise of the best correlation during training, mean over "
            "kinds of students",
        )
        for layer in end.layer.values.tolist()
    ]  # fmt: skip


def _percents(values: xr.DataArray) -> str:
    return f"{100 * float(values.mean()):.2f} / {100 * float(values.max()):.2f}"


def _percent(values: xr.DataArray) -> str:
    return f"{100 * float(values.mean()):.2f} %"
