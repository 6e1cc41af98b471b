"""Claims on gradient flow to the max-margin directions."""

import numpy as np
import xarray as xr

from relulab.core.slope import power
from relulab.lab.claim import Claim, claim
from relulab.subjects.bias.tools.neuron_flow import DECADE

WORDS = {"paper": "the paper's data", "spanning": "data whose support examples span the space"}
TOLERANCE = 1e-3  # of directions, when the step is halved
NEAR = 0.05  # of the power


def statements(kind: str, result: xr.Dataset, d: int) -> list[Claim]:
    """Each seed has a value: that of its last look, or over its looks."""
    end = last(result)
    ranks = [float(v) for v in result.supports.mean("seed")]
    applies = bool((result.supports == d).all())
    note = (
        f"The support examples of either class span {ranks[0]:.3g} and {ranks[1]:.3g} of {d} dimensions on average: "
        + ("the theorem applies." if applies else "the theorem does not apply, its conclusion is seen all the same.")
        + f" The least cosine of all {result.sizes['seed']} seeds is {float(end.cosine.min()):.6f}."
    )
    on, id = f"On {WORDS[kind]}", f"IB.T1.flow.{{}}-{kind}"
    share = decided(result)
    undecided, off = (
        float(look["count"].sel(place=name).mean()) for look, name in ((result.isel(look=0), "undecided"), (end, "off"))
    )
    early = f"At the start {undecided:.3g} neurons are undecided on average; in the end {off:.2g} are off."
    found = [
        claim(id.format("cosine"), f"{on}, every live neuron points along its max-margin direction: one less the least "
              "cosine", 1 - end.cosine.values, "<", 1e-4, note, (0, 2)),
        claim(id.format("rank"), f"{on}, W has rank two in the limit: its third singular value over the first",
              end.beyond.values, "<", 1e-6, within=(0, 1)),
        claim(f"IB.L1.{kind}", f"{on}, every neuron is off or in an extremal sector of its sign while the loss is "
              "still above half of that at the start: share of the loss when the last one is", share, ">", 0.5, early,
              (0, 1)),
        claim(id.format("step"), f"{on}, half the step changes no direction of a live neuron: the largest change",
              result.halving.values, "<", TOLERANCE, "The tolerance is ours.", (0, 2)),
    ]  # fmt: skip
    if kind == "paper":
        found_power = powers(result)
        found.append(
            claim(id.format("rate"), f"{on}, where support examples do not span, the distance of eq. 8 falls as the "
                  "power −1/2 of −log ℓ: distance of the power from it", abs(found_power + 0.5), "<", NEAR,
                  f"The power is {found_power.mean():.3f}. This law is ours, and "
                  "its bound was set after trials.", (0, np.inf))
        )  # fmt: skip
    return found


def last(result: xr.Dataset) -> xr.Dataset:
    """Every seed at its last look; units of other seeds may have more of them, and NaN stands behind the end."""
    looks = result.log_loss.notnull().sum("look") - 1
    return result.isel(look=looks)


def decided(result: xr.Dataset) -> np.ndarray:
    """For every seed the loss at the first look from which no neuron is undecided any more, over that at the start."""
    undecided = result["count"].sel(place="undecided").transpose("seed", "look").values
    log_loss = result.log_loss.transpose("seed", "look").values
    shares = []
    for some, losses in zip(undecided, log_loss, strict=True):
        late = np.flatnonzero(some > 0)  # NaN behind the end counts as none
        look = late[-1] + 1 if len(late) else 0
        there = look < len(some) and np.isfinite(losses[look])
        shares.append(np.exp(losses[look] - losses[0]) if there else np.nan)
    return np.array(shares)


def powers(result: xr.Dataset) -> np.ndarray:
    """For every seed the power of −log ℓ with which the distance of eq. 8 falls over the last tenfold."""
    found = []
    for seed in result.seed:
        M, first = -result.log_loss.sel(seed=seed).values, result["first"].sel(seed=seed).values
        late = np.isfinite(M) & (np.nanmax(M) / DECADE <= M)
        found.append(power(M[late], first[late], fewest=3))
    return np.array(found)
