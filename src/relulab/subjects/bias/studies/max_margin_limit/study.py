"""IB theorem 1 at the size of the paper: gradient flow until every live neuron points along a max-margin direction."""

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
from relulab.lab.control import Control
from relulab.lab.show.animation import Animation
from relulab.lab.study import Study, Tick, Unit, blocks, distinct
from relulab.nets.initial import balanced
from relulab.subjects.bias.instruments.early_phase import neuron_sectors
from relulab.subjects.bias.instruments.limit import limit_distance, live
from relulab.subjects.bias.instruments.max_margin import max_margin
from relulab.subjects.bias.studies.max_margin_limit.claims import controls, statements
from relulab.subjects.bias.studies.max_margin_limit.drawing import directions, turning
from relulab.subjects.bias.terms import LIMIT, LOSS, WEIGHTS
from relulab.subjects.bias.tools.neuron_flow import neurons
from relulab.subjects.bias.tools.orthants import OppositeOrthants, SpanningSupports

KINDS = {"paper": OppositeOrthants, "spanning": SpanningSupports}
HALVED = 1000.0  # −log ℓ at which the path is compared with the path of half the step size
EARLY = 400  # approximate number of steps before the loss begins to fall, at step size 0.4


class MaxMarginLimit(Study):
    """Does gradient flow from near zero turn every live neuron to the max-margin direction of its class?

    There are two kinds of data. The support examples of the paper's data do not span the input space, so theorem 1 does
    not apply. Those of the second kind span it, so the theorem applies. Networks start balanced with norms of 10⁻⁸ and
    are trained to a loss of e^{−10,000}.
    """

    name: ClassVar = "max-margin-limit"
    ids: ClassVar = ("IB.T1.flow", "IB.L1")
    title: ClassVar = "Gradient flow to the max-margin directions"
    source: ClassVar = "IB theorem 1, lemma 1; data of section 5.1"
    remarks: ClassVar = (
        "This study is ours: the paper shows only SGD (IB.F1). Gradient flow is integrated on the logarithm of the "
        f"loss. Each path is compared with a path of half the step size at −log ℓ = {HALVED:,.0f}."
    )
    captions: ClassVar = {
        "directions": "Left: distance of the network from the limit of theorem 1 (eq. 8) against −log of the loss, "
        "which grows during training. Lines are seeds, solid for the paper's data and dashed for data with spanning "
        "support examples; gray lines are the powers −1/2 and −1 of −log of the loss. Second: third singular value of "
        "the first-layer weights divided by the first, with the same lines. Right: areas show the number of neurons "
        "that are off, in the positive or negative extremal sector, or undecided, early in the training of one network "
        "for each kind of data; time is weighted by the loss. Lemma 1 predicts that no neuron stays undecided. Not in "
        "the paper.",
        "turning-paper": "The neurons of one network trained on the paper's data, as points in the plane of the two "
        "max-margin vectors w₊ and w₋; the horizontal axis is the component along w₊. Circles have a positive and "
        "triangles a negative output weight. They turn to the two max-margin directions before the loss falls, and "
        "then grow along them. Not in the paper.",
        "turning-spanning": "The neurons of one network trained on data whose support examples span the space, as "
        "points in the plane of the two max-margin vectors w₊ and w₋; the horizontal axis is the component along w₊. "
        "Circles have a positive and triangles a negative output weight. They turn to the two max-margin directions "
        "before the loss falls, and then grow along them. Not in the paper.",
    }
    symbols: ClassVar = {**LIMIT, **WEIGHTS, **LOSS}
    # 2: smaller steps while weights are small; 3: cosines with the means of the classes; 4: steps are divided at kinks
    version: ClassVar = 4
    presets: ClassVar = {
        "smoke": {"seeds": 2, "d": 5, "n": 40, "width": 12, "until": 30.0, "step": 0.8},
        "quick": {"seeds": 6, "lanes": 6, "step": 0.8},
    }

    kinds: Annotated[tuple[Literal["paper", "spanning"], ...], Len(min_length=1), AfterValidator(distinct)] = (
        "paper",
        "spanning",
    )
    """kinds of data: as in the paper, or with support examples that span the space"""
    d: Annotated[int, Ge(3)] = 20
    """input dimension"""
    n: Annotated[int, Ge(6)] = 500
    """number of points"""
    width: Annotated[int, Ge(3)] = 100
    """number of neurons"""
    size: PositiveFloat = 1e-8
    """‖w_j‖ = |a_j| of every neuron at the start"""
    until: Annotated[float, Ge(10)] = 10_000.0
    """−log ℓ at the end"""
    step: Annotated[float, Gt(0), Le(1)] = 0.4
    """step size: largest fall of log ℓ in one step, and eight times the largest relative change of a weight"""
    seeds: PositiveInt = 20
    """number of seeds for each kind of data, each with its own data"""
    lanes: PositiveInt = 20
    """number of seeds trained together in one unit"""

    def units(self) -> list[Unit]:
        until = self.until + 3 * min(self.until, HALVED)
        steps = round((until + 4 * EARLY * 0.4) / self.step)
        return [
            # one step of all lanes takes about two milliseconds on one core, mostly in small operations
            Unit(f"{kind}-seeds{block[0]}-{block[-1]}", {"kind": kind, "seeds": block}, steps * len(block), 1e8 * steps)
            for kind in self.kinds
            for block in blocks(self.seeds, self.lanes)
        ]

    def data(self, kind: str, seed: int) -> Labeled:
        """Draw the points of one seed.

        Args:
            kind: ``paper`` or ``spanning``.
            seed: The seed.
        """
        return KINDS[kind](self.d).draw(stream(self.root, Role.TRAIN, seed), self.n)

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        kind, seeds = unit.values["kind"], unit.values["seeds"]
        data = [self.data(kind, seed) for seed in seeds]
        X, y = torch.stack([points.X for points in data]), torch.stack([points.y for points in data])
        vectors = [max_margin(points.X, points.y) for points in data]
        w = [torch.stack([side.w for side in sides]) for sides in zip(*vectors, strict=True)]
        means = [torch.stack([points.of(label).mean(0) for points in data]) for label in (1, -1)]
        net = balanced((self.d, self.width, 1), seeds, size=self.size, root=self.root)
        snapshots, done = [], 0

        def each(clock: Clock) -> None:
            nonlocal done
            tick((clock.steps - done) * len(seeds))
            done = clock.steps
            snapshots.append(self._snapshot(net, clock, X, y, w, means))

        gradient_flow(net, X, y, until=self.until, step=self.step, each=each)
        joined = {name: torch.stack([s[name] for s in snapshots], 1).numpy() for name in snapshots[0]}
        dims = {"count": ("place",), "plane": ("neuron", "axis")}
        variables = {name: (("seed", "look", *dims.get(name, ())), values) for name, values in joined.items()}
        ranks = np.array([[v.positive.rank, v.negative.rank] for v in vectors])
        variables |= {
            "supports": (("seed", "side"), ranks),
            "sign": (("seed", "neuron"), neurons(net)[1].sign().numpy()),
            "halving": (("seed",), self._halving(X, y, seeds, tick).numpy()),
        }
        coords = {"seed": list(seeds), "side": ["positive", "negative"], "look": range(len(snapshots))}
        coords |= {"place": ["off", "positive", "negative", "undecided"]}
        return xr.Dataset(variables, coords=coords).expand_dims(kind=[kind])

    def _snapshot(self, net, clock: Clock, X, y, w, means) -> dict[str, torch.Tensor]:
        W, a = neurons(net)
        limit = limit_distance(W, a, *w)
        on = live(W, X)
        counts = [neuron_sectors(*lane).counts for lane in zip(W, a, X, y, strict=True)]
        # coordinates along w₊ and along the part of w₋ orthogonal to it, relative to the longest neuron
        axes = torch.stack([normalize(w[0], dim=1), normalize(w[1] - _along(w[1], w[0]), dim=1)], -1)
        return {
            "s": clock.s, "log_t": clock.log_t, "log_loss": clock.log_loss, "count": torch.stack(counts).double(),
            "cosine": _least(limit.cosine, on), "with_mean": _least(limit_distance(W, a, *means).cosine, on),
            "first": limit.first, "second": limit.second, "beyond": limit.beyond,
            "plane": W @ axes / W.norm(dim=2).amax(1)[:, None, None],
        }  # fmt: skip

    def _halving(self, X, y, seeds: tuple[int, ...], tick: Tick) -> torch.Tensor:
        """The largest change of the direction of a live neuron when the step is halved."""
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

    def controls(self, result: xr.Dataset) -> list[Control]:
        return controls(result)


def _least(cosine: torch.Tensor, on: torch.Tensor) -> torch.Tensor:
    """The least cosine of a live neuron of every lane; NaN if no neuron is live."""
    return torch.where(on.any(1), torch.where(on, cosine, 2.0).amin(1), torch.nan)


def _along(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The component of a along b."""
    return (a * b).sum(1, keepdim=True) / b.square().sum(1, keepdim=True) * b


STUDY = MaxMarginLimit
