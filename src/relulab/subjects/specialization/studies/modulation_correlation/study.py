"""S0 figures 4 and 12: √E[β_kk] of every node of deep students versus its best correlation with a teacher node."""

from collections.abc import Callable
from itertools import pairwise
from typing import Annotated, ClassVar

import torch
import xarray as xr
from annotated_types import Ge
from matplotlib.figure import Figure
from pydantic import PositiveFloat, PositiveInt, model_validator

from relulab.data.inputs import Gaussian, Uniform
from relulab.data.task import Task
from relulab.lab.claim import Claim
from relulab.lab.control import Control
from relulab.lab.study import Tick, Unit
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.top_down_norms import top_down_norms
from relulab.subjects.specialization.studies.modulation_correlation.claims import claims_of, controls_of
from relulab.subjects.specialization.studies.modulation_correlation.drawing import drawn_courses, drawn_nodes
from relulab.subjects.specialization.studies.tuned_students import TunedStudents
from relulab.subjects.specialization.studies.two_layer_students import Correlation
from relulab.subjects.specialization.tools.layer_observation import LayerObserver
from relulab.subjects.specialization.tools.mean_squared_error import MeanSquaredError
from relulab.train.fit import fit
from relulab.train.probe import Probe, Reading

KINDS = ("gaussian", "uniform")
SIZES = ("d", "C", "hidden", "over", "epochs", "n_train", "batch")


