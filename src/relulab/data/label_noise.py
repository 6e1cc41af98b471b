"""Label noise: wrong classes for a fraction of the points, or Gaussian noise on regression targets."""

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
    """Label noise, drawn from a separate random stream for every seed.

    Args:
        amount: For classes, and for labels ±1 with the logistic loss, the fraction of points whose label is replaced by
            another one, chosen uniformly. For regression, the standard deviation of the Gaussian noise added to the
            targets.
        each_epoch: Whether to draw new noise in every epoch; otherwise the noise of a point is fixed.
    """

    amount: float = 0.0
    each_epoch: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.amount < float("inf"):
            raise UserError(
                f"expected a label noise of at least 0, got {self.amount}: give a fraction of wrong classes, or a "
                "standard deviation for regression"
            )

    def on_classes(
        self, labels: Int[Tensor, "lane N"], classes: int, seeds: Sequence[int], root: int, epoch: int
    ) -> Int[Tensor, "lane N"]:
        """Replace round(amount · N) labels in each lane by other classes.

        Args:
            labels: Classes, (lane, N).
            classes: Number of classes.
            seeds: One seed per lane.
            root: Root seed of all random streams.
            epoch: Number of the epoch; each epoch has its own noise.
        """
        if self.amount > 1 or classes < 2:
            raise UserError(
                "expected a label noise of at most 1 and at least two classes, got label noise "
                f"{self.amount} and number of classes {classes}: give a fraction from 0 to 1"
            )
        n, noisy = labels.shape[1], labels.clone()
        for lane, seed in enumerate(seeds):
            rng = stream(root, Role.LABEL_NOISE, seed, epoch)
            rows = torch.from_numpy(rng.permutation(n)[: round(self.amount * n)])
            shift = torch.from_numpy(rng.integers(1, classes, size=len(rows)))
            noisy[lane, rows] = (noisy[lane, rows] + shift.to(noisy.dtype)) % classes
        return noisy

    def on_numbers(
        self, Y: Float[Tensor, "lane N *y"], seeds: Sequence[int], root: int, epoch: int
    ) -> Float[Tensor, "lane N *y"]:
        """Add Gaussian noise of standard deviation ``amount`` to the targets.

        Args:
            Y: Targets, (lane, N, …).
            seeds: One seed per lane.
            root: Root seed of all random streams.
            epoch: Number of the epoch; each epoch has its own noise.
        """
        draws = [stream(root, Role.LABEL_NOISE, seed, epoch).standard_normal(tuple(Y.shape[1:])) for seed in seeds]
        return Y + torch.from_numpy(self.amount * np.stack(draws)).to(Y.dtype)
