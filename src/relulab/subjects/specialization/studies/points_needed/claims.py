"""Claims about the growth of the number of points, and alternatives on which they must fail."""

import numpy as np
import xarray as xr

from relulab.core.slope import power
from relulab.lab.claim import Claim, claim
from relulab.lab.control import Control

POWERS = {  # printed powers of K, d and 1/ε
    "SS.T3": {"K": 2.5, "d": 2.0, "epsilon": 1.0},
    "SS.T4": {"K": 2.5, "d": 1.0, "epsilon": 1.0},
}
ROOM = 0.1  # a measured power may be larger by this: orders describe large sizes, the fit is over a finite range
WORDS = {"K": ("the number K of nodes", "K^{}"), "d": ("the number d of inputs", "d^{}"), "epsilon": ("1/ε", "ε^−{}")}


def growth(result: xr.Dataset) -> list[Claim]:
    """Claim that the numbers of points grow with powers that are not larger than printed.

    Args:
        result: The result of the study.
    """
    claims = []
    for theorem, powers in POWERS.items():
        for letter, most in powers.items():
            N, (what, order) = result[f"asked_{letter}"].sel(theorem=theorem), WORDS[letter]
            says = f"The number of points that theorem {theorem[-1]} asks for grows with {what} at most as {{}}"
            x = 1 / N[letter].values if letter == "epsilon" else N[letter].values
            claims.append(
                claim(
                    f"{theorem}.n.{letter}", says.format(order.format(f"{most:g}")),
                    power(x, N.transpose(letter, "seed").values), "<", most + ROOM,
                    statistic=f"slope of the log of the number of points against the log of {what}",
                    # In a seed the points are the same for every ε, so the power of 1/ε follows from the formula.
                    check=letter == "epsilon",
                )
            )  # fmt: skip
    return claims


def alternatives(result: xr.Dataset) -> list[Control]:
    """Other numbers of points, which grow faster.

    Args:
        result: The result of the study.
    """
    aware, agnostic = (result.theorem == t for t in ("SS.T4", "SS.T3"))
    plain = result.asked_d.sel(theorem="SS.T3", drop=True)
    augmented = result.assign(asked_d=xr.where(agnostic, result.asked_d * (2 * result.d + 1), result.asked_d))
    blind = result.assign(asked_d=xr.where(aware, plain, result.asked_d))
    own = result.assign(asked_K=result.asked_K * np.maximum(2, result.K // 3))
    corner = result.assign(asked_epsilon=result.corner)
    return [
        Control("the number of points after augmentation", ("SS.T3.n.d",), augmented),
        Control("theorem 3, which does not use the teacher", ("SS.T4.n.d",), blind),
        Control("points of its own for every teacher node", ("SS.T3.n.K", "SS.T4.n.K"), own),
        Control("points near two boundaries at once", ("SS.T3.n.epsilon", "SS.T4.n.epsilon"), corner),
    ]
