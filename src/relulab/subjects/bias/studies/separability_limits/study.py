"""IB.X1: how large may the start be, and how far from orthogonally separable the data, before the bias breaks?"""

from typing import Annotated, ClassVar

import torch
import xarray as xr
from annotated_types import Ge, Gt, Le, Len, MultipleOf
from matplotlib.figure import Figure
from pydantic import AfterValidator, NonNegativeFloat, PositiveFloat, PositiveInt

from relulab.core.seeds import Role, stream
from relulab.data.labeled import Labeled
from relulab.flow.gradient_flow import Clock, gradient_flow
from relulab.lab.claim import Claim
from relulab.lab.control import Control
from relulab.lab.study import Study, Tick, Unit, blocks, distinct
from relulab.nets.initial import balanced
from relulab.nets.mlp import MLP
from relulab.subjects.bias.instruments.limit import limit_distance, live
from relulab.subjects.bias.instruments.max_margin import max_margin
from relulab.subjects.bias.instruments.separability import separability
from relulab.subjects.bias.studies.separability_limits import claims, drawing
from relulab.subjects.bias.terms import LOSS, WEIGHTS
from relulab.subjects.bias.tools.broken_orthants import shifted, strayed
from relulab.subjects.bias.tools.neuron_flow import neurons
from relulab.subjects.bias.tools.orthants import OppositeOrthants

IN = 0.99  # a neuron with at least this cosine with its max-margin direction counts as pointing there
STEPS = 20_000  # most steps of one path, reached only by networks that cannot fit their data
Levels = Annotated[tuple[NonNegativeFloat, ...], Len(min_length=2), AfterValidator(distinct)]


