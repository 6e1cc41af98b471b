"""Label noise: wrong classes for a share of the points, or Gaussian noise on what a regression is to learn."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream


@dataclass(frozen=True)
class LabelNoise:
    """How wrong targets are, from a stream of its own for every seed.

    Args:
        amount: of classes the share of points whose label becomes another one, each of the others alike; of numbers
            the standard deviation of Gaussian noise that is added.
        each_epoch: whether the noise is drawn anew every epoch; else it belongs to the points.
    """

    amount: float = 0.0
    each_epoch: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.amount < float("inf"):
            raise UserError(f"label noise of {self.amount}: a share or a standard deviation is at least 0")

    def on_classes(
        self, labels: Int[Tensor, "lane N"], classes: int, seeds: Sequence[int], root: int, epoch: int
    ) -> Int[Tensor, "lane N"]:
        """Class labels, of which round(amount · N) in each lane are another class."""
        if self.amount > 1 or classes < 2:
            raise UserError(
                f"label noise of {self.amount} on {classes} classes: a share up to 1 of two or more classes"
            )
        n, found = labels.shape[1], labels.clone()
        for lane, seed in enumerate(seeds):
            rng = stream(root, Role.LABEL_NOISE, seed, epoch)
            rows = torch.from_numpy(rng.permutation(n)[: round(self.amount * n)])
            shift = torch.from_numpy(rng.integers(1, classes, size=len(rows)))
            found[lane, rows] = (found[lane, rows] + shift.to(found.dtype)) % classes
        return found

    def on_numbers(
        self, Y: Float[Tensor, "lane N *y"], seeds: Sequence[int], root: int, epoch: int
    ) -> Float[Tensor, "lane N *y"]:
        """Targets with noise of standard deviation ``amount`` added."""
        draws = [stream(root, Role.LABEL_NOISE, seed, epoch).standard_normal(tuple(Y.shape[1:])) for seed in seeds]
        return Y + torch.from_numpy(self.amount * np.stack(draws)).to(Y.dtype)
