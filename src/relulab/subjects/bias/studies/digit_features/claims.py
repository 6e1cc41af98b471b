"""What IB appendix D says of figures 3 and 4, held against the measured numbers."""

import numpy as np
import xarray as xr
from jaxtyping import Float64

from relulab.lab.claim import Claim, claim, rank_correlation
from relulab.subjects.bias.tools.digit_net import LAYERS

EQUAL = ("both 0", "both 1")
SHARE = 0.01  # of pairs that may break orthogonal separability
TENTH = 0.1  # of the largest singular value: above it one counts as significantly non-zero
FEW = 11  # "perhaps five or ten" of them, so fewer than eleven
NEAR = 0.25  # of the farthest neuron's distance from the origin: below it one counts as close


def claims(result: xr.Dataset) -> list[Claim]:
    return [*_layers(result), *_separable(result), *_weights(result)]


def cosines(result: xr.Dataset, when: str = "end", side: str = "after") -> xr.DataArray:
    """Median cosines by seed, layer and kind of pair."""
    return result.cosine_quantile.sel(when=when, side=side, level=0.5).transpose("seed", "layer", "pair")


def gaps(result: xr.Dataset, when: str = "end") -> xr.DataArray:
    """By how much the median cosine of equal classes, of the class with the smaller one, exceeds that of different."""
    middle = cosines(result, when)
    return middle.sel(pair=list(EQUAL)).min("pair") - middle.sel(pair="different", drop=True)


def _layers(result: xr.Dataset) -> list[Claim]:
    middle, layer, within = cosines(result), result.layer.values.astype(float), (-1.0, 1.0)
    alike = result.alike.sel(when="end", side="after", layer=range(1, LAYERS + 1)).transpose("seed", "layer", "digit")
    trend = {kind: rank_correlation(layer, middle.sel(pair=kind).values) for kind in middle.pair.values}
    both = np.mean([trend[kind] for kind in EQUAL], axis=0)
    learned = gaps(result).sel(layer=LAYERS).values - gaps(result, "start").sel(layer=LAYERS).values
    return [
        claim("IB.F3.equal-more-alike", "In the learned layers two digits of one class are generally more alike than "
              "two of different classes: the chance that their inner product is the larger, mean over layers 1 to 7",
              alike.mean(("layer", "digit")).values, ">", 0.5,
              "By layer, zeros: " + _row(alike.sel(digit=0)) + "; ones: " + _row(alike.sel(digit=1)) + ".", (0, 1)),
        claim("IB.F3.equal-rightward", "Going up the layers, digits of one class become more alike: rank correlation "
              "of the layer, 0 to 7, with the median cosine, mean of both classes", both, ">", 0,
              f"Zeros {trend['both 0'].mean():.2f}, ones {trend['both 1'].mean():.2f}. Median cosines by layer, zeros: "
              f"{_row(middle.sel(pair='both 0'))}; ones: {_row(middle.sel(pair='both 1'))}.", within),
        claim("IB.F3.different-leftward", "Going up the layers, digits of different classes become less alike: rank "
              "correlation of the layer, 0 to 7, with the median cosine", trend["different"], "<", 0,
              f"Median cosines by layer: {_row(middle.sel(pair='different'))}.", within),
        claim("IB.F3.higher-separate-more", "Higher layers separate the classes more strongly: rank correlation of the "
              "layer with the gap between median cosines of equal and of different classes",
              rank_correlation(layer, gaps(result).values), ">", 0, f"Gaps by layer: {_row(gaps(result))}.", within),
        claim("IB.F3.learned", "It is training that separates the classes in layer 7: the gap between median cosines "
              "of equal and of different classes, at the end less at the start", learned, ">", 0, "", (-2, 2)),
    ]  # fmt: skip