class SeparabilityLimits(Study):
    """How large may the start be, and how far from orthogonally separable the data, before the bias breaks?

    Theorem 1 requires a vanishing start and orthogonally separable data. Here one condition at a time is violated more
    and more: the start grows; all points are shifted, which breaks many pairs a little; or one point turns toward the
    other class, which breaks few pairs by much. Each network is trained by gradient flow. Then the neurons that point
    in the max-margin direction of their class are counted.
    """

    name: ClassVar = "separability-limits"
    ids: ClassVar = ("IB.X1",)
    title: ClassVar = "How far from orthogonally separable may data be?"
    source: ClassVar = "ours; conditions of IB theorem 1, section 3.1"
    remarks: ClassVar = (
        "This study is ours: the paper calls both conditions crucial and does not vary them. Two numbers measure the "
        "distance of data from orthogonal separability: the share of broken pairs, and the largest cosine with the "
        "wrong sign, which is the largest cosine of points of different classes, or of points of the same class with "
        "the sign reversed, if it is positive, and otherwise 0."
    )
    captions: ClassVar = {
        "limits": "Left: share of live neurons that have a cosine of at least 0.99 with their max-margin direction "
        "after training (circles), and least cosine of a live neuron (triangles), against the size of the start, on "
        "orthogonally separable data. Symbols are single networks, lines are means. Middle: least cosine against the "
        "share of broken pairs, where all points are shifted (circles) or one point is turned toward the other class "
        "(squares). Right: the same against the largest cosine with the wrong sign. Theorem 1 predicts a least cosine "
        "of 1 (gray line) on data without broken pairs from a vanishing start. Not in the paper.",
    }
    symbols: ClassVar = {**WEIGHTS, **LOSS}
    version: ClassVar = 2  # 2: steps are divided at kinks
    presets: ClassVar = {
        "smoke": {"seeds": 2, "d": 4, "n": 16, "width": 8, "until": 20.0, "step": 0.8, "sizes": (1e-4, 1.0),
                  "shifts": (0.0, 1.0), "angles": (0.0, 60.0)},
        "quick": {"seeds": 8, "lanes": 8, "d": 10, "n": 40, "width": 24, "until": 100.0, "step": 0.8,
                  "sizes": (1e-8, 1e-4, 1e-2, 0.1, 1.0), "shifts": (0.0, 0.3, 0.4, 0.5, 0.7, 1.0, 1.4),
                  "angles": (0.0, 30.0, 50.0, 70.0, 90.0)},
    }  # fmt: skip

    sizes: Annotated[tuple[PositiveFloat, ...], Len(min_length=2), AfterValidator(distinct)] = (
        1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0,
    )  # fmt: skip
    """sizes ‖w_j‖ = |a_j| of every neuron at the start; other conditions are varied from the smallest one"""
    shifts: Levels = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 1.4)
    """shifts of all points along each coordinate"""
    angles: Levels = (0.0, 15.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0)
    """angles in degrees by which one point is turned toward the other class"""
    d: Annotated[int, Ge(4), MultipleOf(2)] = 20
    """input dimension"""
    n: Annotated[int, Ge(8)] = 100
    """number of points"""
    width: Annotated[int, Ge(4)] = 50
    """number of neurons"""
    until: Annotated[float, Ge(10)] = 300.0
    """−log ℓ at the end, if the network can fit the data"""
    step: Annotated[float, Gt(0), Le(1)] = 0.4
    """step size: largest fall of log ℓ in one step, and eight times the largest relative change of a weight"""
    seeds: PositiveInt = 20
    """number of seeds, each with its own data and initial directions"""
    lanes: PositiveInt = 10
    """number of seeds trained together in one unit"""

    @property
    def levels(self) -> dict[str, tuple[float, ...]]:
        """The levels of each sweep, in ascending order."""
        return {
            "start": tuple(sorted(self.sizes)),
            "shift": tuple(sorted(self.shifts)),
            "stray": tuple(sorted(self.angles)),
        }

    def units(self) -> list[Unit]:
        steps = round((self.until + 160) / self.step)
        return [
            Unit(
                f"{sweep}{level:g}-seeds{block[0]}-{block[-1]}", {"sweep": sweep, "level": level, "seeds": block},
                steps * len(block), 4e8 * steps,  # mostly small operations
            )
            for sweep, levels in self.levels.items() for level in levels for block in blocks(self.seeds, self.lanes)
        ]  # fmt: skip

    def data(self, sweep: str, level: float, seed: int) -> Labeled:
        """Draw the points of one seed.

        Args:
            sweep: ``start``, ``shift`` or ``stray``.
            level: The level of the sweep.
            seed: The seed.
        """
        data = OppositeOrthants(self.d).draw(stream(self.root, Role.TRAIN, seed), self.n)
        return shifted(data, level) if sweep == "shift" else strayed(data, level) if sweep == "stray" else data

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        sweep, level, seeds = (unit.values[name] for name in ("sweep", "level", "seeds"))
        data = [self.data(sweep, level, seed) for seed in seeds]
        X, y = torch.stack([points.X for points in data]), torch.stack([points.y for points in data])
        size = level if sweep == "start" else min(self.sizes)
        net = balanced((self.d, self.width, 1), seeds, size=size, root=self.root)
        start, done = self._directions(net, X, data), 0

        def each(clock: Clock) -> None:
            nonlocal done
            tick((clock.steps - done) * len(seeds))
            done = clock.steps

        clock = gradient_flow(net, X, y, until=self.until, step=self.step, steps=STEPS, each=each)
        end = self._directions(net, X, data)
        pairs = [separability(points.X, points.y, pairs=0, subset=False) for points in data]
        result = xr.concat([start, end], xr.Variable("when", ["start", "end"]))
        result["broken"] = ("seed", [p.broken / (p.equal.count + p.different.count) for p in pairs])
        result["wrong"] = ("seed", [p.cosine_violation for p in pairs])
        result["log_loss"] = ("seed", clock.log_loss.numpy())
        return result.assign_coords(seed=list(seeds)).expand_dims(sweep=[sweep], level=[float(level)])

    def _directions(self, net: MLP, X: torch.Tensor, data: list[Labeled]) -> xr.Dataset:
        """How many neurons are live, the share of them in their max-margin direction, and the least cosine."""
        vectors = [max_margin(points.X, points.y) for points in data]
        w = [torch.stack([side.w for side in sides]) for sides in zip(*vectors, strict=True)]
        W, a = neurons(net)
        on, cosine = live(W, X), limit_distance(W, a, *w).cosine
        number = on.sum(1)
        share = ((cosine >= IN) & on).sum(1) / number  # NaN if no neuron is live
        least = torch.where(number > 0, cosine.where(on, 2.0).amin(1), torch.nan)
        columns = {"live": number.double(), "share": share.double(), "least": least}
        return xr.Dataset({name: ("seed", values.numpy()) for name, values in columns.items()})

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        return {"limits": drawing.limits(result)}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        return claims.claims(result)

    def controls(self, result: xr.Dataset) -> list[Control]:
        return claims.controls(result)


STUDY = SeparabilityLimits
