"""Claims of IB appendix D about figures 3 and 4."""

from collections.abc import Callable

import numpy as np
import xarray as xr
from jaxtyping import Float64

from relulab.lab.claim import Claim, claim, rank_correlation
from relulab.subjects.bias.tools.digit_net import LAYERS

EQUAL = ("both 0", "both 1")
SHARE = 0.01  # largest share of pairs that may violate orthogonal separability
TENTH = 0.1  # a singular value above this share of the largest counts as significantly nonzero
FEW = 11  # "perhaps five or ten", so fewer than eleven
NEAR = 0.25  # a neuron below this share of the largest distance from the origin counts as close to it


def claims(result: xr.Dataset) -> list[Claim]:
    """All claims of the study.

    Args:
        result: The result of the study.
    """
    return [*_layers(result), *_separable(result), *_weights(result)]


def cosines(result: xr.Dataset, when: str = "end", side: str = "after") -> xr.DataArray:
    """Median cosines by seed, layer and kind of pair.

    Args:
        result: The result of the study.
        when: ``start`` or ``end`` of training.
        side: ``before`` or ``after`` the ReLU.
    """
    return result.cosine_quantile.sel(when=when, side=side, level=0.5).transpose("seed", "layer", "pair")


def inner_products(result: xr.Dataset, when: str = "end", side: str = "after") -> xr.DataArray:
    """Median inner products by seed, layer and kind of pair, as on the axes of figure 3.

    Args:
        result: The result of the study.
        when: ``start`` or ``end`` of training.
        side: ``before`` or ``after`` the ReLU.
    """
    at = result.sel(when=when, side=side)
    return (at.inner_quantile.sel(level=0.5) * at.scale).transpose("seed", "layer", "pair")


def gaps(medians: xr.DataArray) -> xr.DataArray:
    """Median of equal classes (the smaller of the two) minus that of different classes, by seed and layer.

    Args:
        medians: Result of ``cosines`` or ``inner_products``.
    """
    return medians.sel(pair=list(EQUAL)).min("pair") - medians.sel(pair="different", drop=True)


def _layers(result: xr.Dataset) -> list[Claim]:
    alike = result.alike.sel(when="end", side="after").transpose("seed", "layer", "digit")
    images, learned = alike.sel(layer=0), alike.sel(layer=range(1, LAYERS + 1))
    gap = gaps(cosines(result))
    return [
        claim("IB.F3.equal-more-alike",
              "In the learned layers, digits of the same class stand out from other pairs more than in the images",
              (learned.mean(("layer", "digit")) - images.mean("digit")).values, ">", 0,
              f"The probability is {float(learned.mean()):.3f} in the layers and {float(images.mean()):.3f} in the "
              f"images. By layer, zeros: {_row(learned.sel(digit=0))}; ones: {_row(learned.sel(digit=1))}.", (-1, 1),
              "probability that a pair of the same class has a larger inner product than a pair of different classes: "
              "mean over layers 1 to 7 minus that of the images"),
        *_trends(inner_products, result, "", "inner product", ".3g", _relative(result)),
        *_trends(cosines, result, "-cosine", "cosine", ".2f",
                 "The paper plots inner products, which also grow with the scale of a layer; cosines do not."),
        claim("IB.F3.learned", "Layer 7 separates the classes more than the images do",
              (gap.sel(layer=LAYERS) - gap.sel(layer=0)).values, ">", 0, f"Gaps by layer: {_row(gap)}.", (-4, 4),
              "gap of the median cosines in layer 7 minus that in the images, equal minus different classes"),
    ]  # fmt: skip


