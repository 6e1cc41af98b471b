"""Deep students whose start is only nearly balanced: how close to ŵ do they end? T5 has no such figure."""

from typing import Annotated, ClassVar

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge, Len
from matplotlib.figure import Figure
from pydantic import AfterValidator, PositiveFloat, PositiveInt

from relulab.core.seeds import Role, stream
from relulab.core.slope import power
from relulab.lab.claim import Claim, claim
from relulab.lab.control import Control
from relulab.lab.show.figure import legend, look, panels
from relulab.lab.study import Study, Tick, Unit, distinct
from relulab.subjects.distillation.flow.distillation_flow import distillation_flow
from relulab.subjects.distillation.instruments.closed_form import distilled
from relulab.subjects.distillation.instruments.deep_limit import deep_limit
from relulab.subjects.distillation.theorems.nearly_balanced_student import gaussian_start, stretched
from relulab.subjects.distillation.tools.balance_allowance import balance_allowance
from relulab.subjects.distillation.tools.balanced_start import imbalance, product
from relulab.subjects.distillation.tools.transfer import transfer

KINDS = ("balanced", "gaussian", "stretched")
SOLVER = 1e-4  # error of a distance divided by its allowance; the flow ends within 1e-8 of the minimum


class NearlyBalanced(Study):
    """Is approximate balance of the layers enough for a deep student to end near ŵ?

    Theorem 5.2 requires a start that is exactly balanced and short. Here the layers start as Gaussian matrices, whose
    imbalance is as large as they are, or as stretched ones: the same product, but with a first layer of length 1 and a
    short last layer. Both are followed to their end. A balanced start with the same product is the comparison.
    """

    name: ClassVar = "nearly-balanced"
    ids: ClassVar = ("T5.T2.balance",)
    title: ClassVar = "Deep students from starts that are not balanced"
    source: ClassVar = "T5 section 5.3.1, the remark on condition 5.13; the figure is not in T5"
    remarks: ClassVar = (
        "The thesis expects that approximate balance is enough, without a bound. The allowance is ours: relulab check "
        "T5.T2.near derives it. The end of a balanced start is known exactly and is not followed."
    )
    symbols: ClassVar = {
        "ŵ": "the teacher's weights, projected onto the span of the points",
        "w(0)": "product of all layers at the start",
    }
    presets: ClassVar = {
        "smoke": {"seeds": 5, "depth": (2,), "scale": (0.1, 0.01), "d": 4, "n": 2, "width": 2},
        "quick": {"seeds": 6, "depth": (2, 3), "scale": (0.1, 0.01)},
    }
    captions: ClassVar = {
        "distance": "Distance from ŵ at the end, divided by the norm of ŵ, against the size of the Gaussian start; one "
        "panel per number of layers. Lines with symbols are means over seeds: balanced, Gaussian and stretched starts "
        "with the same product. Dotted lines of the same color are the allowances of Gaussian and stretched starts, "
        "and for balanced starts the bound of theorem 5.2. Gaussian starts end the closer, the smaller they are; "
        "stretched starts stay far away, although their product is as short. T5 has no such figure.",
    }

    d: Annotated[int, Ge(2)] = 8
    """input dimension"""
    n: PositiveInt = 4
    """points per transfer set, fewer than dimensions"""
    width: PositiveInt = 4
    """width of the hidden layers"""
    depth: Annotated[tuple[Annotated[int, Ge(2)], ...], Len(1), AfterValidator(distinct)] = (2, 3, 4)
    """numbers of layers"""
    scale: Annotated[tuple[PositiveFloat, ...], Len(2), AfterValidator(distinct)] = (0.3, 0.1, 0.03, 0.01)
    """standard deviations of the Gaussian entries, relative to the root of ‖ŵ‖ that has the degree of the depth"""
    seeds: PositiveInt = 12
    """number of seeds; each has its own points, teacher and starts"""

    def units(self) -> list[Unit]:
        flows = 2 * len(self.depth) * len(self.scale)
        return [Unit(f"seed{seed}", {"seed": seed}, flows, 2e9 * flows) for seed in range(self.seeds)]

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        seed = unit.values["seed"]
        w_star = stream(self.root, Role.TEACHER, seed).standard_normal(self.d) / np.sqrt(self.d)
        given = transfer(stream(self.root, Role.TRAIN, seed).standard_normal((self.n, self.d)), w_star)
        w_hat = distilled(*given).w
        norm = float(w_hat.norm())
        shape = (len(self.depth), len(self.scale), len(KINDS))
        distance, allowance, gap = (np.full(shape, np.nan) for _ in range(3))
        for i, depth in enumerate(self.depth):
            for j, scale in enumerate(self.scale):
                W = gaussian_start(given, depth, self.width, scale, stream(self.root, Role.STUDENT, seed, i, j))
                w_0 = product(W)
                longer = norm ** (1 / depth) / float(torch.linalg.matrix_norm(W[0], 2))
                limit = deep_limit(*given, w_0, depth)
                distance[i, j, 0], allowance[i, j, 0] = float(limit.orthogonal) / norm, float(limit.bound) / norm
                gap[i, j, 0] = 0.0
                for k, start in enumerate((W, stretched(W, longer)), 1):
                    path = distillation_flow(*given, start, by="factors", looks=2)
                    distance[i, j, k] = float((path.end - w_hat).norm()) / norm if path.reached else np.nan
                    allowance[i, j, k] = balance_allowance(*given, start) / norm
                    gap[i, j, k] = imbalance(start)
                    tick(1)
        bound = allowance[..., 0]
        dims = ("depth", "scale", "start")
        data = {"distance": (dims, distance), "allowance": (dims, allowance), "imbalance": (dims, gap),
                "bound": (dims[:2], bound)}  # fmt: skip
        coords = {"depth": list(self.depth), "scale": list(map(float, self.scale)), "start": list(KINDS)}
        return xr.Dataset(data, coords).expand_dims(seed=[seed])

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        r = result.sortby("scale")
        figure, axes = panels(1, len(self.depth), width=2.6, height=2.6, sharey=True)
        names = {"balanced": "balanced", "gaussian": "Gaussian", "stretched": "stretched"}
        for ax, depth in zip(axes[0], self.depth, strict=True):
            part = r.sel(depth=depth)
            for i, kind in enumerate(KINDS):
                style = look(i)
                ax.plot(part.scale, part.distance.sel(start=kind).mean("seed"), ms=4, label=names[kind], **style)
                allowed = part.allowance.sel(start=kind).mean("seed")
                ax.plot(part.scale, allowed.where(np.isfinite(allowed)), ":", color=style["color"], lw=1)
            ax.set(xscale="log", yscale="log", xlabel="size of the Gaussian start", title=f"{depth} layers")
        axes[0, 0].set(ylabel="distance from ŵ, relative")
        legend(figure, axes[0, 0])
        return {"distance": figure}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        r = result.sortby("scale")
        followed = r.sel(start=["gaussian", "stretched"])
        ratio = followed.distance / followed.allowance
        inside = (ratio <= 1 + SOLVER).where(ratio.notnull()).mean(("depth", "scale", "start"), skipna=False)
        gaussian, stretch = (r.distance.sel(start=kind) for kind in ("gaussian", "stretched"))
        curves = np.exp(np.log(gaussian).mean("depth", skipna=False)).transpose("scale", "seed")
        smallest = (stretch / r.bound).isel(scale=0).min("depth", skipna=False)
        gap = float(r.imbalance.sel(start="gaussian").mean())
        note = (
            f"In Gaussian starts, the two sides of eq. 5.13 differ by {gap:.2g} of the largest squared norm of a "
            f"layer. At its closest, the distance is {float(ratio.max()):.3g} of its allowance."
        )
        return [
            claim("T5.T2.balance.within", "Students from starts that are not balanced end within their allowance",
                  inside.values, ">", 0.9, note, (0, 1), "share of starts, over all numbers of layers, sizes and kinds",
                  ratio.size // ratio.sizes["seed"]),
            claim("T5.T2.balance.enough", "The smaller a Gaussian start, the closer to ŵ the student ends",
                  power(curves.scale.values, curves.values), ">", 0.5,
                  statistic="slope of the logarithm of the distance against that of the size of the start"),
            claim("T5.T2.balance.length", "A short product is not enough: stretched starts end beyond the bound for "
                  "balanced ones", smallest.values, ">", 1,
                  statistic="distance from ŵ of stretched starts divided by the bound of theorem 5.2 for a balanced "
                  "start of the same length, at the smallest size; smallest over numbers of layers"),
        ]  # fmt: skip

    def controls(self, result: xr.Dataset) -> list[Control]:
        kind, far = result.start, result.distance
        as_balanced = result.assign(allowance=result.bound.broadcast_like(result.allowance))
        large = result.assign(distance=far.where(kind != "gaussian", far.sel(start="stretched")))
        exact = result.assign(distance=far.where(kind != "stretched", far.sel(start="balanced")))
        return [
            Control("the bound for balanced starts of the same length", ("T5.T2.balance.within",), as_balanced),
            Control("stretched starts with the same product", ("T5.T2.balance.enough",), large),
            Control("balanced starts with the same product", ("T5.T2.balance.length",), exact),
        ]


STUDY = NearlyBalanced
