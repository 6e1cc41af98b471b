"""S0 section 5.3, symmetry breaking: students that share a residue, and one of them that gets a little more."""

from functools import partial
from typing import Annotated, ClassVar

import numpy as np
import xarray as xr
from annotated_types import Ge, Gt, Len, Lt
from matplotlib.figure import Figure
from pydantic import AfterValidator, PositiveFloat, PositiveInt

from relulab.core.seeds import Role, stream
from relulab.flow.adaptive import Weights, angles, flow, norms
from relulab.lab.claim import Claim, claim
from relulab.lab.show.figure import panels
from relulab.lab.study import Study, Tick, Unit, distinct
from relulab.subjects.specialization.theorems.norm_ratio import common_residue, multiplied

LOOKS = 160  # times within a path, and an even number: one of them is half-way
ROUNDING = 1e-16  # changes below it are none
COLOURS = ("#d1495b", "#edae49", "#00798c", "#30638e", "#555555")
Norm = Annotated[float, Gt(0), Lt(1)]


class SymmetryBreaking(Study):
    """Do students that share a residue stay alike, and does a small advantage win?

    Students follow ẇ_k = ‖w_k‖ r_k with one residue r = w* − Σ a_k w_k for all. Then the first of them gets ϵ w* more.
    """

    name: ClassVar = "symmetry-breaking"
    ids: ClassVar = ("S0.T7.sim",)
    title: ClassVar = "Symmetry breaking between students"
    source: ClassVar = "S0 section 5.3, theorem 7"
    remarks: ClassVar = "S0 has no experiment for these statements: starts and sizes are ours."
    presets: ClassVar = {"smoke": {"seeds": 2}, "quick": {"seeds": 8}}

    n: Annotated[int, Ge(2)] = 5
    """students beside each other"""
    d: Annotated[int, Ge(2)] = 10
    """input dimension"""
    start: Annotated[tuple[Norm, ...], Len(min_length=2), AfterValidator(distinct)] = (0.1, 0.01, 0.001)
    """mean norm of the students at the start, where ‖w*‖ = 1; symmetry is broken from the first"""
    extra: Annotated[tuple[PositiveFloat, ...], Len(min_length=2), AfterValidator(distinct)] = (0.01, 0.03, 0.1)
    """ϵ: what the first student gets more, in w*"""
    time: PositiveFloat = 40.0
    """how long equal students are followed"""
    settled: PositiveFloat = 10.0
    """time after which the initial transition counts as over"""
    span: PositiveFloat = 16.0
    """how long broken symmetry is followed, in units of 1/ϵ"""
    seeds: PositiveInt = 32
    """starts: directions on the side of w*, norms and a_k between ½ and 1½ of their means"""

    def units(self) -> list[Unit]:
        paths = len(self.start) + len(self.extra)
        # A path is about a tenth of a second of one core, most of it Python: as many flops as it could do meanwhile.
        return [Unit(f"seed{seed}", {"seed": seed}, paths, 2e9 * paths) for seed in range(self.seeds)]

    def students(self, seed: int) -> tuple[np.ndarray, Weights, np.ndarray]:
        """w* with ‖w*‖ = 1, students on its side with norms in [½, 1½], and a_k in [½, 1½]."""
        w_star = stream(self.root, Role.TEACHER, seed).standard_normal(self.d)
        rng = stream(self.root, Role.STUDENT, seed)
        W = rng.standard_normal((self.n, self.d))
        W *= (np.sign(W @ w_star) * rng.uniform(0.5, 1.5, self.n) / norms(W))[:, None]
        return w_star / np.linalg.norm(w_star), W, rng.uniform(0.5, 1.5, self.n)

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        seed = unit.values["seed"]
        w_star, W, a = self.students(seed)
        equal, broken, rate = [], [], []
        for start in self.start:
            path = self._path(w_star, start * W, a, 0.0, np.linspace(0, self.time, LOOKS + 1))
            equal.append((np.log(norms(path)), angles(path, w_star)))
            tick(1)
        for extra in self.extra:
            window = self.settled + np.array([0, 1 / extra])
            times = np.concatenate([np.linspace(0, self.span / extra, LOOKS + 1), window])
            lead = _lead(np.log(norms(self._path(w_star, self.start[0] * W, a, extra, times))))
            broken.append(lead[:-2])
            rate.append((lead[-1] - lead[-2]) * extra)
            tick(1)
        data = xr.Dataset(
            {
                "log_norm": (("start", "moment", "student"), np.stack([e[0] for e in equal])),
                "angle": (("start", "moment", "student"), np.stack([e[1] for e in equal])),
                "lead": (("extra", "moment"), np.stack(broken)),
                "rate": ("extra", rate),
            },
            coords={
                "start": list(self.start), "extra": list(self.extra),
                "moment": np.linspace(0, 1, LOOKS + 1), "student": range(1, self.n + 1),
            },
        )  # fmt: skip
        return data.assign_coords(seed=seed).expand_dims("seed")

    def _path(self, w_star: np.ndarray, W: Weights, a: np.ndarray, extra: float, times: np.ndarray) -> np.ndarray:
        """The students at the given times. Late on, their sum moves far faster than each: LSODA copes with that."""
        velocity = partial(multiplied, partial(common_residue, w_star, a, extra))
        return flow(velocity, W, float(times.max()), rtol=1e-9, method="LSODA").at(times)

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        figure, axes = panels(1, 3, width=2.8, height=2.5)
        one = result.isel(seed=0)
        ratios = (one.log_norm - one.log_norm.mean("student")).sel(start=self.start[0])
        moment = result.moment.values
        for k in ratios.student.values:
            axes[0, 0].plot(moment * self.time, ratios.sel(student=k), lw=1, color="#30638e")
        axes[0, 0].set(xlabel="t", ylabel="ln ‖w_k‖ less the mean", title="One residue for all; seed 0")
        for start, colour in zip(self.start, COLOURS, strict=False):
            widest = result.angle.sel(start=start).max("student").median("seed")
            axes[0, 1].plot(moment * self.time, widest, color=colour, label=f"start {start:g}")
        axes[0, 1].set(xlabel="t", ylabel="largest angle with w*", yscale="log", title="One residue for all; median")
        axes[0, 1].legend(fontsize=7)
        for extra, colour in zip(self.extra, COLOURS, strict=False):
            lead = result.lead.sel(extra=extra)
            lead = lead - lead.isel(moment=0)
            axes[0, 2].plot(moment * self.span, lead.median("seed"), color=colour, lw=1, label=f"ϵ = {extra:g}")
        grown = float((result.lead - result.lead.isel(moment=0)).median("seed").max())
        axes[0, 2].plot([0, grown], [0, grown], "--", color="#555555", lw=1, label="e^(ϵt)")
        axes[0, 2].set(xlabel="ϵ t", ylabel="ln of growth over the others", title="ϵ w* more for one; median")
        axes[0, 2].legend(fontsize=7)
        return {"ratios": figure}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        return [*self._equal(result), *self._broken(result)]

    def _equal(self, result: xr.Dataset) -> list[Claim]:
        first = result.sel(start=self.start[0])
        ratio = first.log_norm - first.log_norm.isel(student=0)
        early, late = (abs(ratio.sel(moment=b) - ratio.sel(moment=a)).max("student") for a, b in ((0, 0.5), (0.5, 1)))
        widest = result.angle.max("student")
        falls = np.log10(widest.sel(moment=1) / widest.sel(moment=0.5)).sel(start=self.start[0])
        return [
            claim(
                "S0.T7.constant",
                "With one residue for all, ratios of norms tend to constants: log₁₀ of the largest change of "
                "ln(‖w_k‖/‖w_1‖) in the second half of the time over that in the first",
                np.log10(late.clip(min=ROUNDING) / early).values,
                "<",
                -1,
            ),
            claim(
                "S0.T7.align",
                "Every student turns to w*: log₁₀ of the largest angle with w* at the end over that half-way",
                falls.values,
                "<",
                -1,
                note=f"The angles stop at {float(widest.sel(moment=1, start=self.start[0]).mean()):.2g} on average. r "
                "keeps its direction and dies out exponentially, so the students turn towards r(0) and stop on the "
                "way; only Σ a_k w_k gets to w* (S0.T7.feedback).",
            ),
            claim(
                "S0.T7.small-start",
                "What is true of it: the smaller the start, the smaller the angles left; slope of log angle on log "
                "norm at the start",
                slopes(np.log(result.start), np.log(widest.sel(moment=1))),
                ">",
                0,
            ),
        ]

    def _broken(self, result: xr.Dataset) -> list[Claim]:
        lead = result.lead
        later = (lead.sel(moment=1) - lead.sel(moment=0.5)).mean("extra")
        return [
            claim(
                "S0.T7.break",
                f"With ϵ w* more, the first student outgrows the others: least rate of growth of ln(‖w_1‖/‖w_k‖), in "
                f"units of ϵ, for a time of 1/ϵ after t = {self.settled:g}",
                (result.rate / result.extra).min("extra").values,
                ">",
                0,
            ),
            claim(
                "S0.T7.rate",
                "The larger ϵ, the faster: slope of the rate of growth on ϵ",
                slopes(result.extra, result.rate),
                ">",
                0,
            ),
            claim(
                "S0.T7.for-ever",
                f"The growth goes on: gain of ln(‖w_1‖/‖w_k‖) from t = {self.span / 2:g}/ϵ to {self.span:g}/ϵ",
                later.values,
                ">",
                0,
                note="Once the first student has fitted w*, r = −ϵ w* is left for the others. They shrink as e^(−ϵt) "
                "but turn away from w* as fast; then they grow along −w*, the first student makes up for them, and the "
                "ratio falls to a constant. The assumption h_k > 0 of section 8.15 fails there.",
            ),
        ]


def _lead(log_norm: np.ndarray) -> np.ndarray:
    """The logarithm of the first norm over the geometric mean of the others."""
    return log_norm[:, 0] - log_norm[:, 1:].mean(1)


def slopes(x: xr.DataArray, y: xr.DataArray) -> np.ndarray:
    """The least-squares slope of y on x, a seed each; NaN where a value is missing."""
    x = x - x.mean()
    return ((x * (y - y.mean(x.dims))).sum(x.dims, skipna=False) / (x**2).sum()).values


STUDY = SymmetryBreaking
