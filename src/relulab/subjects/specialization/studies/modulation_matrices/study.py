"""LM figure 11: does the top-down modulation of students match the nodes of their teacher?"""

from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

import torch
import xarray as xr
from matplotlib.figure import Figure
from pydantic import PositiveInt
from torch import Tensor

from relulab.core.seeds import Role, stream
from relulab.lab.claim import Claim
from relulab.lab.control import Control
from relulab.lab.study import Tick, Unit
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.studies.deep_students import DeepStudents, weights_of
from relulab.subjects.specialization.studies.modulation_matrices.claims import claims_of, controls_of
from relulab.subjects.specialization.studies.modulation_matrices.drawing import drawn_matrices, drawn_ratios
from relulab.subjects.specialization.studies.modulation_matrices.measures import (
    drawn_entries,
    matched_layers,
    statistics,
)
from relulab.train.fit import fit
from relulab.train.probe import Probe, Reading

SHOWN = 0  # seed whose matrices are drawn


class ModulationMatrices(DeepStudents):
    """Do H* and β* become diagonal when each student is placed next to the teacher node that it follows?

    The entry of β* for a student and a teacher node is the weight of the teacher node in the gradient of the student.
    It depends on the layers above only, whereas correlations of activations depend on the layers below. H* multiplies
    the mean of β* by how often both nodes are active together. LM shows both matrices before and after training, with
    students in the order of the teacher nodes that they follow: a diagonal appears, and it is clearer in H*.
    """

    name: ClassVar = "modulation-matrices"
    ids: ClassVar = ("LM.F11",)
    title: ClassVar = "Top-down modulation before and after training"
    source: ClassVar = "LM figure 11"
    remarks: ClassVar = (
        "LM prints neither learning rate nor batch size nor the number of epochs. Here the gradient of half the "
        "squared error is summed over the outputs and averaged over 64 points, which are new in every step as in LM. "
        "Students are matched one to one with the teacher nodes, such that the sum of the correlations is largest. "
        "Teacher nodes that are constant on the held-out points, because they are never active, are left out."
    )
    symbols: ClassVar = {
        "H*": "E[β*] ∘ D*, entry by entry",
        "ρ": "correlation of the activations of a teacher node and a student node",
        "D*": "shares of inputs at which a student and a teacher node are both active",
        "β*": "its mean over inputs, E[β*]: the weights of the teacher's nodes in the gradients of the students",
    }
    presets: ClassVar = {
        "smoke": {"hidden": (4, 5, 6), "d": 6, "C": 8, "over": (3,), "seeds": 2, "epochs": 2, "steps": 100,
                  "n_train": 6400, "n_held_out": 200},
        "quick": {"hidden": (10, 15, 20, 25), "seeds": 8, "epochs": 12, "steps": 500, "n_train": 32_000,
                  "n_held_out": 2000},
    }  # fmt: skip
    captions: ClassVar = {
        "matrices": "Absolute values of the transposes of H* and β* in each hidden layer, before and after training, "
        "in one seed: one row per teacher node, one column per student. The first half of the columns are the "
        "students that are matched with the teacher nodes, in the same order, so that a match of correlation and "
        "modulation shows as a diagonal. The second half are the second-best students, matched in the same way; all "
        "other students are left out, and a line divides the halves. The vertical axis has the teacher nodes, the "
        "horizontal axis the students. The darkest color is the 99th percentile of each matrix. Answers figure 11 "
        "of LM.",
        "ratios": "Ratio of the mean absolute diagonal entry to the mean absolute other entry of H* and β* over the "
        "epochs, among the matched students, one panel per hidden layer. Lines with markers are geometric means over "
        "seeds, shaded areas are two standard errors. Gray dotted lines are students matched at random, for H*. Puts "
        "numbers to figure 11 of LM.",
    }

    epochs: PositiveInt = 30
    """number of training epochs"""

    def looks(self) -> tuple[int, ...]:
        return tuple(sorted({0, max(1, self.epochs // 10), max(1, self.epochs // 3), self.epochs}))

    def units(self) -> list[Unit]:
        found = []
        for unit in super().units():
            widths, seeds = self.widths(unit.values["over"]), unit.values["seeds"]
            upper = sum(a * (a + b) for a, b in pairwise(widths[2:-1]))  # products that E[β] needs at every point
            measured = (
                2.0 * len(seeds) * len(self.looks()) * self.n_held_out * (self.C * upper + 10 * sum(weights_of(widths)))
            )
            found.append(replace(unit, flops=unit.flops + measured))
        return found

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        over, seeds = unit.values["over"], unit.values["seeds"]
        task = self.task(seeds)
        star, student, points = task.teacher, self.students(task, over), task.held_out()

        def read(net: MLP) -> Reading:
            layers = [matched_layers(star.lane(i), net.lane(i), points.of_lane(i)[0]) for i in range(len(seeds))]
            rows = [
                statistics(of_seed, stream(self.root, Role.CHANCE, seed))
                for seed, of_seed in zip(seeds, layers, strict=True)
            ]
            reading: dict[str, tuple[tuple[str, ...], Tensor]] = {
                name: (("lane", "layer"), torch.tensor([row[name] for row in rows])) for name in rows[0]
            }
            reading["loss"] = (("lane",), (net(points.X[points.group]) - points.Y).square().mean((1, 2)))
            if SHOWN in seeds:
                for l, one in enumerate(layers[seeds.index(SHOWN)]):
                    for kind, matrix in drawn_entries(one).items():
                        reading[f"{kind}{l}"] = ((f"teacher{l}", f"student{l}"), matrix)
            return reading

        data = fit(
            student, task, epochs=self.epochs, steps=self.steps, batch=self.batch, tick=tick, **self.training(),
            probes=[Probe(self.looks(), read)],
        )  # fmt: skip
        data = data.rename(lane="seed").assign_coords(seed=list(seeds), layer=range(len(self.hidden)))
        return data.assign_coords(over=over).expand_dims("over")

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        figures = {}
        for over in self.over:
            suffix, of_width = "" if len(self.over) == 1 else f"-{over}x", result.sel(over=over)
            figures |= {f"matrices{suffix}": drawn_matrices(of_width), f"ratios{suffix}": drawn_ratios(of_width)}
        return figures

    def claims(self, result: xr.Dataset) -> list[Claim]:
        return claims_of(result)

    def controls(self, result: xr.Dataset) -> list[Control]:
        return controls_of(result)


STUDY = ModulationMatrices