def _separable(result: xr.Dataset) -> list[Claim]:
    """The 7th layer, on two readings: its features as the next layer gets them, and before their ReLU."""
    says = "Layer-7 features {} are orthogonally separable: the share of pairs that break it, of the kind with most"
    values, notes = {}, {}
    for side in ("after", "before"):
        last = result.sel(when="end", side=side, layer=LAYERS)
        shares = last.breaking.transpose("seed", "pair")
        values[side] = shares.max("pair").values
        each = ", ".join(f"{kind} {float(shares.sel(pair=kind).mean()):.2%}" for kind in shares.pair.values)
        middle = last.cosine_quantile.sel(pair="different", level=0.5).values
        notes[side] = (
            f"Pairs that break it: {each}; none at all in {(values[side] == 0).sum()} of {len(middle)} seeds. "
            f"{_excess(last.broken.sel(pair='different'))} The median cosine of different classes is, seed by seed, "
            + ", ".join(f"{v:.2f}" for v in sorted(middle)) + "."
        )  # fmt: skip
    common = (result.active > 0.5).all("digit").sum("neuron").values
    reading = (
        "Features after a ReLU are never negative, so different classes can at best have inner product 0, and have it "
        "only where no unit is active on both digits. Units that are active on most digits of either class: "
        + ", ".join(map(str, sorted(common))) + " of 128, seed by seed. The paper shows one network and its last panel "
        "has a mark at 0 and none below, so this reading seems to be its own, and 0 to mean close to 0."
    )  # fmt: skip
    return [
        claim("IB.F3.separable", says.format("after the ReLU"), values["after"], "<", SHARE,
              f"{notes['after']} {reading}", (0, 1)),
        claim("IB.F3.separable-before-relu", says.format("before the ReLU"), values["before"], "<", SHARE,
              f"{notes['before']} This other reading, on which negative inner products are possible, is ours.", (0, 1)),
    ]  # fmt: skip


def _excess(broken: xr.DataArray) -> str:
    """By how much pairs of different classes break it, where some do."""
    some = broken.dropna("seed", how="all")
    if not some.sizes["seed"]:
        return "No pair of different classes does."
    middle, high, most = (float(some.sel(level=q).mean()) for q in (0.5, 0.95, 1.0))
    return (
        f"Those of different classes do so by a cosine of {middle:.2f} (median), {high:.2f} (95 %), {most:.2f} (most)."
    )


def _weights(result: xr.Dataset) -> list[Claim]:
    values = result.singular.sel(when="end").transpose("seed", "rank").values
    start = result.singular.sel(when="start").transpose("seed", "rank").values
    count = (values > TENTH * values[:, :1]).sum(1)
    at_start = (start > TENTH * start[:, :1]).sum(1)
    found = [sides(one) for _, one in result.groupby("seed")]
    own, fewer, opposite, close = (np.array(column) for column in zip(*found, strict=True))
    return [
        claim("IB.F4.few-singular-values", "W₇ has very few singular values that are significantly non-zero, perhaps "
              "five or ten: the number of those above a tenth of the largest", count, "<", FEW,
              f"Before training {at_start.mean():.0f} of {values.shape[1]}. The largest are "
              + ", ".join(f"{v:.2f}" for v in values[:, :6].mean(0)) + " in the mean.", (0, values.shape[1])),
        claim("IB.F4.two-groups", "Neurons away from the origin form two groups by the sign of W₈: the share of them "
              "that lie nearer to the mean of the others of their sign than to that of the other sign", own, ">", 0.5,
              f"Away means a distance above {NEAR:.0%} of the farthest in the plane of the top two singular "
              f"directions. The cosine between the two groups' means is {opposite.mean():.2f}. Of the "
              f"{close.mean():.0f} neurons nearer to the origin, {fewer.mean():.0%} have the rarer sign.", (0, 1)),
    ]  # fmt: skip


def sides(one: xr.Dataset) -> tuple[float, float, float, int]:
    """Of one seed's projected neurons: share of far ones on their own side, share of the rarer sign among near ones,
    cosine between the means of the two far groups, and how many are near."""
    place, sign = one.place.squeeze().transpose("neuron", "axis").values, one.outer.squeeze().values > 0
    distance = np.linalg.norm(place, axis=1)
    near = distance < NEAR * distance.max()
    rarer = min(sign[near].mean(), 1 - sign[near].mean()) if near.any() else np.nan
    far, mark = place[~near], sign[~near]
    if min(mark.sum(), (~mark).sum()) < 2:  # no group without at least two
        return np.nan, float(rarer), np.nan, int(near.sum())
    own = np.mean([_nearer(np.delete(far, i, 0), np.delete(mark, i), far[i]) == mark[i] for i in range(len(far))])
    plus, minus = far[mark].mean(0), far[~mark].mean(0)
    cosine = plus @ minus / max(np.linalg.norm(plus) * np.linalg.norm(minus), np.finfo(float).tiny)
    return float(own), float(rarer), float(cosine), int(near.sum())


def _nearer(far: Float64[np.ndarray, "n 2"], mark: np.ndarray, point: Float64[np.ndarray, "2"]) -> bool:
    """Whether a point is nearer to the mean of the marked than to that of the others."""
    return bool(np.linalg.norm(point - far[mark].mean(0)) < np.linalg.norm(point - far[~mark].mean(0)))


def _row(values: xr.DataArray) -> str:
    return " ".join(f"{v:.2f}" for v in values.mean("seed").values)
