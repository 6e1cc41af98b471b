"""The common part of IB figures 1 and 2: networks trained by SGD from a small start, and their weight matrices."""

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
from relulab.lab.control import Control
from relulab.lab.study import Tick, Unit, blocks
from relulab.lab.trained_study import TrainedStudy
from relulab.nets.mlp import MLP
from relulab.nets.residual import Residual
from relulab.subjects.bias.instruments.max_margin import max_margin
from relulab.subjects.bias.tools.finite_svd import finite_svd
from relulab.subjects.bias.tools.orthants import OppositeOrthants
from relulab.subjects.bias.tools.untrained import untrained
from relulab.train.fit import fit
from relulab.train.losses import Logistic
from relulab.train.probe import Probe, Reading

TOP = 10  # number of singular values, as in the figures
SNAPSHOTS = 12  # approximate number of measurements during training
ALIGNED = 0.9  # the correlation given in the text of the paper


class Rays(TrainedStudy):
    """Common setup of both studies. A unit is a block of seeds; each seed has its own data, start and batches."""

    remarks: ClassVar[str] = (
        "The initial weights are PyTorch's default multiplied by 0.05, without biases, and the loss is averaged over a "
        "batch. The paper does not say how weights are drawn before they are multiplied, nor whether the loss is "
        "averaged. An epoch is one pass over all points in random order. Training is in float32."
    )
    version: ClassVar[int] = 2  # 2: weights and correlations before training, and correlations with class means
    symbols: ClassVar[dict[str, str]] = {
        "W_l": "weights of layer l, one row per neuron",
        "σ_k": "k-th largest singular value of the weights of a layer",
    }
    d: Annotated[int, Ge(3)] = 20
    """input dimension"""
    n: Annotated[int, Ge(4)] = 500
    """number of points"""
    width: Annotated[int, Ge(4)] = 100
    """number of neurons in each hidden layer"""
    factor: PositiveFloat = 0.05
    """factor of the initial weights"""
    lr: PositiveFloat = 0.1
    """learning rate"""
    batch: PositiveInt = 50
    """batch size"""
    epochs: PositiveInt = 500
    """number of epochs"""
    seeds: PositiveInt = 32
    """number of seeds, each with its own data"""
    lanes: PositiveInt = 8
    """number of seeds trained together in one unit"""

    @abstractmethod
    def start(self, seeds: tuple[int, ...]) -> MLP | Residual:
        """Return the networks before training.

        Args:
            seeds: The seeds, one lane each.
        """

    @property
    def flops_of_a_step(self) -> float:
        """Floating-point operations of one training step of one seed, forward and backward."""
        weights = sum(W[0].numel() for W in self.start((0,)).W)
        return 6.0 * self.batch * weights

    def units(self) -> list[Unit]:
        steps, flops = self.epochs * (self.n // self.batch), self.flops_of_a_step
        return [
            Unit(f"seeds{block[0]}-{block[-1]}", {"seeds": block}, steps * len(block), steps * len(block) * 1.5 * flops)
            for block in blocks(self.seeds, self.lanes)
        ]

    def data(self, seed: int) -> Labeled:
        """Draw the points of one seed.

        Args:
            seed: The seed.
        """
        return OppositeOrthants(self.d).draw(stream(self.root, Role.TRAIN, seed), self.n)

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        seeds = unit.values["seeds"]
        data = [self.data(seed) for seed in seeds]
        task = LabeledTask(data, seeds=seeds, root=self.root)
        net = self.start(seeds)
        vectors = [max_margin(points.X, points.y) for points in data]
        w = torch.stack([torch.stack([v.positive.w, v.negative.w]) for v in vectors])  # seed 2 d
        means = torch.stack([torch.stack([points.of(label).mean(0) for label in (1, -1)]) for points in data])
        measured = [self._weights(net, w, means, seeds)]
        epochs = sorted({0, self.epochs, *np.geomspace(1, self.epochs, SNAPSHOTS).round().astype(int).tolist()})
        points = task.train()

        def snapshot(net: MLP | Residual) -> Reading:
            correlations = self.correlations(net, w)
            with torch.no_grad():
                loss = Logistic().value(net(points.X), points.Y)
            # A neuron of a network that diverged is neither aligned nor not aligned.
            aligned = (correlations > ALIGNED).double().where(correlations.isfinite(), torch.nan)
            return {"loss": (("seed",), loss), "aligned": (("seed",), aligned.mean(1))}

        history = fit(
            net, task, epochs=self.epochs, steps=self.n // self.batch, batch=self.batch, **self.training(),
            probes=[Probe(epochs, snapshot)], tick=tick,
        ).rename(lane="seed")  # fmt: skip
        measured.append(self._weights(net, w, means, seeds))
        result = xr.concat(measured, xr.Variable("when", ["start", "end"]))
        result["supports"] = (("seed", "side"), np.array([[v.positive.rank, v.negative.rank] for v in vectors]))
        result["between"] = ("seed", normalize(w, dim=2).prod(1).sum(1).numpy())
        return history.assign_coords(seed=list(seeds), side=["positive", "negative"]).merge(result)

    def _weights(self, net: MLP | Residual, w: torch.Tensor, means: torch.Tensor, seeds: tuple[int, ...]) -> xr.Dataset:
        """Singular values and projections of every layer, and correlations in the first layer.

        ``with_mean`` has the correlations with the means of the classes, toward which neurons turn early in training.
        """
        svd = [finite_svd(W.data.double().mT) for W in net.W[:-1]]  # rows are neurons
        top = min(TOP, self.width, self.d)
        variables = {
            "singular": (("seed", "layer", "rank"), torch.stack([S[:, :top] for _, S in svd], 1)),
            "projected": (
                ("seed", "layer", "neuron", "axis"),
                torch.stack([(U * S[:, None])[..., :2] for U, S in svd], 1),
            ),
            "correlation": (("seed", "neuron"), self.correlations(net, w)),
            "with_mean": (("seed", "neuron"), self.correlations(net, means)),
            "outer": (("seed", "neuron"), net.W[-1].data[..., 0].double()),
        }
        coords = {"seed": list(seeds), "layer": range(1, len(net.W)), "rank": range(1, top + 1)}
        return xr.Dataset({k: (dims, np.asarray(v)) for k, (dims, v) in variables.items()}, coords=coords)

    def controls(self, result: xr.Dataset) -> list[Control]:
        name, figure = "the networks before training", self.ids[0]
        ids = tuple(f"{figure}.{claim}" for claim in ("aligned", "rank-*", "fall-*", "beyond-means"))
        return [Control(name, ids, untrained(result))]

    @abstractmethod
    def correlations(self, net: MLP | Residual, w: torch.Tensor) -> torch.Tensor:
        """Return the cosine of every first-layer neuron with its max-margin direction, w₊ or w₋: (seed, neuron).

        Args:
            net: The networks.
            w: w₊ and w₋ of every seed, or two other vectors, (seed, 2, d).
        """


def cosines(net: MLP | Residual, w: torch.Tensor) -> torch.Tensor:
    """Return the cosines of every first-layer neuron with w₊ and with w₋: (seed, neuron, 2).

    Args:
        net: The networks.
        w: w₊ and w₋ of every seed, (seed, 2, d).
    """
    return normalize(net.W[0].data.double().mT, dim=2) @ normalize(w, dim=2).mT
