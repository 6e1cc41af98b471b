"""IB figures 3 and 4: similarity of MNIST zeros and ones in the layers of a convolutional network, and its W₇."""

from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge, Gt, Lt
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.data.mnist import HOW, Digits, mnist
from relulab.data.tensor_task import TensorTask
from relulab.lab.claim import Claim
from relulab.lab.control import Control
from relulab.lab.study import Tick, Unit
from relulab.lab.trained_study import TrainedStudy
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
from relulab.subjects.bias.tools.untrained import untrained
from relulab.train.fit import fit
from relulab.train.probe import Probe, Reading

CLASSES = (0, 1)
FIT = ("loss", "accuracy")


class DigitFeatures(TrainedStudy):
    """Does a deep network make real data orthogonally separable in its upper layers, and do its weights have low rank?

    The network of IB table 1, with six convolutions and two fully connected layers, learns to distinguish zeros and
    ones of MNIST. Inner products of pairs of held-out digits are measured in every layer, before and after training,
    and before and after each ReLU. Pairs are of different classes, of two zeros, or of two ones. The singular values of
    W₇ and its rows in the plane of the top two singular directions are measured too.
    """

    name: ClassVar = "digit-features"
    ids: ClassVar = ("IB.F3", "IB.F4")
    title: ClassVar = "Similarity of digits by layer, and the rank of W₇"
    source: ClassVar = "IB appendix D, figures 3 and 4, table 1"
    needs: ClassVar = f"MNIST: {HOW}"
    remarks: ClassVar = (
        "The paper does not give the learning rate of Adam; PyTorch's default 0.001 is used. It does not say how gray "
        "values are scaled either. Here they are scaled from −1 (background) to 1: the inner products of the images "
        "then lie between 280 and 760, like the ticks of the first panel of figure 3, from 400 to 800. Scaled from 0 "
        "to 1, they would be below 210. The weights of the fully connected layers are multiplied by 0.05, and their "
        "biases are PyTorch's default. The paper shows one network and does not say on which digits; here several "
        "seeds are measured on held-out digits. The axes of the printed panels reach to about 5e3, 3e3, 1e4, 3e4, 1e5, "
        "4e5 and 1e6 in layers 1 to 7. With the default rate, ours reach to 4e3, 2.5e3, 3.5e3, 7e3, 3e4, 1.3e5 and "
        "4.5e5 (seed 0). Rates of 0.001, 0.002 and 0.004 were compared in one seed over 100 of the 4,950 steps. None "
        "gives the printed axes. The scale did not grow steadily with the rate: after 100 steps, layer 7 reaches to "
        "5e4, 5e5 and 1e5. Which rate the paper used is open. Statements on similarities are judged on inner products, "
        "as plotted, and on cosines, and compared with the network before training."
    )
    captions: ClassVar = {
        "similarity": "Histograms of the inner products of pairs of held-out digits after training, for one network: "
        "different classes (blue, solid line), two zeros (gold, dashed) and two ones (green, dotted), in the images "
        "and in each layer after the ReLU; the last panel is layer 7 before the ReLU. The horizontal axis is the inner "
        "product, the vertical axis the share of pairs. Orthogonal separability requires all blue values at or below 0 "
        "and all others above 0. Answers figure 3 of IB.",
        "cosines": "Cosines of pairs of held-out digits by layer, before training, after training, and after training "
        "but before the ReLU. Symbols are medians: circles for different classes, squares for two zeros, triangles for "
        "two ones. Thick lines are the middle 50% and thin lines the middle 98% of pairs, averaged over seeds; short "
        "dashes are the medians of single seeds. After training, different classes become less similar from layer to "
        "layer. Complements figure 3 of IB.",
        "weights": "Left: the ten largest singular values of the weights W₇ of layer 7, by rank, before (squares) and "
        "after training (circles), all seeds: after training, only a few are large. Right: the neurons of layer 7 of "
        "one network in the plane of the top two singular directions; circles have a positive and triangles a negative "
        "output weight, and gray lines cross at the origin. Answers figure 4 of IB.",
        "training": "Loss and error rate over epochs, on training digits (gray, squares) and on held-out digits "
        "(orange-red, diamonds), and median cosines in layer 7 of pairs of different classes (circles), of two zeros "
        "(squares) and of two ones (triangles); one line per seed. Not in the paper.",
    }
    version: ClassVar = 2  # 2: neurons of layer 7 before training
    symbols: ClassVar = {"W_l": "weights of layer l, one row per neuron"}
    presets: ClassVar = {
        "smoke": {"seeds": 2, "n_train": 48, "n_held_out": 12, "epochs": 1},
        "quick": {"seeds": 6, "n_train": 1000, "n_held_out": 200, "epochs": 12},
    }

    seeds: PositiveInt = 5
    """number of seeds, each with its own initial weights, order of digits and held-out digits"""
    n_train: PositiveInt = 12_665
    """number of training digits, drawn from the 12,665 zeros and ones of the training file"""
    n_held_out: Annotated[int, Ge(2)] = 500
    """number of held-out digits of each class, drawn from the file t10k"""
    epochs: PositiveInt = 50
    """number of epochs"""
    batch: PositiveInt = 128
    """batch size"""
    lr: PositiveFloat = 1e-3
    """learning rate"""
    optimizer: Literal["sgd", "adam"] = "adam"
    """optimizer: SGD, or Adam with its usual constants"""
    label_noise: NonNegativeFloat = 0
    """standard deviation of the noise on the targets, which are 0 and 1"""
    scale: Annotated[float, Gt(0)] = 0.05
    """factor of the initial weights of the fully connected layers"""
    background: Annotated[float, Lt(1)] = -1.0
    """pixel value of gray level 0 (background); gray level 255 is 1"""

    def ready(self) -> None:
        train, held_out = (mnist(part, CLASSES).labels for part in ("train", "held out"))
        if len(train) < self.n_train:
            raise UserError(
                f"expected n_train ≤ {len(train)}, the number of zeros and ones in the training file of MNIST, got "
                f"n_train = {self.n_train}"
            )
        fewest = min((held_out == digit).sum() for digit in CLASSES)
        if fewest < self.n_held_out:
            raise UserError(
                f"expected n_held_out ≤ {fewest}, the number of digits of the smaller class in the file t10k of MNIST, "
                f"got n_held_out = {self.n_held_out}"
            )

    def units(self) -> list[Unit]:
        # one forward and two backward passes per digit and epoch, with one multiplication and one addition each
        flops = 6.0 * MACS * self.n_train * self.epochs
        steps = -(-self.n_train // self.batch) * self.epochs
        return [Unit(f"seed{seed}", {"seed": seed}, steps, flops) for seed in range(self.seeds)]

    def digits(self, seed: int) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """Return the training and the held-out images of one seed, each with labels.

        Args:
            seed: The seed.
        """
        train, held_out = mnist("train", CLASSES), mnist("held out", CLASSES)
        rows = stream(self.root, Role.TRAIN, seed).permutation(len(train.labels))[: self.n_train]
        rng = stream(self.root, Role.HELD_OUT, seed)
        each = [rng.permutation(np.flatnonzero(held_out.labels == c))[: self.n_held_out] for c in CLASSES]
        return self._images(train, rows), self._images(held_out, np.concatenate(each))

    def _images(self, digits: Digits, which: Int[np.ndarray, " n"]) -> tuple[Float[Tensor, "n 1 28 28"], Tensor]:
        gray = torch.from_numpy(digits.images[which].astype(np.float32) / 255)[:, None]
        x = self.background + (1 - self.background) * gray
        return x.contiguous(memory_format=torch.channels_last), torch.from_numpy(digits.labels[which].astype(int))

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        seed = unit.values["seed"]
        (x, y), held_out = self.digits(seed)
        # with channels last, convolutions take about a tenth less time on a CPU
        net = digit_net(seed, scale=self.scale, root=self.root)
        net = net.to(memory_format=torch.channels_last)  # pyrefly: ignore[no-matching-overload]
        measured = [self._look(net, *held_out)]

        def snapshot(net: nn.Sequential) -> Reading:
            held, seventh = course(net, *held_out)
            fits = {
                f"held_{name}": ((), torch.tensor(value, dtype=torch.float64))
                for name, value in zip(FIT, held, strict=True)
            }
            return {**fits, "seventh": (("what", "pair"), torch.from_numpy(seventh))}

        history = fit(
            net, TensorTask(x, y.float(), seed=seed, root=self.root), epochs=self.epochs, batch=self.batch,
            **self.training(), loss=lambda logit, y: binary_cross_entropy_with_logits(logit[:, 0], y),
            meters={"loss": cross_entropy, "accuracy": accuracy}, probes=[Probe(range(1, self.epochs + 1), snapshot)],
            tick=tick,
        )  # fmt: skip
        result = xr.concat([*measured, self._look(net, *held_out)], xr.Variable("when", ["start", "end"]))
        result["diverged_at"] = history.diverged_at
        for name in FIT:
            result[name] = (("epoch", "part"), np.stack([history[name].values, history[f"held_{name}"].values], 1))
        for i, name in enumerate(("seventh_cosine", "seventh_breaking")):
            result[name] = (("epoch", "pair"), history.seventh.values[:, i])
        epoch = np.arange(1, self.epochs + 1)
        return result.assign_coords(epoch=epoch, part=["train", "held out"]).expand_dims(seed=[seed])

    def _look(self, net: nn.Sequential, x: Tensor, y: Tensor) -> xr.Dataset:
        """Everything that is measured before and after training."""
        values = singular_values(net)
        singular = xr.DataArray(values, dims="rank", coords={"rank": range(1, len(values) + 1)})
        return similarities(net, x, y).merge(neurons(net, x, y)).assign(singular=singular)

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        return {
            "similarity": drawing.similarity(result),
            "cosines": drawing.cosines(result),
            "weights": drawing.weights(result),
            "training": drawing.training(result),
        }

    def claims(self, result: xr.Dataset) -> list[Claim]:
        return claims.claims(result)

    def controls(self, result: xr.Dataset) -> list[Control]:
        # Changes through training are those from another seed's network before training.
        same = untrained(result)
        other = same.map(lambda v: xr.where(v.when == "start", v.roll(seed=1), v) if "when" in v.dims else v)
        return [Control("the networks before training", ("IB.F3.*", "IB.F4.*"), other)]


STUDY = DigitFeatures
