"""What IB figures 1 and 2 share: networks trained by SGD from a small start, their weight matrices and directions."""

from abc import abstractmethod
from typing import Annotated, ClassVar

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge
from pydantic import PositiveFloat, PositiveInt
from torch.nn.functional import normalize

from relulab.core.seeds import Role, stream
from relulab.data.labeled import Labeled
from relulab.data.labeled_task import LabeledTask
from relulab.lab.study import Study, Tick, Unit, blocks
from relulab.nets.mlp import MLP
from relulab.nets.residual import Residual
from relulab.subjects.bias.instruments.max_margin import max_margin
from relulab.subjects.bias.tools.orthants import OppositeOrthants
from relulab.train.losses import Logistic
from relulab.train.probe import Probe, Reading
from relulab.train.sgd import sgd

TOP = 10  # singular values, as in the figures
LOOKS = 12
ALIGNED = 0.9  # the correlation that the paper's text names


class Rays(Study):
    """A unit is a block of seeds; a seed has its data, its start and its batches."""

    remarks: ClassVar[str] = (
        "The start is PyTorch's default times 0.05, without biases, and the loss is averaged over a batch; the text "
        "says neither how weights are drawn before the factor nor whether the loss is averaged. An epoch is a pass "
        "over all points in a random order. Training is in float32."
    )
    d: Annotated[int, Ge(3)] = 20
    """input dimension"""
    n: Annotated[int, Ge(4)] = 500
    """points"""
    width: Annotated[int, Ge(4)] = 100
    """neurons of a hidden layer"""
    factor: PositiveFloat = 0.05
    """what the weights are multiplied by before training"""
    lr: PositiveFloat = 0.1
    """learning rate"""
    batch: PositiveInt = 50
    """points of a batch"""
    epochs: PositiveInt = 500
    """passes over the data"""
    seeds: PositiveInt = 32
    """networks, each with data of its own"""
    lanes: PositiveInt = 8
    """seeds of a unit, trained together"""

    @abstractmethod
    def start(self, seeds: tuple[int, ...]) -> MLP | Residual:
        """The networks before training."""

    @property
    def flops_of_a_step(self) -> float:
        """Products of one seed's step, forward and back."""
        weights = sum(W[0].numel() for W in self.start((0,)).W)
        return 6.0 * self.batch * weights

    def units(self) -> list[Unit]:
        steps, flops = self.epochs * (self.n // self.batch), self.flops_of_a_step
        return [
            Unit(f"seeds{block[0]}-{block[-1]}", {"seeds": block}, steps * len(block), steps * len(block) * 3 * flops)
            for block in blocks(self.seeds, self.lanes)
        ]

    def data(self, seed: int) -> Labeled:
        return OppositeOrthants(self.d).draw(stream(self.root, Role.TRAIN, seed), self.n)

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        seeds = unit.values["seeds"]
        data = [self.data(seed) for seed in seeds]
        task = LabeledTask(data, seeds=seeds, root=self.root)
        net = self.start(seeds)
        found = [max_margin(*one[:2]) for one in data]
        w = torch.stack([torch.stack([f.positive.w, f.negative.w]) for f in found])  # seed 2 d
        first = [torch.linalg.svdvals(W.data.double())[:, 0] for W in net.W[:-1]]
        looks = sorted({0, self.epochs, *np.geomspace(1, self.epochs, LOOKS).round().astype(int).tolist()})
        points = task.train()

        def look(net: MLP | Residual) -> Reading:
            own = self.correlations(net, w)
            with torch.no_grad():
                loss = Logistic().value(net(points.X), points.Y)
            return {"loss": (("seed",), loss), "aligned": (("seed",), (own > ALIGNED).double().mean(1))}

        history = sgd(
            net, task, epochs=self.epochs, steps=self.n // self.batch, batch=self.batch, lr=self.lr,
            probes=[Probe(looks, look)], tick=tick,
        )  # fmt: skip
        ranks = np.array([[f.positive.rank, f.negative.rank] for f in found])
        return history.assign_coords(seed=list(seeds)).merge(self._end(net, w, first, ranks, seeds))

    def _end(self, net: MLP | Residual, w, first: list, ranks: np.ndarray, seeds: tuple[int, ...]) -> xr.Dataset:
        """Of the trained networks: singular values and projections layer by layer, correlations in the first."""
        layers = list(range(1, len(net.W)))
        svd = [torch.linalg.svd(W.data.double().mT, full_matrices=False) for W in net.W[:-1]]  # rows are neurons
        top = min(TOP, self.width, self.d)
        singular = torch.stack([S[:, :top] for _, S, _ in svd], 1)
        projected = torch.stack([(U * S[:, None])[..., :2] for U, S, _ in svd], 1)
        variables = {
            "singular": (("seed", "layer", "rank"), singular),
            "start": (("seed", "layer"), torch.stack(first, 1)),
            "projected": (("seed", "layer", "neuron", "axis"), projected),
            "correlation": (("seed", "neuron"), self.correlations(net, w)),
            "outer": (("seed", "neuron"), net.W[-1].data[..., 0].double()),
            "supports": (("seed", "side"), torch.from_numpy(ranks)),
            "between": (("seed",), (normalize(w, dim=2).prod(1)).sum(1)),
        }
        coords = {"seed": list(seeds), "layer": layers, "rank": range(1, top + 1), "side": ["positive", "negative"]}
        return xr.Dataset({k: (dims, np.asarray(v)) for k, (dims, v) in variables.items()}, coords=coords)

    @abstractmethod
    def correlations(self, net: MLP | Residual, w: torch.Tensor) -> torch.Tensor:
        """The cosine of every first-layer neuron with its max-margin direction, w₊ or w₋: (seed, neuron)."""


def cosines(net: MLP | Residual, w: torch.Tensor) -> torch.Tensor:
    """Of every first-layer neuron with w₊ and with w₋: (seed, neuron, 2)."""
    return normalize(net.W[0].data.double().mT, dim=2) @ normalize(w, dim=2).mT
