"""SS figure 6: evaluation loss and correlation of deep students versus the number of training points."""

from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
import xarray as xr
from annotated_types import Len
from matplotlib.figure import Figure
from pydantic import AfterValidator, PositiveInt

from relulab.lab.claim import Claim
from relulab.lab.control import Control
from relulab.lab.study import Tick, Unit, distinct
from relulab.subjects.specialization.studies.sample_complexity.claims import claims_of, controls_of
from relulab.subjects.specialization.studies.sample_complexity.drawing import drawn_by_samples
from relulab.subjects.specialization.studies.tuned_students import TunedStudents
from relulab.subjects.specialization.studies.two_layer_students import Widths
from relulab.subjects.specialization.tools.layer_observation import LayerObservation, LayerObserver
from relulab.subjects.specialization.tools.mean_squared_error import MeanSquaredError
from relulab.train.fit import fit
from relulab.train.losses import CrossEntropy
from relulab.train.probe import Probe, Reading

LOSSES = {"mse": MeanSquaredError, "cross-entropy": CrossEntropy}
Sizes = Annotated[tuple[PositiveInt, ...], AfterValidator(distinct)]


class SampleComplexity(TunedStudents):
    """Do deep students of more training points generalize better, and follow more of their teacher's nodes?

    Students of a teacher with four hidden layers are trained on 5,000 to 500,000 points with the squared error, and on
    up to 2,000,000 points with cross-entropy, where the target is the teacher's largest output. SS finds that with more
    points the evaluation loss falls and ρ_mean grows, and that the lowest layer is best, above all with the squared
    error.
    """

    name: ClassVar = "sample-complexity"
    ids: ClassVar = ("SS.F6",)
    title: ClassVar = "Deep students and the number of training points"
    source: ClassVar = "SS figure 6"
    remarks: ClassVar = (
        "The setup is that of the authors' released code, which differs from print: 20 inputs instead of 100, 100 "
        "outputs instead of 50, batches of 64 instead of 16, and a learning rate of 0.2, and 0.1 from epoch 20 on, "
        "instead of 0.01, for a squared error that is a mean over outputs. The printed setup has d=100, C=50, "
        "batch=16, lr=0.01, later_lr=0.01. An epoch is one pass over the training set, as in the release, so students "
        "of more points also make more steps: with equal_steps=true, all make as many steps as those of the most "
        "points. The release shuffles the points of an epoch, here they are drawn with replacement. Sample sizes "
        "between the smallest and the largest are not printed. Figure 6 has 2× students, the release ran 5× as well: "
        "over=[2, 5]. A unit of 2,000,000 points needs about 4 GB of memory. The criterion of the lowest layer was "
        "changed after a first run, because students before training satisfied the first one."
    )
    presets: ClassVar = {
        "smoke": {"d": 6, "C": 5, "hidden": (3, 4), "samples": (64, 192), "more_samples": (), "seeds": 2, "epochs": 4,
                  "later_from": 2, "n_held_out": 200},
        "quick": {"hidden": (10, 15, 20, 25), "samples": (250, 500, 1000, 2000, 4000, 8000), "more_samples": (16_000,),
                  "seeds": 6, "n_held_out": 2000},
    }  # fmt: skip
    captions: ClassVar = {
        "samples": "Evaluation loss, left, and ρ_mean of every hidden layer versus the number of training points, for "
        "students trained with the squared error, above, and with cross-entropy, below. Colors and markers are layers, "
        "layer 0 is the lowest. Lines are means over seeds, shaded areas 95% intervals; the dotted line is the loss "
        "before training. With several student widths, it shows the first one. Answers figure 6 of SS.",
    }

    over: Widths = (2,)
    """student widths, as multiples of the teacher's widths"""
    samples: Annotated[Sizes, Len(min_length=1)] = (5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000)
    """numbers of training points"""
    more_samples: Sizes = (1_000_000, 2_000_000)
    """further numbers of training points, with cross-entropy only"""
    losses: Annotated[tuple[Literal["mse", "cross-entropy"], ...], Len(min_length=1), AfterValidator(distinct)] = (
        "mse", "cross-entropy",
    )  # fmt: skip
    """the losses"""
    seeds: PositiveInt = 10
    """number of seeds: teachers, each with one student for every loss, width and number of points"""
    epochs: PositiveInt = 200
    """number of training epochs, each a pass over the training set"""
    equal_steps: bool = False
    """train all students for as many steps as those of the most points, in more epochs"""

    def sizes(self, loss: str) -> list[int]:
        """The numbers of training points of a loss, in increasing order."""
        return sorted({*self.samples, *(self.more_samples if loss == "cross-entropy" else ())})

    def steps(self, N: int) -> int:
        """The number of training steps in a pass over N points."""
        return max(1, N // self.batch)

    def of_size(self, loss: str, N: int) -> "SampleComplexity":
        """The study with the numbers of epochs for N points, which are larger with ``equal_steps``."""
        if not self.equal_steps:
            return self
        ratio = self.steps(self.sizes(loss)[-1]) / self.steps(N)
        times = {name: max(1, round(ratio * getattr(self, name))) for name in ("epochs", "later_from", "decay_every")}
        return self.model_copy(update=times)

    def units(self) -> list[Unit]:
        units = []
        for loss in self.losses:
            for over in self.over:
                for N in self.sizes(loss):
                    steps = self.of_size(loss, N).epochs * self.steps(N)
                    for seeds in self.blocks(self.seeds, over, N):
                        name = f"{loss}-over{over}-points{N}-seeds{seeds[0]}-{seeds[-1]}"
                        values = {"loss": loss, "over": over, "N": N, "seeds": seeds}
                        flops = self.flops(len(seeds), steps, over, looks=2)
                        units.append(Unit(name, values, len(seeds) * steps, flops))
        return units

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        name, over, N, seeds = (unit.values[key] for key in ("loss", "over", "N", "seeds"))
        loss, study = LOSSES[name](), self.of_size(name, N)
        task = self.task(seeds, N)
        student, observe = self.students(task, over), LayerObserver(task.teacher, task.held_out(), loss)
        history = fit(
            student, task, loss=loss, epochs=study.epochs, batch=self.batch, tick=tick, **study.training(),
            probes=[Probe((0, study.epochs), lambda net: _read(observe(net)))],
        )  # fmt: skip
        data = history[["rho", "loss"]].assign_coords(epoch=[0, self.epochs])
        data = data.rename(lane="seed", loss="evaluation").assign_coords(
            seed=list(seeds), layer=range(data.sizes["layer"]), loss=name, over=over, points=N
        )
        return data.expand_dims(("loss", "over", "points"))

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        return {"samples": drawn_by_samples(result, self.losses, self.over[0])}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        return claims_of(result, {loss: self.sizes(loss) for loss in self.losses})

    def controls(self, result: xr.Dataset) -> list[Control]:
        return controls_of(result, self.root)

    def statistics(self, result: xr.Dataset) -> dict[str, xr.DataArray]:
        found = {}
        for loss in self.losses:
            end = result.sel(loss=loss, points=self.sizes(loss)[-1], epoch=self.epochs, drop=True).mean("over")
            found[f"ρ_mean of the most points, mean over layers, {loss}"] = end.rho.mean("layer")
            found[f"log₁₀ evaluation loss of the most points, {loss}"] = xr.apply_ufunc(np.log10, end.evaluation)
        return found


def _read(seen: LayerObservation) -> Reading:
    rho = torch.stack([rho.amax(-1).mean(-1) for rho in seen.rho], 1)
    return {"rho": (("lane", "layer"), rho), "loss": (("lane",), seen.loss)}


STUDY = SampleComplexity