def _trends(
    measure: Callable[..., xr.DataArray], result: xr.Dataset, ending: str, quantity: str, form: str, remark: str
) -> list[Claim]:
    """The three statements on how similarities change from layer to layer, in inner products or in cosines.

    Each is compared with the network before training: there, medians already rise or fall with the layer, because of
    the scale of the initial weights.
    """
    medians, start, within = measure(result), measure(result, "start"), (-2.0, 2.0)
    layer = medians.layer.values.astype(float)
    at_end, at_start = (
        {kind: rank_correlation(layer, of.sel(pair=kind).values) for kind in of.pair.values} for of in (medians, start)
    )
    trend = {kind: at_end[kind] - at_start[kind] for kind in at_end}
    both = np.mean([trend[kind] for kind in EQUAL], axis=0)
    separation = [rank_correlation(layer, gaps(of).values) for of in (medians, start)]
    rows = {kind: _row(medians.sel(pair=kind), form) for kind in medians.pair.values}
    by, change = f", by {quantity}", "after training minus before"
    return [
        claim(f"IB.F3.equal-rightward{ending}", 
              f"Training makes digits of the same class more similar from layer to layer{by}",
              both, ">", 0, f"After training, zeros {at_end['both 0'].mean():.2f}, ones {at_end['both 1'].mean():.2f}. "
              f"Medians by layer, zeros: {rows['both 0']}; ones: {rows['both 1']}.", within,
              f"rank correlation between layer (0 to 7) and median {quantity}, mean of both classes, {change}"),
        claim(f"IB.F3.different-leftward{ending}",
              f"Training makes digits of different classes less similar from layer to layer{by}",
              trend["different"], "<", 0, f"After training, the rank correlation is {at_end['different'].mean():.2f}. "
              f"Medians by layer: {rows['different']}. {remark}", within,
              f"rank correlation between layer (0 to 7) and median {quantity}, {change}"),
        claim(f"IB.F3.higher-separate-more{ending}",
              f"Training makes higher layers separate the classes more strongly{by}", separation[0] - separation[1],
              ">", 0, f"After training, the rank correlation is {separation[0].mean():.2f}. Gaps by layer: "
              f"{_row(gaps(medians), form)}.", within, f"rank correlation between layer (0 to 7) and gap of the median "
              f"{quantity}s, equal minus different classes, {change}"),
    ]  # fmt: skip


def _relative(result: xr.Dataset) -> str:
    """The inner products of different classes as shares of those of equal classes, since panels have their own axes."""
    medians = inner_products(result)
    share = medians.sel(pair="different", drop=True) / medians.sel(pair=list(EQUAL)).min("pair")
    return (
        "Each panel of figure 3 has its own axis, and the scale of the features grows with the layer. Relative to the "
        f"smaller median of the same class, the medians by layer are {_row(share)}."
    )


def _separable(result: xr.Dataset) -> list[Claim]:
    """Layer 7 in two readings: its features after the ReLU, which the next layer receives, and before the ReLU."""
    values, notes = {}, {}
    for side in ("after", "before"):
        last = result.sel(when="end", side=side, layer=LAYERS)
        shares = last.breaking.transpose("seed", "pair")
        values[side] = shares.max("pair").values
        each = ", ".join(f"{kind} {float(shares.sel(pair=kind).mean()):.2%}" for kind in shares.pair.values)
        medians = last.cosine_quantile.sel(pair="different", level=0.5).values
        notes[side] = (
            f"Pairs that violate the condition: {each}; none in {(values[side] == 0).sum()} of {len(medians)} seeds. "
            f"{_excess(last.broken.sel(pair='different'))} Median cosines of different classes, by seed: "
            + ", ".join(f"{v:.2f}" for v in sorted(medians)) + "."
        )  # fmt: skip
    common = (result.active.sel(when="end") > 0.5).all("digit").sum("neuron").values
    reading = (
        "Features after a ReLU are never negative. Digits of different classes can therefore at best have inner "
        "product 0, and only if no unit is active on both. Number of the 128 units that are active on most digits of "
        "both classes, by seed: " + ", ".join(map(str, sorted(common))) + ". The paper shows one network, and the last "
        "panel of its figure 3 has a tick at 0 and none below. The paper therefore probably means features after the "
        "ReLU, and inner products close to 0."
    )  # fmt: skip
    says = "The features of layer 7 {} the ReLU are orthogonally separable"
    statistic = "share of pairs that violate orthogonal separability, for the kind of pair with the largest share"
    return [
        claim("IB.F3.separable", says.format("after"), values["after"], "<", SHARE, f"{notes['after']} {reading}",
              (0, 1), statistic),
        claim("IB.F3.separable-before-relu", says.format("before"), values["before"], "<", SHARE,
              f"{notes['before']} This second reading, which permits negative inner products, is ours.", (0, 1),
              statistic),
    ]  # fmt: skip


