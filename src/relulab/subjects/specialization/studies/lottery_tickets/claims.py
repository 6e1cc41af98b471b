"""What LM says about lottery tickets, as numbers."""

import numpy as np
import xarray as xr

from relulab.subjects.specialization.studies.statements import Statement

SAME = 0.1  # increase of log₁₀ loss, by a quarter, up to which a loss counts as the same


def exchanged(result: xr.Dataset, **arms: str) -> xr.Dataset:
    """Return a result in which some arms have the values of others.

    Args:
        result: The result of the study.
        arms: For each arm that is replaced, the arm whose values it gets.
    """
    loss, lucky = result.loss, result.lucky
    for arm, other in arms.items():
        loss = xr.where(loss.arm == arm, loss.sel(arm=other, drop=True), loss)
        lucky = xr.where(lucky.by == arm, lucky.sel(by=other, drop=True), lucky)
    return result.assign(loss=loss.transpose(*result.loss.dims), lucky=lucky.transpose(*result.lucky.dims))


def statements(end: xr.Dataset, epochs: int) -> list[Statement]:
    """Return the paper's statements, one value per seed, each a mean over the numbers of nodes that are kept.

    Args:
        end: The result of the study at the end of training, with losses as shares of the variance.
        epochs: Number of epochs.
    """
    loss, cut = np.log10(end.loss), np.log10(end.cut)
    ticket, full = loss.sel(arm="modulation", drop=True), np.log10(end.full)
    after = f"after {epochs} epochs, mean over the numbers of nodes that are kept"
    side = end.lucky.sel(by="modulation", drop=True)
    return [
        Statement(
            "LM.LT.same", "Winners, trained again from their initial weights, do at least as well as the full student",
            _mean(ticket - full), "<", SAME, _by_size(ticket - full),
            statistic=f"log₁₀ evaluation loss of the rewound winners − of the full student, {after}",
        ),
        Statement(
            "LM.LT.winners", "Winners, trained again, do better than equally many random nodes",
            _mean(loss.sel(arm="random", drop=True) - ticket), note=_by_size(loss.sel(arm="random") - ticket),
            statistic=f"log₁₀ evaluation loss of random nodes − of rewound winners, {after}",
        ),
        Statement(
            "LM.LT.redrawn", "Winners whose initial weights are drawn again do worse",
            _mean(loss.sel(arm="redrawn", drop=True) - ticket), note=_by_size(loss.sel(arm="redrawn") - ticket),
            statistic=f"log₁₀ evaluation loss of winners with weights drawn again − of rewound winners, {after}",
        ),
        Statement(
            "LM.LT.lucky", "Winners started nearer to teacher nodes than all others",
            _mean(side.sel(side="kept") - side.sel(side="other")), within=(-2, 2),
            statistic="mean best correlation with a teacher node before training, of the winners − of all others, mean "
            "over the numbers of nodes that are kept",
        ),
        Statement(
            "LM.LT.prune", "Pruning by top-down modulation costs less than pruning by weight norm",
            _mean(cut.sel(by="norm", drop=True) - cut.sel(by="modulation", drop=True)),
            statistic="log₁₀ evaluation loss directly after pruning by weight norm − by modulation, mean over the "
            "numbers of nodes that are kept",
        ),
        Statement(
            "LM.LT.tickets", "Winners by top-down modulation make better tickets than winners by weight norm",
            _mean(loss.sel(arm="norm", drop=True) - ticket),
            note="LM suggests pruning by modulation, but says nothing of its tickets.",
            statistic=f"log₁₀ evaluation loss of rewound winners by weight norm − by modulation, {after}",
        ),
    ]  # fmt: skip


def _mean(values: xr.DataArray) -> np.ndarray:
    return values.mean("keep", skipna=False).transpose("seed").values


def _by_size(values: xr.DataArray) -> str:
    mean = values.mean("seed")
    parts = [f"{float(mean.sel(keep=keep)):.2f} with {keep:g}× the teacher's nodes" for keep in mean.keep.values]
    return f"Means over seeds: {', '.join(parts)}."
