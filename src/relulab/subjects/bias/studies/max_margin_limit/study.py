"""IB theorem 1 at the paper's size: gradient flow followed until every neuron points along a max-margin direction."""

from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge, Gt, Le, Len
from matplotlib.figure import Figure
from pydantic import AfterValidator, PositiveFloat, PositiveInt
from torch.nn.functional import normalize

from relulab.core.seeds import Role, stream
from relulab.data.labeled import Labeled
from relulab.flow.gradient_flow import Clock, gradient_flow
from relulab.lab.claim import Claim
from relulab.lab.show.animation import Animation
from relulab.lab.study import Study, Tick, Unit, blocks, distinct
from relulab.nets.initial import balanced
from relulab.subjects.bias.instruments.early_phase import neuron_sectors
from relulab.subjects.bias.instruments.limit import limit_distance, live
from relulab.subjects.bias.instruments.max_margin import max_margin
from relulab.subjects.bias.studies.max_margin_limit.claims import statements
from relulab.subjects.bias.studies.max_margin_limit.drawing import directions, turning
from relulab.subjects.bias.tools.neuron_flow import neurons
from relulab.subjects.bias.tools.orthants import OppositeOrthants, SpanningSupports

KINDS = {"paper": OppositeOrthants, "spanning": SpanningSupports}
HALVED = 1000.0  # −log ℓ at which the path with half the step is compared
EARLY = 400  # a path takes about so many steps before the loss begins to fall, at step 0.4