class ModulationCorrelation(TunedStudents):
    """Do nodes of deep students that follow no teacher node have a small influence, first of all in the lowest layer?

    For every node k of students of a teacher with four hidden layers, the study measures the best correlation with a
    teacher node of the same layer, and √E[β_kk], the root mean square of the derivative of the outputs with respect to
    the node. It stands for the fan-out ‖v_k‖ of two-layer networks. S0 finds that during training all nodes move to one
    of two arms of an L: nodes with a small √E[β_kk], and nodes that follow a teacher node. The L forms in the lowest
    layer first. Inputs are Gaussian, or uniform, and new in every epoch.
    """

    name: ClassVar = "modulation-correlation"
    ids: ClassVar = ("S0.F4", "S0.F12")
    title: ClassVar = "Top-down modulation versus specialization in deep students"
    source: ClassVar = "S0 figures 4 and 12"
    remarks: ClassVar = (
        "The setup is that of the authors' released code, which differs from print: 20 inputs instead of 100, 100 "
        "outputs instead of 50, batches of 64 instead of 16, and a learning rate of 0.2, and 0.1 from epoch 20 on, "
        "instead of 0.01, for a squared error that is a mean over outputs. The printed setup has d=100, C=50, "
        "batch=16, lr=0.01, later_lr=0.01. The printed figures show one student each; here there are five seeds. An L "
        "is judged as in figure 3 of S0 (study fan-out-correlation). S0 also says that un-specialized nodes with a "
        "large √E[β_kk] are possible in deep networks. Epoch 10 of the text is the first tenth of the training in all "
        "presets. √E[β_kk] is the mean over a part of the held-out points."
    )
    symbols: ClassVar = {
        "ρ_mean": "mean over the teacher nodes of a layer of the best correlation with a student node",
        "d": "number of inputs",
        "C": "number of outputs",
        "L": "shape of a plot of √E[β_kk] versus best correlation whose upper left is empty",
        "√E[β_kk]": "root mean square over inputs of the derivative of the outputs with respect to student node k; it "
        "stands for the fan-out of two-layer networks",
    }
    presets: ClassVar = {
        "smoke": {"d": 6, "C": 20, "hidden": (4, 5), "over": 3, "seeds": 2, "epochs": 10, "later_from": 4,
                  "n_train": 128, "n_held_out": 200, "n_modulation": 20},
        "quick": {"hidden": (10, 15, 20, 25), "seeds": 6, "n_train": 3840, "n_held_out": 2000, "n_modulation": 250},
    }  # fmt: skip
    captions: ClassVar = {
        "gaussian": "√E[β_kk] of every student node versus its best correlation with a teacher node of the same layer, "
        "with Gaussian inputs; one dot per node, colors are seeds. Rows are layers, the lowest below, columns are "
        "epochs. In an L, the upper left is empty: dots are near the lower edge or the right one. Answers figure 4 of "
        "S0.",
        "uniform": "√E[β_kk] of every student node versus its best correlation with a teacher node of the same layer, "
        "with uniform inputs; one dot per node, colors are seeds. Rows are layers, the lowest below, columns are "
        "epochs. In an L, the upper left is empty: dots are near the lower edge or the right one. Answers figure 12 of "
        "S0.",
        "courses": "How the L forms in every hidden layer, layer 0 is the lowest: rank correlation between best "
        "correlation and √E[β_kk] over the nodes of a student, above, and ρ_mean, below, versus the epoch, with "
        "Gaussian and uniform inputs. Colors and markers are layers, lines are means over seeds, shaded areas 95% "
        "intervals. Our addition: it shows the order of the layers.",
    }

    over: PositiveInt = 10
    """student width, as a multiple of the teacher's widths"""
    half: PositiveFloat = 15
    """half the width of uniform inputs"""
    seeds: PositiveInt = 5
    """number of seeds: teachers, each with one student for every kind of inputs"""
    epochs: Annotated[int, Ge(10)] = 100
    """number of training epochs"""
    n_train: PositiveInt = 100_000
    """number of training points of an epoch, which are new in every epoch"""
    n_modulation: PositiveInt = 1000
    """number of held-out points for √E[β_kk]"""
    threshold: Correlation = 0.95
    """correlation above which a student node counts as specialized"""

    @model_validator(mode="after")
    def _enough(self):
        if self.n_modulation > self.n_held_out:
            raise ValueError(f"n_modulation={self.n_modulation} is more than n_held_out={self.n_held_out}: reduce it")
        return self

    def units(self) -> list[Unit]:
        steps, units = self.epochs * max(1, self.n_train // self.batch), []
        for kind in KINDS:
            for seeds in self.blocks(self.seeds, self.over, self.n_train):
                flops = self.flops(len(seeds), steps, self.over, len(self.looks())) + self._modulation_flops(len(seeds))
                name = f"{kind}-seeds{seeds[0]}-{seeds[-1]}"
                units.append(Unit(name, {"kind": kind, "seeds": seeds}, len(seeds) * steps, flops))
        return units

    def _modulation_flops(self, lanes: int) -> float:
        """The cost of all measurements of √E[β_kk]: at each point C rows pass through the active half of each layer."""
        n = [self.over * m for m in self.hidden]
        per_point = sum(2.0 * self.C * a * b / 4 for a, b in pairwise(n))
        return lanes * len(self.looks()) * self.n_modulation * per_point

    def looks(self) -> tuple[int, ...]:
        """The epochs at which students are measured: the start, the first tenth, and every quarter of the training."""
        return tuple(sorted({round(self.epochs * share) for share in (0, 0.1, 0.25, 0.5, 0.75, 1)}))

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        kind, seeds = unit.values["kind"], unit.values["seeds"]
        inputs = Gaussian(self.d, self.sigma) if kind == "gaussian" else Uniform(self.d, self.half)
        task = self.task(seeds, self.n_train, inputs, fresh=True)
        history = fit(
            self._student(task), task, loss=MeanSquaredError(), epochs=self.epochs, batch=self.batch, tick=tick,
            probes=[Probe(self.looks(), self._reader(task))], **self.training(),
        )  # fmt: skip
        layers = range(len(self.hidden))
        by_layer = [_of_layer(history, l) for l in layers]
        data = xr.concat(by_layer, "layer", join="outer").assign(loss=history.loss)
        data = data.rename(lane="seed").assign_coords(layer=list(layers), seed=list(seeds), inputs=kind)
        return data.expand_dims("inputs")

    def _student(self, task: Task) -> MLP:
        return self.students(task, self.over)

    def _reader(self, task: Task) -> Callable[[MLP], Reading]:
        points = task.held_out()
        observe, x = LayerObserver(task.teacher, points), points.X[points.group][:, : self.n_modulation]

        def read(net: MLP) -> Reading:
            seen, found = observe(net), {}
            for l, (rho, modulation) in enumerate(zip(seen.rho, _modulation(net, x), strict=True)):
                found |= {
                    f"specialized{l}": (("lane", f"student{l}"), rho.amax(-2)),
                    f"modulation{l}": (("lane", f"student{l}"), modulation),
                    f"rho_mean{l}": (("lane",), rho.amax(-1).mean(-1)),
                }
            return {**found, "loss": (("lane",), seen.loss)}

        return read

    def published(self) -> bool:
        """Whether teachers, students and training have the size of the paper's."""
        fields = type(self).model_fields
        return all(getattr(self, name) == fields[name].default for name in SIZES)

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        return {**{kind: drawn_nodes(result, kind) for kind in KINDS}, "courses": drawn_courses(result)}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        return claims_of(result, self.threshold, self.looks()[1], self.published())

    def controls(self, result: xr.Dataset) -> list[Control]:
        return controls_of(result, self.root)

    def statistics(self, result: xr.Dataset) -> dict[str, xr.DataArray]:
        rho = result.rho_mean.sel(epoch=self.epochs, drop=True).mean("layer")
        return {f"ρ_mean, mean over layers, {kind} inputs": rho.sel(inputs=kind, drop=True) for kind in KINDS}


def _modulation(net: MLP, x: torch.Tensor) -> list[torch.Tensor]:
    return list(top_down_norms(net, x).values())


def _of_layer(history: xr.Dataset, l: int) -> xr.Dataset:
    names = ("specialized", "modulation", "rho_mean")
    data = xr.Dataset({name: history[f"{name}{l}"] for name in names}).rename({f"student{l}": "student"})
    return data.assign_coords(student=range(data.sizes["student"]))


STUDY = ModulationCorrelation
