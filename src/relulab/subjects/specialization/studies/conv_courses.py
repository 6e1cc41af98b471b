"""LM figures 8 and 10: correlation and mean rank of convolutional students, on new and on finite data."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import xarray as xr
from annotated_types import Ge
from pydantic import PositiveFloat

from relulab.subjects.specialization.studies.conv_students import Channels, ConvStudents
from relulab.subjects.specialization.studies.courses import NORMED, Courses
from relulab.subjects.specialization.studies.statements import Statement, per_seed


class ConvCourses(Courses, ConvStudents):
    """How do correlations and ranks develop in convolutional students, and do they stall on a finite dataset?

    Channels are nodes: activations are compared over images and positions. ρ̄ is the mean over the teacher's channels of
    the best correlation with a student's channel; r̄ is the mean rank, through training, of the channels that are best
    in the end: 0 is the best and 1 the worst. LM finds that BatchNorm helps above all in convolutional networks, and
    that ρ̄ stalls on a finite dataset.
    """

    name: ClassVar = "conv-courses"
    ids: ClassVar = ("LM.F8.cnn", "LM.F10.cnn")
    title: ClassVar = "Correlation and mean rank in convolutional students"
    source: ClassVar = "LM figure 8, bottom, and figure 10 (b)"
    prefix: ClassVar = "LM.F8.cnn"
    usual: ClassVar = "new images"
    remarks: ClassVar = (
        "The convolutional half of figure 8, and figure 10 (b). LM prints no learning rate, batch size or number of "
        "epochs: here they are 0.0001 without and 0.01 with BatchNorm for the squared error summed over the outputs, "
        "64, and 20 epochs. Without BatchNorm, the network diverges at a rate of 0.001. Students are compared at these "
        "learning rates, so the claims on BatchNorm include the larger steps that it allows. Channels that are never "
        "active are left out. The authors' correlations are over a few hundred images; here they are over 1,000."
    )
    presets: ClassVar = {
        "smoke": {"hidden": (3, 4), "side": 8, "C": 5, "over": (3,), "seeds": 2, "epochs": 2, "steps": 10,
                  "n_train": 200, "n_held_out": 100},
        "quick": {"hidden": (10, 10, 10), "side": 10, "C": 20, "over": (5,), "seeds": 6, "epochs": 8, "steps": 60,
                  "n_train": 3840, "n_held_out": 400},
    }  # fmt: skip
    captions: ClassVar = {
        "courses": "Mean best correlation ρ̄, above, and mean rank r̄ of the final best students, below, of every hidden "
        "layer over epochs; layer 0 is the lowest, and channels are nodes. Colors and markers are layers. Columns are "
        "students on images that are new in every epoch, and on a finite set, without and with BatchNorm after the "
        "ReLU. Lines are means over seeds, shaded areas go from the smallest to the largest. Answers figures 8, "
        "bottom, and 10 (b) of LM.",
        "losses": "Evaluation loss as a share of the variance of the outputs, above, and median rank of the final best "
        "channels, below, of every hidden layer over epochs; layer 0 is the lowest. Colors and markers are layers. "
        "Columns, lines and shaded areas are those of the other figure. Answers figures 19, 21 to 23 and 25 of LM.",
    }

    hidden: Channels = (64, 64, 64)
    """numbers of channels of the teacher's convolutions"""
    n_held_out: Annotated[int, Ge(2)] = 1000
    """number of held-out images, for correlations and loss"""
    lr_without: PositiveFloat = 0.0001
    """learning rate without BatchNorm"""

    def kinds(self) -> Mapping[str, Mapping[str, Any]]:
        return {"new images": {"fresh": True}, "finite set": {"fresh": False}}

    def of_figure_10(self, result: xr.Dataset) -> list[Statement]:
        middle, last = self.looks()[len(self.looks()) // 2], self.epochs
        rho = result.rho.mean("layer")
        gain = rho.sel(epoch=last) - rho.sel(epoch=middle)
        late = [(gain.sel(arm=kind) + gain.sel(arm=kind + NORMED)) / 2 for kind in self.kinds()]
        return [
            Statement(
                "LM.F10.cnn.stalls", "Correlations stall earlier on a finite dataset", per_seed(late[0] - late[1]),
                within=(-1, 1), statistic=f"rise of ρ̄ from epoch {middle} to {last}, mean over layers and with and "
                "without BatchNorm, difference new images − finite set",
            ),
        ]  # fmt: skip


STUDY = ConvCourses
