"""What LM says about figure 7, as numbers."""

import numpy as np
import xarray as xr

from relulab.lab.claim import rank_correlation
from relulab.subjects.specialization.studies.statements import Statement

SEPARATE = 0.95  # share of pairs from which the two sets count as clearly separated
SAME = 0.1  # relative growth of a gap that counts as none


def statements(result: xr.Dataset, epochs: int) -> list[Statement]:
    """Return the paper's statements, one value per seed.

    Args:
        result: The result of the study, sorted by "p_W" and "p_V", with the dimension "seed" first.
        epochs: Number of epochs.
    """
    start, end = result.sel(epoch=0, drop=True), result.sel(epoch=epochs, drop=True)
    least_W, most_W, most_V = (float(p) for p in (result.p_W[0], result.p_W[-1], result.p_V[-1]))
    gap_before, gap_after = (at.u - at.r for at in (start, end))
    grown = (gap_after - gap_before).isel(p_W=-1).min("p_V", skipna=False).mean("over", skipna=False)
    corner = {"p_W": 0, "p_V": -1}
    widened = (gap_after.isel(corner) / gap_before.isel(corner) - 1).mean("over", skipna=False)
    return [
        Statement(
            "LM.F7.separate",
            "If input weights start near the teacher's, the norms of V_u and V_r separate clearly, whatever p_V is",
            end.larger.isel(p_W=-1).min("p_V", skipna=False).mean("over", skipna=False).values,
            ">",
            SEPARATE,
            within=(0, 1),
            statistic=f"share of pairs of one node of each set in which the node of the u-set has the larger fan-out "
            f"after {epochs} epochs, at p_W = {most_W:g}, smallest value over p_V, mean over widths",
        ),
        Statement(
            "LM.F7.widens",
            "If input weights start near the teacher's, the gap between V_u and V_r widens, whatever p_V is",
            grown.values,
            statistic=f"growth of the difference of the mean norms of both sets over {epochs} epochs, at p_W = "
            f"{most_W:g}, smallest value over p_V, mean over widths",
        ),
        Statement(
            "LM.F7.small-p_W",
            "If input weights start far from the teacher's, the gap does not widen, even if fan-outs start near",
            widened.values,
            "<",
            SAME,
            "A growth below a tenth counts as none.",
            statistic=f"growth of the difference of the mean norms of both sets over {epochs} epochs, relative to the "
            f"start, at p_W = {least_W:g} and p_V = {most_V:g}, mean over widths",
        ),
        _closer("weights", "input weights", result.p_W, end.r, epochs),
        _closer("fan-outs", "fan-outs", result.p_V, end.r, epochs),
    ]


def _closer(name: str, words: str, p: xr.DataArray, r: xr.DataArray, epochs: int) -> Statement:
    values = rank_correlation(p.values, r.transpose("seed", ..., str(p.name)).values)
    return Statement(
        f"LM.F7.closer-{name}",
        f"The nearer {words} start to the teacher's, the smaller V_r gets",
        values.mean(tuple(range(1, values.ndim))) if values.ndim > 1 else np.asarray(values),
        "<",
        within=(-1, 1),
        statistic=f"rank correlation between {p.name} and the mean norm of V_r after {epochs} epochs, mean over widths "
        f"and over the values of {'p_V' if p.name == 'p_W' else 'p_W'}",
    )
