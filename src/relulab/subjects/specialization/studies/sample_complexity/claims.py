"""The statements of SS on figure 6 as numbers, and the controls."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from relulab.lab.claim import Claim, rank_correlation
from relulab.lab.control import Control
from relulab.subjects.specialization.studies.shuffled import before_training, shuffled
from relulab.subjects.specialization.studies.statements import Statement, claimed, per_seed

WORDS = {"mse": "the squared error", "cross-entropy": "cross-entropy"}


def claims_of(result: xr.Dataset, sizes: Mapping[str, Sequence[int]]) -> list[Claim]:
    """Judge the statements.

    Args:
        result: The result of the study.
        sizes: Numbers of training points of each loss, in increasing order.
    """
    start, end = (result.sel(epoch=epoch, drop=True) for epoch in (result.epoch.min(), result.epoch.max()))
    lost = np.zeros(end.sizes["seed"], bool)
    for loss, points in sizes.items():
        finite = np.isfinite(end.evaluation.sel(loss=loss, points=list(points)))
        lost |= ~finite.all(("over", "points")).transpose("seed").values
    statements = [s for loss, points in sizes.items() for s in _of_loss(start, end, loss, points)]
    if len(sizes) > 1:
        common = sorted(set.intersection(*map(set, sizes.values())))
        rho = {loss: end.rho.sel(loss=loss, points=common).mean("points") for loss in sizes}
        of_layers = "; ".join(f"{_of_layers(rho[loss])} with {WORDS[loss]}" for loss in sizes)
        statements.append(
            Statement(
                "SS.F6.lowest-mse", "The lead of the lowest layer is larger with the squared error",
                per_seed(_lowest(rho["mse"]) - _lowest(rho["cross-entropy"])), within=(-2, 2),
                note=f"ρ_mean of the layers, from the lowest: {of_layers}.",
                statistic="ρ_mean of layer 0 minus the mean of the other layers, mean over the numbers of points that "
                "both losses have, difference squared error − cross-entropy",
            )
        )  # fmt: skip
    return claimed(statements, lost)


def controls_of(result: xr.Dataset, root: int) -> list[Control]:
    """Return results on which the claims must not hold.

    Args:
        result: The result of the study.
        root: Root seed of all random streams.
    """
    return [
        Control("numbers of points assigned to the students at random", ("SS.F6.*.loss", "SS.F6.*.rho"),
                shuffled(result, "points", "rho", "evaluation", root=root)),
        Control("students before training", ("SS.F6.*.lowest", "SS.F6.*.growth"), before_training(result)),
        Control("losses assigned to the students at random", ("SS.F6.lowest-mse",),
                shuffled(result, "loss", "rho", root=root)),
    ]  # fmt: skip


def _of_loss(start: xr.Dataset, end: xr.Dataset, loss: str, points: Sequence[int]) -> list[Statement]:
    before, after = (of.rho.sel(loss=loss, points=points[-1]) for of in (start, end))
    found = [_best_layer(before, after, loss, points[-1])]
    return found if len(points) < 2 else [*found, *_of_points(end.sel(loss=loss, points=list(points)), loss, points)]


def _best_layer(start: xr.DataArray, rho: xr.DataArray, loss: str, N: int) -> Statement:
    """State that the lowest layer is best, by how far it went and by where it is, since layers differ at the start."""
    before, after, others = _of_layers(start), _of_layers(rho), "layer 0 minus the mean of the other layers"
    statement = Statement(
        f"SS.F6.{loss}.lowest", f"With {WORDS[loss]}, the lowest layer converges best",
        per_seed(_lowest((rho - start) / (1 - start))),
        note=f"ρ_mean of the layers, from the lowest, with {N:,} points: {after}. Before training: {before}.",
        statistic=f"share of the way of ρ_mean from its start to 1, after training on {N:,} points, {others}",
    )  # fmt: skip
    level = statement._replace(
        values=per_seed(_lowest(rho)), within=(-1, 1), note="", statistic=f"level of ρ_mean after training, {others}"
    )
    return statement._replace(others=(level,))


def _of_points(of_loss: xr.Dataset, loss: str, points: Sequence[int]) -> list[Statement]:
    """State that more points help."""
    rho, words, few, many = of_loss.rho, WORDS[loss], f"{points[0]:,}", f"{points[-1]:,}"
    ends = "; ".join(f"{float(of_loss.evaluation.sel(points=N).mean()):.3g} with {N:,} points"
                     for N in (points[0], points[-1]))  # fmt: skip
    statements = [
        Statement(
            f"SS.F6.{loss}.loss", f"With {words}, more training points lead to a lower evaluation loss",
            per_seed(_ranks(of_loss.evaluation)), "<", within=(-1, 1), note=f"The mean loss is {ends}.",
            statistic="rank correlation between the number of training points and the evaluation loss after training",
        ),
        Statement(
            f"SS.F6.{loss}.rho", f"With {words}, students of more training points follow the teacher's nodes better",
            per_seed(_ranks(rho.mean("layer"))), within=(-1, 1),
            statistic="rank correlation between the number of training points and ρ_mean after training, mean over "
            "layers",
        ),
    ]  # fmt: skip
    if loss == "cross-entropy":
        growth = rho.sel(points=points[-1]) - rho.sel(points=points[0])
        statements.append(
            Statement(
                f"SS.F6.{loss}.growth", f"With {words}, more training points help the lowest layer most",
                per_seed(_lowest(growth)), within=(-2, 2),
                statistic=f"growth of ρ_mean from {few} to {many} points, layer 0 minus the mean of the other layers",
            )
        )  # fmt: skip
    return statements


def _lowest(rho: xr.DataArray) -> xr.DataArray:
    return rho.sel(layer=0, drop=True) - rho.sel(layer=slice(1, None)).mean("layer")


def _ranks(values: xr.DataArray) -> xr.DataArray:
    """Rank correlation with the number of points, in each seed."""
    return xr.apply_ufunc(rank_correlation, values.points, values, input_core_dims=[["points"], ["points"]])


def _of_layers(rho: xr.DataArray) -> str:
    return ", ".join(f"{value:.3f}" for value in rho.mean(("seed", "over")).values)