def _excess(broken: xr.DataArray) -> str:
    """By how much pairs of different classes violate the condition."""
    violated = broken.dropna("seed", how="all")
    if not violated.sizes["seed"]:
        return "No pair of different classes violates it."
    median, high, largest = (float(violated.sel(level=q).mean()) for q in (0.5, 0.95, 1.0))
    return (
        f"The violating pairs of different classes have cosines of {median:.2f} (median), {high:.2f} (95% quantile) "
        f"and {largest:.2f} (largest)."
    )


def _weights(result: xr.Dataset) -> list[Claim]:
    values = result.singular.sel(when="end").transpose("seed", "rank").values
    start = result.singular.sel(when="start").transpose("seed", "rank").values
    count = (values > TENTH * values[:, :1]).sum(1)
    at_start = (start > TENTH * start[:, :1]).sum(1)
    columns = zip(*(sides(network) for _, network in result.sel(when="end").groupby("seed")), strict=True)
    grouped, rarer, cosine, near = (np.array(column) for column in columns)
    return [
        claim("IB.F4.few-singular-values", "W₇ has few significantly nonzero singular values", count, "<", FEW,
              f"The paper says \"perhaps five or ten\". Before training there are {at_start.mean():.0f} of "
              f"{values.shape[1]}. After training, the largest are "
              + ", ".join(f"{v:.2f}" for v in values[:, :6].mean(0)) + " on average.", (0, values.shape[1]),
              "number of singular values of W₇ above a tenth of the largest"),
        claim("IB.F4.two-groups", "Neurons away from the origin form two groups by the sign of their output weight",
              grouped, ">", 0.5,
              f"\"Away\" means a distance above {NEAR:.0%} of the largest one, in the plane of the top two singular "
              f"directions. The cosine between the means of the two groups is {cosine.mean():.2f}. Of the "
              f"{near.mean():.0f} neurons closer to the origin, {rarer.mean():.0%} have the rarer sign.", (0, 1),
              "share of the neurons away from the origin that are closer to the mean of the others of their sign than "
              "to the mean of the other sign", trials=result.sizes["neuron"] - int(near.max())),
    ]  # fmt: skip


def sides(network: xr.Dataset) -> tuple[float, float, float, int]:
    """Describe the groups of the projected neurons of one network.

    Args:
        network: The result of one seed.

    Returns:
        The share of far neurons closer to the group of their sign, the share of the rarer sign among near neurons, the
        cosine between the means of the two far groups, and the number of near neurons.
    """
    place, sign = network.place.squeeze().transpose("neuron", "axis").values, network.outer.squeeze().values > 0
    distance = np.linalg.norm(place, axis=1)
    near = distance < NEAR * distance.max()
    rarer = min(sign[near].mean(), 1 - sign[near].mean()) if near.any() else np.nan
    far, mark = place[~near], sign[~near]
    if min(mark.sum(), (~mark).sum()) < 2:  # a group has at least two neurons
        return np.nan, float(rarer), np.nan, int(near.sum())
    grouped = np.mean([_nearer(np.delete(far, i, 0), np.delete(mark, i), far[i]) == mark[i] for i in range(len(far))])
    plus, minus = far[mark].mean(0), far[~mark].mean(0)
    cosine = plus @ minus / max(np.linalg.norm(plus) * np.linalg.norm(minus), np.finfo(float).tiny)
    return float(grouped), float(rarer), float(cosine), int(near.sum())


def _nearer(far: Float64[np.ndarray, "n 2"], mark: np.ndarray, point: Float64[np.ndarray, "2"]) -> bool:
    """Whether a point is closer to the mean of the marked neurons than to the mean of the others."""
    return bool(np.linalg.norm(point - far[mark].mean(0)) < np.linalg.norm(point - far[~mark].mean(0)))


def _row(values: xr.DataArray, form: str = ".2f") -> str:
    return " ".join(f"{v:{form}}" for v in values.mean("seed").values)
