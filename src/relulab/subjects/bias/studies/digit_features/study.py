"""IB figures 3 and 4: MNIST's zeros and ones, what a convolutional network makes of their similarity, and its W₇."""

from typing import Annotated, ClassVar

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge, Gt, Lt
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from pydantic import PositiveFloat, PositiveInt
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.data.mnist import HOW, Digits, mnist
from relulab.data.tensor_task import TensorTask
from relulab.lab.claim import Claim
from relulab.lab.study import Study, Tick, Unit
from relulab.subjects.bias.studies.digit_features import claims, drawing
from relulab.subjects.bias.studies.digit_features.measures import (
    accuracy,
    course,
    cross_entropy,
    neurons,
    similarities,
    singular_values,
)
from relulab.subjects.bias.tools.digit_net import MACS, digit_net
from relulab.train.fit import fit
from relulab.train.optimizers import Adam
from relulab.train.probe import Probe, Reading

CLASSES = (0, 1)
FIT = ("loss", "accuracy")


class DigitFeatures(Study):
    """Does a deep network make real data orthogonally separable by itself, and are its weights then of low rank?

    Six convolutions and two fully connected layers (IB table 1) learn to tell zeros from ones. On digits held out, the
    inner products of pairs are compared layer by layer, before and after training, and before and after each ReLU:
    those of different classes, of two zeros, of two ones. Then the matrix W₇ is looked at: its singular values, and
    its rows in the plane of the top two singular directions.
    """

    name: ClassVar = "digit-features"
    ids: ClassVar = ("IB.F3", "IB.F4")
    title: ClassVar = "Zeros and ones: similarity by layer, and the rank of W₇"
    source: ClassVar = "IB appendix D, figures 3 and 4, table 1"
    needs: ClassVar = f"MNIST: {HOW}"
    remarks: ClassVar = (
        "The paper does not print Adam's learning rate: PyTorch's default 1e-3 is taken. Nor does it say how gray "
        "values are scaled: from −1 (background) to 1 the inner products of the pictures, 280 to 760, lie where the "
        "first panel of its figure has its marks, 400 to 800; from 0 to 1 they would lie below 210. The weights of the "
        "fully connected layers are multiplied by 0.05 and their biases left as PyTorch draws them. The paper shows "
        "one network and does not say on which digits; here several seeds are measured on digits held out."
    )
    presets: ClassVar = {
        "smoke": {"seeds": 2, "n_train": 48, "n_held_out": 12, "epochs": 1},
        "quick": {"seeds": 6, "n_train": 1000, "n_held_out": 200, "epochs": 12},
    }

    seeds: PositiveInt = 5
    """networks, each with a start, an order of digits and held-out digits of its own"""
    n_train: PositiveInt = 12_665
    """zeros and ones to train on, drawn from the training file, which has 12,665"""
    n_held_out: Annotated[int, Ge(2)] = 500
    """digits of each class to measure on, drawn from the file t10k"""
    epochs: PositiveInt = 50
    """passes over the training digits"""
    batch: PositiveInt = 128
    """digits a step"""
    lr: PositiveFloat = 1e-3
    """Adam's learning rate"""
    scale: Annotated[float, Gt(0)] = 0.05
    """what the weights of the fully connected layers are multiplied by before training"""
    background: Annotated[float, Lt(1)] = -1.0
    """what gray value 0 becomes; 255 becomes 1"""

    def ready(self) -> None:
        train, held_out = (mnist(part, CLASSES).labels for part in ("train", "held out"))
        if len(train) < self.n_train:
            raise UserError(f"n_train = {self.n_train}: the training file of MNIST has {len(train)} zeros and ones")
        fewest = min((held_out == digit).sum() for digit in CLASSES)
        if fewest < self.n_held_out:
            raise UserError(f"n_held_out = {self.n_held_out}: the file t10k of MNIST has {fewest} digits of one class")

    def units(self) -> list[Unit]:
        # Forward once and backward twice for every digit of every epoch, a multiplication and an addition each.
        flops = 6.0 * MACS * self.n_train * self.epochs
        steps = -(-self.n_train // self.batch) * self.epochs
        return [Unit(f"seed{seed}", {"seed": seed}, steps, flops) for seed in range(self.seeds)]

    def digits(self, seed: int) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """Training and held-out pictures of one seed, each with its labels."""
        train, held_out = mnist("train", CLASSES), mnist("held out", CLASSES)
        some = stream(self.root, Role.TRAIN, seed).permutation(len(train.labels))[: self.n_train]
        rng = stream(self.root, Role.HELD_OUT, seed)
        each = [rng.permutation(np.flatnonzero(held_out.labels == c))[: self.n_held_out] for c in CLASSES]
        return self._pictures(train, some), self._pictures(held_out, np.concatenate(each))

    def _pictures(self, digits: Digits, which: Int[np.ndarray, " n"]) -> tuple[Float[Tensor, "n 1 28 28"], Tensor]:
        gray = torch.from_numpy(digits.images[which].astype(np.float32) / 255)[:, None]
        x = self.background + (1 - self.background) * gray
        return x.contiguous(memory_format=torch.channels_last), torch.from_numpy(digits.labels[which].astype(int))

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        seed = unit.values["seed"]
        (x, y), held_out = self.digits(seed)
        # With channels last the convolutions take about a tenth less time on a CPU.
        net = digit_net(seed, scale=self.scale, root=self.root)
        net = net.to(memory_format=torch.channels_last)  # pyrefly: ignore[no-matching-overload]
        looks, values = [similarities(net, *held_out)], [singular_values(net)]

        def look(net: nn.Sequential) -> Reading:
            held, seventh = course(net, *held_out)
            fits = {
                f"held_{name}": ((), torch.tensor(value, dtype=torch.float64))
                for name, value in zip(FIT, held, strict=True)
            }
            return {**fits, "seventh": (("what", "pair"), torch.from_numpy(seventh))}

        history = fit(
            net, TensorTask(x, y.float(), seed=seed, root=self.root), epochs=self.epochs, batch=self.batch,
            optimizer=Adam(self.lr), loss=lambda logit, y: binary_cross_entropy_with_logits(logit[:, 0], y),
            meters={"loss": cross_entropy, "accuracy": accuracy}, probes=[Probe(range(1, self.epochs + 1), look)],
            tick=tick,
        )  # fmt: skip
        looks, values = [*looks, similarities(net, *held_out)], [*values, singular_values(net)]
        found = xr.concat(looks, xr.Variable("when", ["start", "end"])).merge(neurons(net, *held_out))
        found["singular"] = (("when", "rank"), np.stack(values))
        for name in FIT:
            found[name] = (("epoch", "part"), np.stack([history[name].values, history[f"held_{name}"].values], 1))
        for i, name in enumerate(("seventh_cosine", "seventh_breaking")):
            found[name] = (("epoch", "pair"), history.seventh.values[:, i])
        rank, epoch = np.arange(1, len(values[0]) + 1), np.arange(1, self.epochs + 1)
        return found.assign_coords(rank=rank, epoch=epoch, part=["train", "held out"]).expand_dims(seed=[seed])

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        return {
            "similarity": drawing.similarity(result),
            "cosines": drawing.cosines(result),
            "weights": drawing.weights(result),
            "training": drawing.training(result),
        }

    def claims(self, result: xr.Dataset) -> list[Claim]:
        return claims.claims(result)


STUDY = DigitFeatures
