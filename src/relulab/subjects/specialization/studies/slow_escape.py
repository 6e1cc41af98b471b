"""S0 section 5.3, slow convergence to weak nodes: a student that starts opposite to a teacher node."""

import math
from typing import Annotated, ClassVar

import numpy as np
import xarray as xr
from annotated_types import Ge, Gt, Le, Len, Lt
from matplotlib.figure import Figure
from pydantic import AfterValidator, PositiveInt

from relulab.core.seeds import Role, stream
from relulab.core.slope import slopes
from relulab.lab.claim import Claim, claim
from relulab.lab.show.figure import GOLD, GRAY, RED, TEAL, panels
from relulab.lab.study import Study, Tick, Unit, distinct
from relulab.subjects.specialization.tools.escape import FLOWS, escape_time

NEAR = 0.05  # how far a power may be from that of the law
LOOKS = {
    "printed": ("ẇ = ‖w‖ g, as printed", RED),
    "fixed norm": ("‖w‖ held fixed", GOLD),
    "gradient": ("gradient flow ẇ = g", TEAL),
}
WHY = (
    "Where the gates hardly overlap there is no push, so ‖w‖ shrinks as e^(−t/2), and as it does "
    "θ̇ = −(π − θ) sin θ ‖w*‖/(2π‖w‖) grows: to θ = π/2 it takes 2 ln(1 + π‖w(0)‖ cos ϵ/(‖w*‖ϵ)). The law 1/ϵ comes "
    "from the factor ‖w_k‖ that theorem 6 has too many as printed, or from norms held fixed."
)
Angle = Annotated[float, Ge(1e-6), Lt(math.pi / 2)]


class SlowEscape(Study):
    """How slow is the turn toward a teacher node for a student that points away from it?

    One student starts at the angle θ = π − ϵ from one teacher node. The time until θ₀ is measured under the flow of
    eq. 8, which is ẇ = ‖w‖ g; under the mean gradient flow ẇ = g of a ReLU node on Gaussian inputs; and under the
    latter with ‖w‖ held fixed, as normalization does. The text says ~ 1/ϵ.
    """

    name: ClassVar = "slow-escape"
    ids: ClassVar = ("S0.T7.escape",)
    title: ClassVar = "Slow escape from the direction opposite to a teacher"
    source: ClassVar = "S0 section 5.3, eq. 8"
    remarks: ClassVar = "S0 has no experiment for this statement: starts and sizes are ours."
    presets: ClassVar = {"smoke": {"seeds": 2}, "quick": {"seeds": 8}}

    d: Annotated[int, Ge(2)] = 10
    """input dimension"""
    epsilon: Annotated[tuple[Angle, ...], Len(min_length=2), AfterValidator(distinct)] = (0.1, 0.01, 1e-3, 1e-4)
    """ϵ: how far from π the angle is at the start"""
    theta_0: Annotated[float, Gt(0), Le(math.pi / 2)] = math.pi / 2
    """the angle with the teacher at which the escape ends"""
    seeds: PositiveInt = 32
    """starts: random planes, and norms between ½ and 2, where ‖w*‖ = 1"""

    def units(self) -> list[Unit]:
        paths = len(FLOWS) * len(self.epsilon)
        # A path is about a fifth of a second of one core, most of it Python: as many flops as it could do meanwhile.
        return [Unit(f"seed{seed}", {"seed": seed}, paths, 4e9 * paths) for seed in range(self.seeds)]

    def opposite(self, seed: int, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
        """A student at the angle π − ϵ from its teacher, and the teacher; seeds keep plane and norm for every ϵ."""
        w_star = stream(self.root, Role.TEACHER, seed).standard_normal(self.d)
        w_star /= np.linalg.norm(w_star)
        rng = stream(self.root, Role.STUDENT, seed)
        across = rng.standard_normal(self.d)
        across -= across @ w_star * w_star
        w = np.sin(epsilon) * across / np.linalg.norm(across) - np.cos(epsilon) * w_star
        return w * 2 ** rng.uniform(-1, 1), w_star

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        seed, times = unit.values["seed"], np.empty((1, len(FLOWS), len(self.epsilon)))
        for (_, i, j), _ in np.ndenumerate(times):
            w, w_star = self.opposite(seed, self.epsilon[j])
            times[0, i, j] = escape_time(list(FLOWS)[i], w, w_star, self.theta_0, rtol=1e-8)
            tick(1)
        coords = {"seed": [seed], "flow": list(FLOWS), "epsilon": list(self.epsilon)}
        return xr.Dataset({"time": (tuple(coords), times)}, coords=coords)

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        figure, axes = panels(1, 1, width=4.2, height=3.2)
        ax, epsilon = axes[0, 0], np.geomspace(min(self.epsilon), max(self.epsilon), 50)
        for kind, (label, color) in LOOKS.items():
            times = result.time.sel(flow=kind)
            ax.plot(times.epsilon, times.transpose("epsilon", "seed"), "o", color=color, ms=3, alpha=0.5)
            ax.plot(times.epsilon, times.median("seed"), color=color, lw=3 if kind == "printed" else 1.2, label=label)
        ax.plot(epsilon, 1 / epsilon, "--", color=GRAY, label="1/ϵ, as in the text")
        ax.plot(epsilon, 2 * np.log(1 / epsilon), ":", color=GRAY, label="2 ln(1/ϵ)")
        ax.set(xscale="log", yscale="log", xlabel="ϵ, for a start at θ = π − ϵ")
        ax.set_ylabel(f"time until θ = {self.theta_0 / math.pi:.3g} π")
        ax.legend(fontsize=8)
        figure.suptitle(f"Dots: {result.sizes['seed']} seeds; lines: their median", fontsize=9)
        return {"escape": figure}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        x = np.log(result.epsilon)
        law = "the escape from θ = π − ϵ takes a time ~ 1/ϵ: distance from −1 of the slope of log time on log ϵ"
        cases = (
            ("printed", f"Under the flow of eq. 8, {law}", ""),
            ("fixed-norm", f"Under gradient flow with ‖w‖ held fixed, {law}", ""),
            ("gradient", f"Under gradient flow itself, {law}", WHY),
        )
        found = []
        for kind, says, note in cases:
            power = slopes(x, np.log(result.time.sel(flow=kind.replace("-", " "))))
            note = f"The slope is {power.mean():.3f}. {note}".strip()
            found.append(claim(f"S0.T7.escape.{kind}", says, abs(power + 1), "<", NEAR, note, (0, math.inf)))
        factor = -slopes(x, result.time.sel(flow="gradient"))
        says = "Under gradient flow it takes 2 ln(1/ϵ) and a constant: distance from 2 of the slope of time on ln(1/ϵ)"
        note = f"The slope is {factor.mean():.3f}. This law is ours."
        return [*found, claim("S0.T7.escape.log", says, abs(factor - 2), "<", 2 * NEAR, note, (0, math.inf))]


STUDY = SlowEscape
