"""The statements of LM on figure 11 as numbers, and the controls."""

import numpy as np
import xarray as xr

from relulab.lab.claim import Claim
from relulab.lab.control import Control
from relulab.subjects.specialization.studies.statements import Statement, claimed

MASS = "log₂ of the ratio of mean absolute diagonal to other entries"
NAMES = {"H": "H*", "beta": "β*"}


def claims_of(result: xr.Dataset) -> list[Claim]:
    """Judge the statements on the mean over hidden layers.

    Args:
        result: The result of the study.
    """
    last = int(result.epoch.max())
    after = result.sel(epoch=last)
    statements = [
        Statement(
            f"LM.F11.diagonal-{kind}",
            f"Students that follow a teacher node get large entries in {NAMES[kind]} for it",
            _over_layers(after[f"ratio_{kind}"] - result[f"ratio_{kind}"].sel(epoch=0)),
            statistic=f"{MASS} of {NAMES[kind]} among matched students, change over {last} epochs, mean over layers",
        )
        for kind in NAMES
    ]
    statements.append(
        Statement(
            "LM.F11.clearer",
            "The diagonal is clearer in H* than in β*",
            _over_layers(after.ratio_H - after.ratio_beta),
            statistic=f"{MASS} after {last} epochs, difference H* − β*, mean over layers",
        )
    )
    statements.append(
        Statement(
            "LM.F11.high-beta",
            "Students with a high correlation with a teacher node also have a high β* for it",
            _over_layers(after.ranks),
            within=(-1, 1),
            statistic=f"rank correlation of ρ and β* over all pairs of nodes after {last} epochs, mean over layers",
        )
    )
    lost = ~np.isfinite(after.loss).all("over").values
    return claimed(statements, lost)


def controls_of(result: xr.Dataset) -> list[Control]:
    """Return results on which the claims must not hold.

    Args:
        result: The result of the study.
    """
    random = {name: result[f"{name}_random"] for name in ("ratio_H", "ratio_beta", "ranks")}
    return [Control("students matched with teacher nodes at random", ("LM.F11.*",), result.assign(random))]


def _over_layers(values: xr.DataArray) -> np.ndarray:
    return values.mean(("layer", "over"), skipna=False).transpose("seed").values
