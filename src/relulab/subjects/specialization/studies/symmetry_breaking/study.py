"""S0 section 5.3, symmetry breaking: students that share a residue, and one of them that gets a little more."""

from functools import partial
from typing import Annotated, ClassVar

import numpy as np
import xarray as xr
from annotated_types import Ge, Gt, Len, Lt
from matplotlib.figure import Figure
from pydantic import AfterValidator, PositiveFloat, PositiveInt

from relulab.core.angle import angles, norms
from relulab.core.seeds import Role, stream
from relulab.flow.adaptive import Weights, flow
from relulab.lab.claim import Claim
from relulab.lab.study import Study, Tick, Unit, distinct
from relulab.subjects.specialization.studies.symmetry_breaking.claims import broken, equal
from relulab.subjects.specialization.studies.symmetry_breaking.drawing import ratios
from relulab.subjects.specialization.theorems.norm_ratio import common_residue, multiplied

LOOKS = 160  # times within a path, and an even number: one of them is half-way
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
        return {"ratios": ratios(self._ordered(result), self.time, self.span)}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        result = self._ordered(result)
        return [*equal(result), *broken(result, self.settled, self.span)]

    def _ordered(self, result: xr.Dataset) -> xr.Dataset:
        """Starts and extras in the order of the fields: the first start is the one that symmetry is broken from."""
        return result.sel(start=list(self.start), extra=list(self.extra))


def _lead(log_norm: np.ndarray) -> np.ndarray:
    """The logarithm of the first norm over the geometric mean of the others."""
    return log_norm[:, 0] - log_norm[:, 1:].mean(1)


STUDY = SymmetryBreaking
