"""The common setup of the studies on CIFAR-10: which pictures, and convolutional networks with BatchNorm."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, ClassVar

from annotated_types import Ge, Len
from pydantic import PositiveFloat, PositiveInt, model_validator

from relulab.core.errors import UserError
from relulab.data.cifar import HOW, cifar, cifar_files
from relulab.lab.trained_study import Share, TrainedStudy
from relulab.nets.conv_net import check_images, time_share
from relulab.nets.multiply_adds import multiply_adds
from relulab.subjects.specialization.studies.cifar_pictures import CLASSES, picture_net

SIDE = 32


class CifarStudy(TrainedStudy):
    """Base class of the studies on CIFAR-10. Each seed has its own pictures and networks."""

    needs: ClassVar = f"CIFAR-10: {HOW}"

    channels: Annotated[tuple[PositiveInt, ...], Len(min_length=1)] = (64, 64, 64, 64)
    """numbers of channels of the network's convolutions, before pruning"""
    reduced: PositiveInt = 1
    """factor by which pictures are reduced, by averaging squares of pixels"""
    n_train: PositiveInt = 30_000
    """number of training pictures, drawn from those that are found"""
    n_held_out: Annotated[int, Ge(2)] = 10_000
    """number of held-out pictures, for accuracy"""
    seeds: PositiveInt = 5
    """number of seeds, each with its own pictures and networks"""
    batch: Annotated[int, Ge(2)] = 64
    """pictures per step"""
    lr: PositiveFloat = 0.05
    """learning rate"""
    momentum: Share = 0.9
    """momentum of SGD"""

    @model_validator(mode="after")
    def _of_pictures(self):
        if SIDE % self.reduced:
            raise ValueError(f"reduced={self.reduced} does not divide {SIDE} pixels: use a power of 2")
        check_images((3, *self.channels), self.side, CLASSES, 3)
        return self

    @property
    def side(self) -> int:
        """Height and width of the pictures in pixels."""
        return SIDE // self.reduced

    def ready(self) -> None:
        for part, wanted in (("train", self.n_train), ("held out", self.n_held_out)):
            found = len(cifar(10, part).labels)
            if found < wanted:
                files = ", ".join(path.name for path in cifar_files(10, part))
                field = "n_train" if part == "train" else "n_held_out"
                raise UserError(
                    f"expected {field} ≤ {found:,}, the number of pictures in {files} of CIFAR-10, got {field} = "
                    f"{wanted:,}: reduce it, or add the other files"
                )

    def products(self, widths: Sequence[int]) -> float:
        """Return the multiply-adds of a network for one picture, times how long one of them takes.

        Args:
            widths: Numbers of channels of the convolutions.
        """
        counts = multiply_adds(picture_net(widths, self.side), (3, self.side, self.side)).values()
        shares = [*(time_share(n, k) for n, k in pairwise((3, *widths))), 1.0]
        return sum(share * count for share, count in zip(shares, counts, strict=True))

    def drawn(self) -> dict[str, int]:
        """The arguments of ``pictures`` that these fields determine."""
        return {"n_train": self.n_train, "n_held_out": self.n_held_out, "reduced": self.reduced, "root": self.root}