class MaxMarginLimit(Study):
    """Does gradient flow from near zero bring every neuron to the max-margin direction of its class?

    Two kinds of data: the paper's own construction, whose few support examples do not span R^d, so that the theorem
    says nothing of it, and one whose support examples do. Networks start balanced with norms of 1e-8 and are followed
    to a loss of e^(−10,000).
    """

    name: ClassVar = "max-margin-limit"
    ids: ClassVar = ("IB.T1.flow", "IB.L1")
    title: ClassVar = "Gradient flow to the max-margin directions"
    source: ClassVar = "IB theorem 1, lemma 1; data of section 5.1"
    remarks: ClassVar = (
        "The paper shows SGD only (IB.F1): this study is ours. Gradient flow is followed on the logarithm of the loss; "
        f"beside each path goes one with half the step, to −log ℓ = {HALVED:,.0f}."
    )
    presets: ClassVar = {
        "smoke": {"seeds": 2, "d": 5, "n": 40, "width": 12, "until": 30.0, "step": 0.8},
        "quick": {"seeds": 6, "lanes": 6, "step": 0.8},
    }

    kinds: Annotated[tuple[Literal["paper", "spanning"], ...], Len(min_length=1), AfterValidator(distinct)] = (
        "paper",
        "spanning",
    )
    """data: opposite orthants as in the paper, or with support examples that span the space"""
    d: Annotated[int, Ge(3)] = 20
    """input dimension"""
    n: Annotated[int, Ge(6)] = 500
    """points"""
    width: Annotated[int, Ge(3)] = 100
    """neurons"""
    size: PositiveFloat = 1e-8
    """‖w_j‖ = |a_j| at the start"""
    until: Annotated[float, Ge(10)] = 10_000.0
    """−log of the loss at the end"""
    step: Annotated[float, Gt(0), Le(1)] = 0.4
    """largest relative change of a weight, and fall of log ℓ, in a step"""
    seeds: PositiveInt = 20
    """networks of each kind, each with data of its own"""
    lanes: PositiveInt = 20
    """seeds of a unit, followed together"""

    def units(self) -> list[Unit]:
        until = self.until + 3 * min(self.until, HALVED)
        steps = round((until + 4 * EARLY * 0.4) / self.step)
        return [
            # A step of all lanes costs about a millisecond of a core, most of it in small operations.
            Unit(f"{kind}-seeds{block[0]}-{block[-1]}", {"kind": kind, "seeds": block}, steps * len(block), 6e7 * steps)
            for kind in self.kinds
            for block in blocks(self.seeds, self.lanes)
        ]

    def data(self, kind: str, seed: int) -> Labeled:
        return KINDS[kind](self.d).draw(stream(self.root, Role.TRAIN, seed), self.n)

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        kind, seeds = unit.values["kind"], unit.values["seeds"]
        data = [self.data(kind, seed) for seed in seeds]
        X, y = torch.stack([one.X for one in data]), torch.stack([one.y for one in data])
        found = [max_margin(one.X, one.y) for one in data]
        w = [torch.stack([side.w for side in sides]) for sides in zip(*found, strict=True)]
        net = balanced((self.d, self.width, 1), seeds, size=self.size, root=self.root)
        looks, done = [], 0

        def each(clock: Clock) -> None:
            nonlocal done
            tick((clock.steps - done) * len(seeds))
            done = clock.steps
            looks.append(self._look(net, clock, X, y, w))

        gradient_flow(net, X, y, until=self.until, step=self.step, each=each)
        joined = {name: torch.stack([look[name] for look in looks], 1).numpy() for name in looks[0]}
        dims = {"count": ("place",), "plane": ("neuron", "axis")}
        variables = {name: (("seed", "look", *dims.get(name, ())), values) for name, values in joined.items()}
        ranks = np.array([[f.positive.rank, f.negative.rank] for f in found])
        variables |= {
            "supports": (("seed", "side"), ranks),
            "sign": (("seed", "neuron"), neurons(net)[1].sign().numpy()),
            "halving": (("seed",), self._halving(X, y, seeds, tick).numpy()),
        }
        coords = {"seed": list(seeds), "side": ["positive", "negative"], "look": range(len(looks))}
        coords |= {"place": ["off", "positive", "negative", "undecided"]}
        return xr.Dataset(variables, coords=coords).expand_dims(kind=[kind])

    def _look(self, net, clock: Clock, X, y, w) -> dict[str, torch.Tensor]:
        W, a = neurons(net)
        limit = limit_distance(W, a, *w)
        on = live(W, X)
        counts = [neuron_sectors(*lane).counts for lane in zip(W, a, X, y, strict=True)]
        # neurons beside w₊ and the part of w₋ across it, as shares of the longest
        axes = torch.stack([normalize(w[0], dim=1), normalize(w[1] - _along(w[1], w[0]), dim=1)], -1)
        return {
            "s": clock.s, "log_t": clock.log_t, "log_loss": clock.log_loss, "count": torch.stack(counts).double(),
            "cosine": torch.where(on.any(1), torch.where(on, limit.cosine, 2.0).amin(1), torch.nan),
            "first": limit.first,
            "second": limit.second, "beyond": limit.beyond,
            "plane": W @ axes / W.norm(dim=2).amax(1)[:, None, None],
        }  # fmt: skip

    def _halving(self, X, y, seeds: tuple[int, ...], tick: Tick) -> torch.Tensor:
        """By how much half the step changes the direction of a live neuron, at most: the sine of the angle."""
        ends = []
        for step in (self.step, self.step / 2):
            net = balanced((self.d, self.width, 1), seeds, size=self.size, root=self.root)
            clock = gradient_flow(net, X, y, until=min(self.until, HALVED), step=step)
            tick(clock.steps * len(seeds))
            W = neurons(net)[0]
            ends.append(normalize(W, dim=2) * live(W, X)[..., None])
        return (ends[0] - ends[1]).norm(dim=2).amax(1)

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        return {"directions": directions(result)}

    def animations(self, result: xr.Dataset) -> dict[str, Animation]:
        return {f"turning-{kind}": turning(result.sel(kind=kind).isel(seed=0)) for kind in self.kinds}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        return [c for kind in self.kinds for c in statements(kind, result.sel(kind=kind), self.d)]


def _along(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The part of a along b."""
    return (a * b).sum(1, keepdim=True) / b.square().sum(1, keepdim=True) * b


STUDY = MaxMarginLimit
