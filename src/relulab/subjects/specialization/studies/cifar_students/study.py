"""SS figure 10 and LM figure 9: students of a pruned teacher on CIFAR-10."""

from typing import Annotated, ClassVar

import xarray as xr
from annotated_types import Ge, Gt, Le
from matplotlib.figure import Figure
from pydantic import PositiveFloat, PositiveInt, model_validator

from relulab.lab.claim import Claim
from relulab.lab.control import Control
from relulab.lab.study import Tick, Unit
from relulab.subjects.specialization.studies.cifar_students.claims import claims_of, controls_of
from relulab.subjects.specialization.studies.cifar_students.drawing import drawn_courses, drawn_order
from relulab.subjects.specialization.studies.cifar_students.measures import Arm, Setup, taught
from relulab.subjects.specialization.studies.cifar_study import CifarStudy
from relulab.subjects.specialization.studies.two_layer_students import Widths


class CifarStudents(CifarStudy):
    """Do students of a network that was trained on CIFAR-10 specialize, and does width help them to generalize?

    A convolutional teacher with BatchNorm is trained on pictures and pruned to its strong channels. Students with once
    to five times as many channels are trained on the outputs of the pruned teacher. In every hidden layer, ρ_mean is
    the mean over the teacher's channels of the best correlation with a channel of the student. SS finds that wider
    students have a higher ρ_mean in all layers and a higher accuracy on held-out pictures; LM that BatchNorm speeds up
    accuracy and ranks, and that students are often more accurate than the teacher. Not in the papers: do students learn
    the strong channels first in every layer?
    """

    name: ClassVar = "cifar-students"
    ids: ClassVar = ("SS.F10", "LM.F9")
    title: ClassVar = "Students of a pruned teacher on CIFAR-10"
    source: ClassVar = "SS figure 10, LM figure 9"
    remarks: ClassVar = (
        "SS prints accuracies (average / best of its seeds) of 79.67 / 80.15, 83.09 / 83.48 and 83.85 / 84.18 % for "
        "students of 1×, 2× and 5×, after 100 epochs on all 50,000 training pictures; LM prints 86.4 % for its "
        "convolutional teacher. Here each seed has its own teacher, pictures and students. The papers do not say how "
        "the teacher was trained and pruned: here by SGD with momentum and a cosine schedule, to a share of the "
        "channels of each layer with the strongest top-down modulation, and then trained further. Students learn the "
        "logits of the pruned teacher by the squared error. The quick preset is a subset: 4,000 training and 1,000 "
        "held-out pictures, reduced to 16 × 16 pixels, and small networks. As many training batches of CIFAR-10 are "
        "used as are found."
    )
    symbols: ClassVar = {
        "ρ_mean": "mean over the teacher's channels of a layer of the best correlation with a student's channel",
        "r̄": "mean rank of the final best students over the teacher's channels of a layer, from 0 (first) to 1 (last)",
        "√E[β_jj]": "strength of channel j of the teacher: how strongly it acts on the outputs",
    }
    presets: ClassVar = {
        "smoke": {"channels": (4, 4), "reduced": 4, "n_train": 200, "n_held_out": 100, "teacher_epochs": 1,
                  "tuning_epochs": 1, "epochs": 2,
                  "over": (1, 2), "seeds": 2, "n_measured": 50},
        "quick": {"channels": (16, 16, 16, 16), "reduced": 2, "n_train": 4000, "n_held_out": 1000,
                  "teacher_epochs": 10, "tuning_epochs": 4, "epochs": 8, "seeds": 5, "n_measured": 300},
    }  # fmt: skip
    captions: ClassVar = {
        "courses": "Mean best correlation ρ_mean of every hidden layer over epochs, layer 0 is the lowest, and the "
        "accuracy on held-out pictures. Colors and markers are student widths as multiples of the pruned teacher's; "
        "dashed lines are students without BatchNorm. Lines are means over seeds, shaded areas two standard errors. "
        "Horizontal lines are the accuracy of the teacher before (dotted) and after pruning (dash-dotted). Answers "
        "figure 10 of SS and figure 9 of LM.",
        "order": "Rank correlation between the strength √E[β_jj] of the teacher's channels and how much their best "
        "correlation rose during training, in every hidden layer. Symbols are means over seeds, bars two standard "
        "errors; gray symbols are strengths in random order. Above the line at 0, strong channels are learned first. "
        "Not in the papers.",
    }

    kept: Annotated[float, Gt(0), Le(1)] = 0.5
    """share of the channels of each layer that pruning keeps"""
    n_measured: Annotated[int, Ge(2)] = 1000
    """number of held-out pictures for correlations"""
    over: Widths = (1, 2, 5)
    """student widths, as multiples of the pruned teacher's widths"""
    without: PositiveInt = 2
    """width of the students that are also trained without BatchNorm, one of those in over"""
    teacher_epochs: PositiveInt = 100
    """number of epochs of the teacher"""
    tuning_epochs: PositiveInt = 20
    """number of epochs of the pruned teacher"""
    teacher_lr: PositiveFloat = 0.05
    """learning rate of the teacher"""
    epochs: PositiveInt = 100
    """number of epochs of the students"""
    lr: PositiveFloat = 0.002
    """learning rate of the students"""

    @model_validator(mode="after")
    def _fits(self):
        if self.without not in self.over:
            raise ValueError(f"without={self.without} is no width in over={self.over}: use one of these")
        if self.n_measured > self.n_held_out:
            raise ValueError(f"n_measured={self.n_measured} is more than n_held_out={self.n_held_out}: reduce it")
        return self

    def arms(self) -> list[Arm]:
        """The kinds of students."""
        return [*(Arm(over, True) for over in self.over), Arm(self.without, False)]

    def setup(self) -> Setup:
        """The sizes of a seed."""
        return Setup(
            self.channels, self.kept, self.drawn(), self.n_measured, self.root, self.teacher_epochs,
            self.tuning_epochs, self.teacher_lr, self.momentum, self.batch,
        )  # fmt: skip

    def units(self) -> list[Unit]:
        setup = self.setup()
        teacher, small = self.products(self.channels), self.products(setup.pruned)
        students = [self.products([arm.over * n for n in setup.pruned]) for arm in self.arms()]
        trained = (
            6.0
            * self.n_train
            * (self.teacher_epochs * teacher + self.tuning_epochs * small + self.epochs * sum(students))
        )
        look = sum(self.n_held_out * macs + self.n_measured * (macs + small) for macs in students)
        steps = -(-self.n_train // self.batch) * (
            self.teacher_epochs + self.tuning_epochs + self.epochs * len(students)
        )
        flops = trained + 2.0 * len(self.looks()) * look
        return [Unit(f"seed{seed}", {"seed": seed}, steps, flops) for seed in range(self.seeds)]

    def looks(self) -> tuple[int, ...]:
        """The epochs at which students are measured: dense at first, and the last one."""
        near = (*range(11), *range(15, self.epochs, 5), self.epochs)
        return tuple(sorted({epoch for epoch in near if epoch <= self.epochs}))

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        options = {"epochs": self.epochs, "batch": self.batch, **self.training()}
        data = taught(unit.values["seed"], self.setup(), self.arms(), self.looks(), options, tick)
        return data.expand_dims(seed=[unit.values["seed"]])

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        return {"courses": drawn_courses(result, self.arms()), "order": drawn_order(result, self.arms())}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        return claims_of(result, self.arms())

    def controls(self, result: xr.Dataset) -> list[Control]:
        return controls_of(result, self.root)


STUDY = CifarStudents
