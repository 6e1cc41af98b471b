"""The statements of S0 on figures 4 and 12 as numbers, and the controls."""

import numpy as np
import xarray as xr

from relulab.lab.claim import Claim, rank_correlation
from relulab.lab.control import Control
from relulab.subjects.specialization.studies.shuffled import before_training, shuffled
from relulab.subjects.specialization.studies.statements import Statement, claimed, per_seed

PRINTED = 0.998
"""smallest ρ_mean of a layer in S0 figure 12"""
SMALLEST = 1e-6
FOLLOW = "rank correlation between best correlation and √E[β_kk] over the nodes of a layer"


def claims_of(result: xr.Dataset, threshold: float, early: int, published: bool) -> list[Claim]:
    """Judge the statements.

    Args:
        result: The result of the study.
        threshold: Correlation above which a student node counts as specialized.
        early: The epoch after a tenth of the training.
        published: Whether networks and training have the size of the paper's, for which it prints a number.
    """
    last = int(result.epoch.max())
    lost = ~np.isfinite(result.loss.sel(epoch=last)).all("inputs").transpose("seed").values
    gaussian, uniform = (result.sel(inputs=kind) for kind in ("gaussian", "uniform"))
    statements = [
        *(s for l in result.layer.values.tolist() for s in _shape(gaussian.sel(epoch=last), l, threshold)),
        *_order(gaussian, early),
        Statement(
            "S0.F12.follow", "With uniform inputs, too, √E[β_kk] grows with specialization",
            per_seed(shape_of(uniform.sel(epoch=last)).mean("layer")), within=(-1, 1),
            statistic=f"{FOLLOW}, mean over layers, uniform inputs",
        ),
    ]  # fmt: skip
    found = _followed(uniform.sel(epoch=last).rho_mean, last)
    claims = claimed([*statements, found], lost)
    if not published:
        claims[-1] = claims[-1].unjudged("the number is printed for networks and a training of full size")
    return claims


def controls_of(result: xr.Dataset, root: int) -> list[Control]:
    """Return results on which the claims must not hold.

    Args:
        result: The result of the study.
        root: Root seed of all random streams.
    """
    at_random = shuffled(result, "student", "modulation", root=root)
    return [
        Control("values of √E[β_kk] assigned to the nodes at random",
                ("S0.F4.follow-*", "S0.F4.corner-*", "S0.F4.early", "S0.F12.follow"), at_random),
        Control("students before training", ("S0.F4.first", "S0.F4.rise", "S0.F12.all"), before_training(result)),
    ]  # fmt: skip


def shape_of(networks: xr.Dataset) -> xr.DataArray:
    """Return how closely the nodes lie to an L: the rank correlation of their correlation and their modulation.

    Correlations are rounded to three digits, so that rounding errors do not rank nodes that follow perfectly.

    Args:
        networks: Measurements with the dimension "student", where narrow layers are padded with NaN.
    """
    return xr.apply_ufunc(
        _rank_of_present, networks.specialized.round(3), networks.modulation,
        input_core_dims=[["student"], ["student"]],
    )  # fmt: skip


def _shape(last: xr.Dataset, l: int, threshold: float) -> list[Statement]:
    layer = last.sel(layer=l)
    specialized = layer.specialized > threshold
    others, typical = layer.modulation.where(layer.specialized <= threshold), layer.modulation.where(specialized)
    # Nodes that are never active have no influence at all: ratios below SMALLEST count as SMALLEST.
    gap = np.log10((others.max("student") / typical.median("student")).clip(min=SMALLEST))
    return [
        Statement(
            f"S0.F4.follow-{l}", f"In layer {l}, √E[β_kk] grows with specialization",
            per_seed(shape_of(layer)), within=(-1, 1), statistic=f"{FOLLOW}, after training",
        ),
        Statement(
            f"S0.F4.corner-{l}",
            f"In layer {l}, no un-specialized node has as large a √E[β_kk] as a typical specialized one",
            per_seed(gap), "<",
            note=f"On average {float(specialized.sum('student').mean()):.3g} of "
            f"{int(layer.specialized.notnull().sum('student').max())} nodes are specialized. "
            "S0 itself says that un-specialized nodes with a large √E[β_kk] are possible in deep networks.",
            statistic=f"log₁₀ of the largest √E[β_kk] of a node with a best correlation up to {threshold:g} minus "
            "log₁₀ of the median of the others",
        ),
    ]  # fmt: skip


def _order(gaussian: xr.Dataset, early: int) -> list[Statement]:
    shape = shape_of(gaussian.sel(epoch=early))
    rho, start = gaussian.rho_mean.sel(epoch=early, drop=True), gaussian.rho_mean.sel(epoch=0, drop=True)
    of_layers = ", ".join(f"{value:.3f}" for value in rho.mean("seed").values)
    return [
        Statement(
            "S0.F4.early", f"In the lowest layer, the L has formed by epoch {early}",
            per_seed(shape.sel(layer=0)), within=(-1, 1), statistic=f"{FOLLOW}, layer 0, epoch {early}",
        ),
        Statement(
            "S0.F4.first", "The L forms in the lowest layer first", per_seed(_lowest(shape)), within=(-2, 2),
            statistic=f"{FOLLOW}, epoch {early}, layer 0 minus the mean of the other layers",
        ),
        Statement(
            "S0.F4.rise", "The lowest layer learns first", per_seed(_lowest((rho - start) / (1 - start))),
            note=f"ρ_mean of the layers at epoch {early}, from the lowest: {of_layers}.",
            statistic=f"share of the way of ρ_mean from its start to 1 at epoch {early}, layer 0 minus the mean of the "
            "other layers",
        ),
    ]  # fmt: skip


def _followed(rho: xr.DataArray, last: int) -> Statement:
    of_layers = ", ".join(f"{value:.4f}" for value in rho.mean("seed").values)
    return Statement(
        "S0.F12.all", "With uniform inputs, all teacher nodes of all layers are followed closely",
        per_seed(rho.min("layer")), bound=PRINTED, within=(-1, 1),
        note=f"S0 prints ρ_mean ≥ {PRINTED} at all layers. Here it is, from the lowest layer: {of_layers}.",
        statistic=f"smallest ρ_mean of a layer after {last} epochs, uniform inputs",
    )  # fmt: skip


def _lowest(values: xr.DataArray) -> xr.DataArray:
    return values.sel(layer=0, drop=True) - values.sel(layer=slice(1, None)).mean("layer")


def _rank_of_present(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    rows = zip(a.reshape(-1, a.shape[-1]), b.reshape(-1, b.shape[-1]), strict=True)
    return np.reshape([rank_correlation(x[~np.isnan(x)], y[~np.isnan(x)]) for x, y in rows], a.shape[:-1])
