"""S0 section 5.3: how slowly a student turns when it starts opposite to a teacher node."""

import math
from itertools import cycle
from typing import Annotated, ClassVar

import numpy as np
import xarray as xr
from annotated_types import Ge, Gt, Le, Len, Lt
from matplotlib.figure import Figure
from pydantic import AfterValidator, PositiveInt

from relulab.core.seeds import Role, stream
from relulab.core.slope import slopes
from relulab.lab.claim import Claim, claim
from relulab.lab.control import Control
from relulab.lab.show.figure import GOLD, GRAY, RED, TEAL, headline, panels
from relulab.lab.study import Study, Tick, Unit, distinct
from relulab.subjects.specialization.tools.escape import FLOWS, escape_time
from relulab.subjects.specialization.tools.escape_with_fan_out import escape_time_with_fan_out

NEAR = 0.05  # allowed distance of a slope from the law's
STYLES = {
    "printed": ("flow of eq. 8, as printed", {"color": RED, "ls": "-", "marker": "s"}),
    "fixed norm": ("gradient flow, norm held fixed", {"color": GOLD, "ls": (0, (6, 2)), "marker": "D"}),
    "gradient": ("gradient flow, fan-out fixed", {"color": TEAL, "ls": "-.", "marker": "^"}),
}
FAN_OUTS = {-1: RED, 0: GOLD, 1: TEAL}  # color by the sign of v(0) − ‖w(0)‖
MARKERS = "vsoD^PX<>*"
STRAIGHT = 0.05  # largest distance from a straight line, relative to the range of times, that counts as one
WHY = (
    "Near θ = π the gates of student and teacher hardly overlap, so w is not pushed toward w* and ‖w‖ shrinks as "
    "e^{−t/2}. As it shrinks, the turning rate θ̇ = −(π − θ) sin θ ‖w*‖/(2π‖w‖) grows in size, and the time until "
    "θ = π/2 is 2 ln(1 + π‖w(0)‖ cos ϵ/(‖w*‖ϵ)). The law 1/ϵ holds with the extra factor ‖w_k‖ that theorem 6 has in "
    "print, with ‖w‖ held fixed, and with a trained fan-out from a balanced start."
)
Ratio = Annotated[float, Ge(0.1), Le(10)]
Angle = Annotated[float, Ge(1e-6), Lt(math.pi / 2)]


