"""S0 section 5.3, symmetry breaking: students that share a residue, and one of them with a small advantage."""

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
from relulab.lab.control import Control
from relulab.lab.study import Study, Tick, Unit, distinct
from relulab.subjects.specialization.studies.shuffled import shuffled
from relulab.subjects.specialization.studies.symmetry_breaking.claims import broken, equal
from relulab.subjects.specialization.studies.symmetry_breaking.drawing import ratios
from relulab.subjects.specialization.theorems.norm_ratio import common_residue, multiplied

INTERVALS = 160  # between measurement times of a path; even, so that one time is halfway
Norm = Annotated[float, Gt(0), Lt(1)]


class SymmetryBreaking(Study):
    """Do students that share a residue stay alike, and does a small advantage of one of them grow?

    Students follow ẇ_k = ‖w_k‖ r_k. First, all have the same residue r_k = r = w* − Σ a_k w_k: S0 says that the ratios
    of their norms tend to constants and that all turn to w*. Then the first student gets the residue r + ϵ w*: S0 says
    that it outgrows the others.
    """

    name: ClassVar = "symmetry-breaking"
    ids: ClassVar = ("S0.T7.sim",)
    title: ClassVar = "Symmetry breaking between students"
    source: ClassVar = "S0 section 5.3, theorem 7"
    remarks: ClassVar = "S0 has no experiment for these statements: the initial weights and all sizes are our choice."
    symbols: ClassVar = {
        "w_k": "weights of student k", "ẇ_k": "time derivative of w_k", "w*": "weights of the teacher",
        "r_k": "residue of student k", "r": "the residue that all students share", "a_k": "positive factors",
        "h_k": "component of the residue along student k", "ϵ": "size of the extra residue of the first student",
        "t": "time",
    }  # fmt: skip
    presets: ClassVar = {"smoke": {"seeds": 2}, "quick": {"seeds": 8}}
    captions: ClassVar = {
        "ratios": "Left: logarithms of the norms of the students of one seed relative to their mean, over time, with "
        "the same residue for all; one line per student. They become constant. Middle: the largest angle of a student "
        "with the teacher over time, one line (color, style and marker) per initial norm; it stops above zero, at "
        "smaller values for smaller norms. Right: the lead of the student with an extra residue ϵ w*, against ϵ times "
        "time, one line per ϵ; it grows at the rate ϵ (gray line) at first and falls later. Tests statements of S0 "
        "section 5.3, which has no figure for them."
    }

    version: ClassVar = 2  # 2: paths without an advantage, and angles with another vector

    n: Annotated[int, Ge(2)] = 5
    """number of students"""
    d: Annotated[int, Ge(2)] = 10
    """input dimension"""
    start: Annotated[tuple[Norm, ...], Len(min_length=2), AfterValidator(distinct)] = (0.1, 0.01, 0.001)
    """mean initial norms of the students, with ‖w*‖ = 1; the first is used with an advantage"""
    extra: Annotated[tuple[PositiveFloat, ...], Len(min_length=2), AfterValidator(distinct)] = (0.01, 0.03, 0.1)
    """ϵ: the first student gets the extra residue ϵ w*"""
    time: PositiveFloat = 40.0
    """duration of the simulation with the same residue"""
    settled: PositiveFloat = 10.0
    """time after which the initial transition counts as over"""
    span: PositiveFloat = 16.0
    """duration of the simulation with an advantage, in units of 1/ϵ"""
    seeds: PositiveInt = 32
    """number of seeds; each draws directions with w_kᵀw* > 0, norms and a_k between ½ and 1½ of their means"""

    def units(self) -> list[Unit]:
        paths = len(self.start) + 2 * len(self.extra)
        # A path takes about a tenth of a second on one core, mostly in Python: count the flops of that time.
        return [Unit(f"seed{seed}", {"seed": seed}, paths, 2e9 * paths) for seed in range(self.seeds)]

    def students(self, seed: int) -> tuple[np.ndarray, Weights, np.ndarray]:
        """Return w* with ‖w*‖ = 1, students with w_kᵀw* > 0 and norms in [½, 1½], and a_k in [½, 1½]."""
        w_star = stream(self.root, Role.TEACHER, seed).standard_normal(self.d)
        rng = stream(self.root, Role.STUDENT, seed)
        W = rng.standard_normal((self.n, self.d))
        W *= (np.sign(W @ w_star) * rng.uniform(0.5, 1.5, self.n) / norms(W))[:, None]
        return w_star / np.linalg.norm(w_star), W, rng.uniform(0.5, 1.5, self.n)

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        seed = unit.values["seed"]
        w_star, W, a = self.students(seed)
        other = stream(self.root, Role.CHANCE, seed).standard_normal(self.d)  # for a control
        equal, broken, without = [], [], []
        for start in self.start:
            path = self._path(w_star, start * W, a, 0.0, np.linspace(0, self.time, INTERVALS + 1))
            equal.append((np.log(norms(path)), angles(path, w_star), angles(path, other)))
            tick(1)
        for extra in self.extra:
            window = self.settled + np.array([0, 1 / extra])
            times = np.concatenate([np.linspace(0, self.span / extra, INTERVALS + 1), window])
            for leads, size in ((broken, extra), (without, 0.0)):
                leads.append(_lead(np.log(norms(self._path(w_star, self.start[0] * W, a, size, times)))))
                tick(1)
        leads, leads_without, extras = np.stack(broken), np.stack(without), np.array(self.extra)
        data = xr.Dataset(
            {
                "log_norm": (("start", "moment", "student"), np.stack([e[0] for e in equal])),
                "angle": (("start", "moment", "student"), np.stack([e[1] for e in equal])),
                "other_angle": (("start", "moment", "student"), np.stack([e[2] for e in equal])),
                "lead": (("extra", "moment"), leads[:, :-2]),
                "rate": ("extra", (leads[:, -1] - leads[:, -2]) * extras),
                "lead_without": (("extra", "moment"), leads_without[:, :-2]),
                "rate_without": ("extra", (leads_without[:, -1] - leads_without[:, -2]) * extras),
            },
            coords={
                "start": list(self.start), "extra": list(self.extra),
                "moment": np.linspace(0, 1, INTERVALS + 1), "student": range(1, self.n + 1),
            },
        )  # fmt: skip
        return data.assign_coords(seed=seed).expand_dims("seed")

    def _path(self, w_star: np.ndarray, W: Weights, a: np.ndarray, extra: float, times: np.ndarray) -> np.ndarray:
        """The students at the given times. The flow gets stiff, their sum moves much faster than each: use LSODA."""
        velocity = partial(multiplied, partial(common_residue, w_star, a, extra))
        return flow(velocity, W, float(times.max()), rtol=1e-9, method="LSODA").at(times)

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        return {"ratios": ratios(self._ordered(result), self.time, self.span)}

    def controls(self, result: xr.Dataset) -> list[Control]:
        without = result.assign(lead=result.lead_without, rate=result.rate_without)
        # The log of the lead in place of the first log norm, and 0 in place of the others, gives the same ratios.
        lead = result.lead.sel(extra=max(self.extra), drop=True)
        leading = (lead * (result.student == 1)).broadcast_like(result.log_norm).transpose(*result.log_norm.dims)
        return [
            Control("students of which one has an extra residue", ("S0.T7.constant",), result.assign(log_norm=leading)),
            Control("the angles with a random vector in the place of w*", ("S0.T7.align",),
                    result.assign(angle=result.other_angle)),
            Control("initial norms assigned to the paths at random", ("S0.T7.small-start",),
                    shuffled(result, "start", "angle", root=self.root)),
            Control("students without an extra residue", ("S0.T7.break", "S0.T7.rate", "S0.T7.for-ever"), without),
        ]  # fmt: skip

    def claims(self, result: xr.Dataset) -> list[Claim]:
        result = self._ordered(result)
        return [*equal(result), *broken(result, self.settled, self.span)]

    def _ordered(self, result: xr.Dataset) -> xr.Dataset:
        """Sort initial norms and ϵ in the order of the fields, for the first initial norm has a special role."""
        return result.sel(start=list(self.start), extra=list(self.extra))


def _lead(log_norm: np.ndarray) -> np.ndarray:
    """Return the logarithm of the first norm divided by the geometric mean of the others."""
    return log_norm[:, 0] - log_norm[:, 1:].mean(1)


STUDY = SymmetryBreaking
