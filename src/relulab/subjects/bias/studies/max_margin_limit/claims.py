"""Claims on gradient flow to the max-margin directions."""

import numpy as np
import xarray as xr

from relulab.core.slope import power
from relulab.lab.claim import Claim, claim
from relulab.lab.control import Control
from relulab.subjects.bias.tools.neuron_flow import DECADE

DATA = {"paper": "the paper's data", "spanning": "data with spanning support examples"}
TOLERANCE = 1e-3  # largest change of a direction when the step is halved
NEAR = 0.05  # largest difference of the power from −1/2


def statements(kind: str, result: xr.Dataset, d: int) -> list[Claim]:
    """The claims for one kind of data, with one value per seed.

    Args:
        kind: ``paper`` or ``spanning``.
        result: The result for this kind of data.
        d: The input dimension.
    """
    end, on, id = last(result), f"On {DATA[kind]}, ", f"IB.T1.flow.{{}}-{kind}"
    claims = [
        claim(id.format("cosine"), f"{on}every live neuron ends in its max-margin direction", 1 - end.cosine.values,
              "<", 1e-4, _supports(result, end, d), (0, 2),
              "1 minus the least cosine of a live neuron with its max-margin direction, at the end"),
        claim(id.format("rank"), f"{on}the first-layer weights have rank two in the limit", end.beyond.values, "<",
              1e-6, within=(0, 1),
              statistic="third singular value of the first-layer weights divided by the first, at the end"),
        claim(f"IB.L1.{kind}", f"{on}every neuron is off or in an extremal sector before the loss has halved",
              decided(result), ">", 0.5, _early(result, end), (0, 1),
              "loss at the time when the last neuron is off or in the extremal sector of its sign, divided by the loss "
              "at the start"),
        claim(id.format("step"), f"{on}the directions do not depend on the step size", result.halving.values, "<",
              TOLERANCE, "The tolerance is ours.", (0, 2),
              "largest change of the direction of a live neuron when the step is halved", check=True),
    ]  # fmt: skip
    if kind == "paper":
        rates = powers(result)
        claims.append(
            claim(id.format("rate"), f"{on}the distance from the limit falls as the power −1/2 of −log of the loss",
                  abs(rates + 0.5), "<", NEAR,
                  f"The power is {rates.mean():.3f} on average. This law is ours: it is expected where support "
                  "examples do not span the space. The bound was chosen after a first run.", (0, np.inf),
                  "absolute difference between −1/2 and the power of −log of the loss with which the distance of eq. 8 "
                  "falls")
        )  # fmt: skip
    return claims


def controls(result: xr.Dataset) -> list[Control]:
    """Results on which the claims must not hold.

    Args:
        result: The result of the study, for all kinds of data.
    """
    start = result.isel(look=0)
    untrained = result.assign({name: start[name].broadcast_like(result[name]) for name in ("beyond", "count")})
    found = [
        Control("the means of the classes in place of the max-margin vectors", ("IB.T1.flow.cosine-*",),
                result.assign(cosine=result.with_mean)),
        Control("networks that stay as they start", ("IB.T1.flow.rank-*", "IB.L1.*"), untrained),
    ]  # fmt: skip
    if {"paper", "spanning"} <= set(result.kind.values.tolist()):
        spanning = result.sel(kind=["spanning", "spanning"]).assign_coords(kind=["paper", "spanning"])
        found.append(Control("data with spanning support examples", ("IB.T1.flow.rate-*",), spanning))
    return found


def _supports(result: xr.Dataset, end: xr.Dataset, d: int) -> str:
    ranks = [float(v) for v in result.supports.mean("seed")]
    applies = bool((result.supports == d).all())
    return (
        f"On average, the support examples of the two classes span {ranks[0]:.3g} and {ranks[1]:.3g} of {d} "
        "dimensions: "
        + ("theorem 1 applies." if applies else "theorem 1 does not apply, but its conclusion is tested.")
        + f" The least cosine over all {result.sizes['seed']} seeds is {float(end.cosine.min()):.6f}."
    )


def _early(result: xr.Dataset, end: xr.Dataset) -> str:
    undecided = float(result.isel(look=0)["count"].sel(place="undecided").mean())
    off = float(end["count"].sel(place="off").mean())
    return (
        f"On average, {undecided:.3g} neurons are neither off nor in an extremal sector at the start, and {off:.2g} "
        "are off at the end."
    )


def last(result: xr.Dataset) -> xr.Dataset:
    """The last snapshot of every seed. Seeds have different numbers of snapshots, padded with NaN.

    Args:
        result: The result for one kind of data.
    """
    return result.isel(look=result.log_loss.notnull().sum("look") - 1)


def decided(result: xr.Dataset) -> np.ndarray:
    """For every seed, the loss at the first snapshot from which no neuron is undecided, divided by the initial loss.

    It is 0 if some neuron is still undecided at the end.

    Args:
        result: The result for one kind of data.
    """
    undecided = result["count"].sel(place="undecided").transpose("seed", "look").values
    log_loss = result.log_loss.transpose("seed", "look").values
    shares = []
    for counts, losses in zip(undecided, log_loss, strict=True):
        late = np.flatnonzero(counts > 0)  # NaN after the end counts as none
        first = late[-1] + 1 if len(late) else 0
        exists = first < len(counts) and np.isfinite(losses[first])
        shares.append(np.exp(losses[first] - losses[0]) if exists else 0.0)
    return np.array(shares)


def powers(result: xr.Dataset) -> np.ndarray:
    """For every seed, the power of −log ℓ with which the distance of eq. 8 falls over the last tenfold of −log ℓ.

    Args:
        result: The result for one kind of data.
    """
    slopes = []
    for seed in result.seed:
        M, first = -result.log_loss.sel(seed=seed).values, result["first"].sel(seed=seed).values
        late = np.isfinite(M) & (np.nanmax(M) / DECADE <= M)
        slopes.append(power(M[late], first[late], fewest=3))
    return np.array(slopes)