class SlowEscape(Study):
    """How long does a student that points away from a teacher node take to turn toward it?

    A single student starts at the angle θ = π − ϵ from a single teacher node, and the time until the angle is θ₀ is
    measured under three flows: that of eq. 8, ẇ = ‖w‖ g; the mean gradient flow ẇ = g of a ReLU node with Gaussian
    inputs and fan-out 1; and the same with ‖w‖ held fixed, as normalization does. S0 says that the time grows as 1/ϵ.

    If the fan-out v is trained as well, v² − ‖w‖² does not change, and its sign decides: the time grows as ln(1/ϵ) for
    v > ‖w‖, as 1/ϵ for a balanced start v = ‖w‖, and as 1/ϵ⁴ for v < ‖w‖.
    """

    name: ClassVar = "slow-escape"
    ids: ClassVar = ("S0.T7.escape",)
    title: ClassVar = "Slow escape from the direction opposite to a teacher node"
    source: ClassVar = "S0 section 5.3, eq. 8"
    remarks: ClassVar = "S0 has no experiment for this statement: the initial weights and all sizes are our choice."
    symbols: ClassVar = {
        "w": "weights of the student", "w_k": "weights of student k", "ẇ": "time derivative of w",
        "w*": "weights of the teacher node",
        "g": "minus the mean gradient of the loss with respect to w, for Gaussian inputs",
        "θ": "angle between w and w*", "θ̇": "time derivative of θ", "θ₀": "angle at which the escape ends",
        "ϵ": "how far the initial angle is from π", "t": "time",
        "v": "fan-out of the student, the weight with which the output uses it",
        "v(0)": "fan-out at the start", "w(0)": "weights of the student at the start",
    }  # fmt: skip
    presets: ClassVar = {"smoke": {"seeds": 2}, "quick": {"seeds": 8}}
    captions: ClassVar = {
        "escape": "Time until a student that starts at the angle π − ϵ from its teacher node reaches the angle θ₀, "
        "versus ϵ. Small symbols are seeds, colored lines are medians: the flow of eq. 8 (solid, squares), gradient "
        "flow with the norm held fixed (dashed, diamonds) and gradient flow (dash-dotted, triangles). Gray lines are "
        "the laws 1/ϵ of S0 (dashed) and 2 ln(1/ϵ) (dotted). The law 1/ϵ holds for the flow of eq. 8 and for a fixed "
        "norm, but under gradient flow with a fixed fan-out the time grows only as 2 ln(1/ϵ). Tests a statement of S0 "
        "section 5.3, which has no figure.",
        "fan-out": "The same time under gradient flow that also trains the fan-out v. Left: versus ϵ, one line for "
        "each ratio v(0)/‖w(0)‖ at the start; dashed lines are the laws 2π/ϵ of a balanced start and (3π²/2) (‖w(0)‖² "
        "− v(0)²)/ϵ⁴ of a smaller fan-out, for the median norm. Right: versus the ratio, one line for each ϵ. The "
        "three phases meet at the ratio 1. Lines with symbols are medians over seeds. Not in the paper.",
    }
    version: ClassVar = 2  # 2: flows that train the fan-out

    d: Annotated[int, Ge(2)] = 10
    """input dimension"""
    epsilon: Annotated[tuple[Angle, ...], Len(min_length=2), AfterValidator(distinct)] = (0.1, 0.01, 1e-3, 1e-4)
    """ϵ: the initial angle is π − ϵ"""
    theta_0: Annotated[float, Gt(0), Le(math.pi / 2)] = math.pi / 2
    """θ₀: angle with the teacher node at which the escape ends"""
    fan_out: Annotated[tuple[Ratio, ...], AfterValidator(distinct)] = (0.5, 0.8, 1.0, 1.25, 2.0)
    """v(0)/‖w(0)‖: fan-out at the start of the flows that train it, relative to the norm"""
    seeds: PositiveInt = 32
    """number of seeds: random planes and initial norms between ½ and 2, with ‖w*‖ = 1"""

    def units(self) -> list[Unit]:
        paths = (len(FLOWS) + len(self.fan_out)) * len(self.epsilon)
        # A path takes about a fifth of a second on one core, mostly in Python: count the flops of that time.
        return [Unit(f"seed{seed}", {"seed": seed}, paths, 4e9 * paths) for seed in range(self.seeds)]

    def opposite(self, seed: int, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
        """Return a student at the angle π − ϵ from a teacher node, and that node; plane and norm do not depend on ϵ."""
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
        norm = float(np.linalg.norm(self.opposite(seed, self.epsilon[0])[0]))
        trained = np.empty((1, len(self.fan_out), len(self.epsilon)))
        for (_, i, j), _ in np.ndenumerate(trained):
            v = self.fan_out[i] * norm
            trained[0, i, j] = escape_time_with_fan_out(norm, v, self.epsilon[j], self.theta_0, rtol=1e-6)
            tick(1)
        coords = {"seed": [seed], "flow": list(FLOWS), "epsilon": list(self.epsilon), "ratio": list(self.fan_out)}
        variables = {
            "time": (("seed", "flow", "epsilon"), times),
            "trained": (("seed", "ratio", "epsilon"), trained),
            "norm": (("seed",), [norm]),
        }
        return xr.Dataset(variables, coords=coords)

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        figure, axes = panels(1, 1, width=4.2, height=3.2)
        ax, epsilon = axes[0, 0], np.geomspace(min(self.epsilon), max(self.epsilon), 50)
        for kind, (label, style) in STYLES.items():
            times = result.time.sel(flow=kind)
            ax.plot(times.epsilon, times.transpose("epsilon", "seed"), **style | {"ls": "none"}, ms=3, alpha=0.4)
            ax.plot(times.epsilon, times.median("seed"), lw=3 if kind == "printed" else 1.2, label=label, **style)
        ax.plot(epsilon, 1 / epsilon, "--", color=GRAY, label="1/ϵ, as stated in S0")
        ax.plot(epsilon, 2 * np.log(1 / epsilon), ":", color=GRAY, label="2 ln(1/ϵ)")
        ax.set(xscale="log", yscale="log", xlabel="ϵ (the initial angle is π − ϵ)")
        ax.set_ylabel(f"time until the angle is {self.theta_0 / math.pi:.3g} π")
        ax.legend(fontsize=8)
        headline(figure, f"Small symbols: {result.sizes['seed']} seeds; lines: medians")
        return {"escape": figure} | ({"fan-out": self._phases(result)} if self.fan_out else {})

    def _phases(self, result: xr.Dataset) -> Figure:
        figure, axes = panels(1, 2, width=4.2, height=3.2)
        left, right = axes[0]
        times, norm = result.trained.median("seed"), float(result.norm.median())
        for ratio, marker in zip(sorted(self.fan_out), cycle(MARKERS), strict=False):
            color = FAN_OUTS[int(np.sign(ratio - 1))]
            left.plot(times.epsilon, times.sel(ratio=ratio), color=color, marker=marker, ms=4, label=f"{ratio:g}")
            switched_off = 1.5 * (np.pi * norm) ** 2 * (1 - ratio**2) / times.epsilon**4
            if ratio <= 1:
                law = 2 * np.pi / times.epsilon if ratio == 1 else switched_off
                left.plot(times.epsilon, law, "--", color=GRAY, lw=1)
        left.set(xscale="log", yscale="log", xlabel="ϵ (the initial angle is π − ϵ)")
        left.set_ylabel(f"time until the angle is {self.theta_0 / math.pi:.3g} π")
        left.legend(title="v(0)/‖w(0)‖", fontsize=8)
        for epsilon, marker in zip(self.epsilon, cycle(MARKERS), strict=False):
            line = times.sel(epsilon=epsilon).sortby("ratio")
            right.plot(line.ratio, line, marker=marker, ms=4, label=f"{epsilon:g}")
        right.axvline(1, color=GRAY, ls=":", lw=1)
        right.set(xscale="log", yscale="log", xlabel="v(0)/‖w(0)‖")
        right.set_xticks(sorted(self.fan_out), [f"{ratio:g}" for ratio in sorted(self.fan_out)])
        right.minorticks_off()
        right.legend(title="ϵ", fontsize=8)
        headline(figure, f"Medians of {result.sizes['seed']} seeds, fan-out trained")
        return figure

    def controls(self, result: xr.Dataset) -> list[Control]:
        times = self.linear(result)
        linear = {name: times.broadcast_like(result[name]) for name in ("time", "trained") if result[name].size}
        return [Control("a linear student, which has no gate", ("S0.T7.escape.*",), result.assign(linear))]

    def linear(self, result: xr.Dataset) -> xr.DataArray:
        """Return the times of a linear student, ẇ = w* − w, along "seed" and "epsilon".

        From w = ‖w(0)‖ (sin ϵ, −cos ϵ) and w* = (0, 1), the angle is θ₀ when e^t = 1 + ‖w(0)‖ (cos ϵ + sin ϵ cot θ₀).
        """
        epsilon = result.epsilon
        return np.log(1 + result.norm * (np.cos(epsilon) + np.sin(epsilon) / math.tan(self.theta_0)))

    def claims(self, result: xr.Dataset) -> list[Claim]:
        x = np.log(result.epsilon)
        cases = (
            ("printed", "Under the flow of eq. 8", ""),
            ("fixed-norm", "Under gradient flow with the norm held fixed", ""),
            ("gradient", "Under gradient flow with a fixed fan-out", WHY),
        )
        claims = []
        for kind, flow, why in cases:
            powers = slopes(x, np.log(result.time.sel(flow=kind.replace("-", " "))))
            claims.append(
                claim(
                    f"S0.T7.escape.{kind}",
                    f"{flow}, the time to escape from the angle π − ϵ grows as 1/ϵ",
                    abs(powers + 1),
                    "<",
                    NEAR,
                    f"The mean slope is {powers.mean():.3f}. {why}".strip(),
                    (0, math.inf),
                    statistic="distance from −1 of the slope of log time against log ϵ",
                )
            )
        factors = -slopes(x, result.time.sel(flow="gradient"))
        logarithmic = claim(
            "S0.T7.escape.log",
            "Under gradient flow with a fixed fan-out, the time to escape is 2 ln(1/ϵ) plus a constant",
            abs(factors - 2),
            "<",
            2 * NEAR,
            f"The mean slope is {factors.mean():.3f}. This law is our result, not one of S0.",
            (0, math.inf),
            statistic="distance from 2 of the slope of time against ln(1/ϵ)",
        )
        return [*claims, logarithmic, *(c for ratio in self.fan_out if (c := _of_ratio(result, ratio)))]


def _of_ratio(result: xr.Dataset, ratio: float) -> Claim | None:
    """The law of the time if the fan-out is trained, for one ratio v(0)/‖w(0)‖; None if two times fit any line."""
    times, x = result.trained.sel(ratio=ratio), np.log(result.epsilon)
    flow, id = f"With a trained fan-out and v(0) = {ratio:g} ‖w(0)‖", f"S0.T7.escape.trained-{ratio:g}"
    if ratio > 1 and times.sizes["epsilon"] < 3:
        return None
    if ratio > 1:
        t = times.transpose("seed", "epsilon").values
        line = np.polynomial.polynomial.polyfit(x.values, t.T, 1)
        off = np.abs(t - np.polynomial.polynomial.polyval(x.values, line)).max(1) / np.ptp(t, axis=1)
        statistic = "largest distance of the times from a straight line in ln(1/ϵ), divided by their range"
        says, note = "the time to escape grows as ln(1/ϵ)", "This law is our result, not one of S0."
        return claim(id, f"{flow}, {says}", off, "<", STRAIGHT, note, (0, math.inf), statistic=statistic)
    power = 1 if ratio == 1 else 4
    powers = slopes(x, np.log(times))
    ours = "" if ratio == 1 else " This law is our result, not one of S0."
    return claim(
        id, f"{flow}, the time to escape grows as {'1/ϵ' if power == 1 else '1/ϵ⁴'}", abs(powers + power), "<",
        power * NEAR, f"The mean slope is {powers.mean():.3f}.{ours}", (0, math.inf),
        statistic=f"distance from −{power} of the slope of log time against log ϵ",
    )  # fmt: skip


STUDY = SlowEscape
