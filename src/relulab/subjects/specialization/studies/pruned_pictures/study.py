"""LM section 3.3 on CIFAR-10: what each criterion of pruning costs, without a teacher."""

from typing import Annotated, ClassVar

import xarray as xr
from annotated_types import Ge, Gt, Lt, MinLen
from matplotlib.figure import Figure
from pydantic import PositiveFloat, PositiveInt, model_validator

from relulab.lab.claim import Claim
from relulab.lab.control import Control
from relulab.lab.study import Tick, Unit
from relulab.subjects.specialization.studies.cifar_study import CifarStudy
from relulab.subjects.specialization.studies.pruned_pictures.claims import claims_of, controls_of
from relulab.subjects.specialization.studies.pruned_pictures.drawing import drawn_accuracies
from relulab.subjects.specialization.studies.pruned_pictures.measures import Setup, pruned_by
from relulab.subjects.specialization.tools.removal import Criterion


class PrunedPictures(CifarStudy):
    """Which channels of a network trained on CIFAR-10 can go, and how much accuracy does further training restore?

    A convolutional network with BatchNorm is trained on the classes of pictures. Then channels are removed until half
    of its multiply-adds are left, by each criterion of ``relulab prune``, without a teacher. The accuracy on held-out
    pictures is measured before, directly after pruning, with the weights that read the kept channels fitted again, and
    after some epochs of further training, as many for each criterion. LM suggests to prune by top-down modulation
    instead of the norms of weights.
    """

    name: ClassVar = "pruned-pictures"
    ids: ClassVar = ("LM.X.prune",)
    title: ClassVar = "Pruning a network that was trained on CIFAR-10"
    source: ClassVar = "LM section 3.3"
    remarks: ClassVar = (
        "LM has no figure for this. The quick preset is a subset: 4,000 training and 1,000 held-out pictures, reduced "
        "to 16 × 16 pixels, and a small network. As many training batches of CIFAR-10 are used as are found."
    )
    symbols: ClassVar = {
        "missed": "criterion: remove the channel first that the others can replace best",
        "modulation": "criterion: remove channels with a small top-down modulation times activation first",
        "merge": "criterion: remove the channel first that one other channel can replace best",
        "fan-out": "criterion: remove channels first whose outputs are read with small weights",
        "norm": "criterion: remove channels with small filters first",
    }
    presets: ClassVar = {
        "smoke": {"channels": (4, 4), "reduced": 4, "n_train": 200, "n_held_out": 100, "n_fit": 60, "epochs": 2,
                  "tuning_epochs": 1, "seeds": 2},
        "quick": {"channels": (24, 24, 24, 24), "reduced": 2, "n_train": 4000, "n_held_out": 1000, "n_fit": 500,
                  "epochs": 10, "tuning_epochs": 3, "seeds": 5},
    }  # fmt: skip
    captions: ClassVar = {
        "accuracies": "Accuracy on held-out pictures of a network pruned to a share of its multiply-adds, by "
        "criterion: directly after pruning, with the weights fitted again that read the kept channels, and after "
        "further training. Symbols are means over seeds, bars 95% intervals; the dashed line is the whole network. Not "
        "in the papers.",
    }

    keep_macs: Annotated[float, Gt(0), Lt(1)] = 0.5
    """share of the multiply-adds that is kept"""
    by: Annotated[tuple[Criterion, ...], MinLen(1)] = ("missed", "modulation", "merge", "fan-out", "norm", "random")
    """criteria of pruning"""
    n_fit: Annotated[int, Ge(2)] = 2000
    """number of training pictures on which channels are selected and weights are fitted"""
    epochs: PositiveInt = 60
    """number of epochs of the whole network"""
    tuning_epochs: PositiveInt = 10
    """number of epochs of each pruned network"""
    tuning_lr: PositiveFloat = 0.01
    """learning rate of the pruned networks"""

    @model_validator(mode="after")
    def _fits(self):
        if self.n_fit > self.n_train:
            raise ValueError(f"n_fit={self.n_fit} is more than n_train={self.n_train}: reduce it")
        if len({*self.by}) < len(self.by):
            raise ValueError(f"by={', '.join(self.by)} has a criterion twice: give each once")
        return self

    def setup(self) -> Setup:
        """The sizes of a seed."""
        return Setup(
            self.channels, self.drawn(), self.n_fit, self.keep_macs, self.epochs, self.tuning_epochs, self.lr,
            self.tuning_lr, self.momentum, self.batch,
        )  # fmt: skip

    def units(self) -> list[Unit]:
        whole, small = self.products(self.channels), self.keep_macs * self.products(self.channels)
        trained = 6.0 * self.n_train * (self.epochs * whole + len(self.by) * self.tuning_epochs * small)
        # the moments of all nodes take about as long as some passes with a gradient for every output
        measured = len(self.by) * (2.0 * 3 * self.n_held_out * whole + 2 * 6.0 * 10 * self.n_fit * whole)
        steps = -(-self.n_train // self.batch) * (self.epochs + len(self.by) * self.tuning_epochs)
        flops = trained + measured
        return [Unit(f"seed{seed}", {"seed": seed}, steps, flops) for seed in range(self.seeds)]

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        seed = unit.values["seed"]
        return pruned_by(seed, self.setup(), self.by, tick).expand_dims(seed=[seed])

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        return {"accuracies": drawn_accuracies(result)}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        return claims_of(result, self.tuning_epochs)

    def controls(self, result: xr.Dataset) -> list[Control]:
        return controls_of(result, self.root)


STUDY = PrunedPictures
