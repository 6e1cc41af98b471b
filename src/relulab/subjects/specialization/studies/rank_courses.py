"""LM figures 8 and 10: correlation and mean rank of fully connected students through training."""

from collections.abc import Mapping
from typing import Any, ClassVar

import xarray as xr

from relulab.subjects.specialization.studies.courses import NORMED, Courses, way
from relulab.subjects.specialization.studies.deep_students import Hidden
from relulab.subjects.specialization.studies.statements import Statement, per_seed


class RankCourses(Courses):
    """How do correlations and ranks develop in fully connected students, with and without BatchNorm?

    Students learn from a large and from a small teacher with four hidden layers. ρ̄ is the mean over teacher nodes of
    the best correlation with a student node; r̄ is the mean rank, through training, of the student nodes that are best
    in the end: 0 is the best and 1 the worst of all students. LM finds that ρ̄ grows most in the lowest layer, that the
    later winners have a good rank after one epoch, and that BatchNorm helps, above all for large teachers.
    """

    name: ClassVar = "rank-courses"
    ids: ClassVar = ("LM.F8", "LM.F10")
    title: ClassVar = "Correlation and mean rank through training"
    source: ClassVar = "LM figure 8, top, and figure 10 (a)"
    prefix: ClassVar = "LM.F8"
    usual: ClassVar = "large"
    remarks: ClassVar = (
        "The fully connected half of figure 8, and figure 10 (a); the other halves are the study conv-courses. LM "
        "prints no learning rate, batch size or number of epochs: here they are 0.001 without and 0.01 with BatchNorm "
        "for the squared error summed over the outputs, 64, and 20 epochs of 100,000 new points. Students are compared "
        "at these learning rates, so the claims on BatchNorm include the larger steps that it allows. Teacher nodes "
        "that are never active are left out."
    )
    presets: ClassVar = {
        "smoke": {"d": 6, "C": 5, "hidden": (4, 5), "small": (2, 3), "over": (3,), "seeds": 2, "epochs": 2, "steps": 20,
                  "n_train": 500, "n_held_out": 200},
        "quick": {"hidden": (30, 40, 50, 60), "over": (5,), "seeds": 6, "epochs": 8, "steps": 150, "n_train": 9600,
                  "n_held_out": 1000},
    }  # fmt: skip
    captions: ClassVar = {
        "courses": "Mean best correlation ρ̄, above, and mean rank r̄ of the final best students, below, of every hidden "
        "layer over epochs; layer 0 is the lowest. Colors and markers are layers. Columns are students of a large and "
        "of a small teacher, without and with BatchNorm after the ReLU. Lines are means over seeds, shaded areas go "
        "from the smallest to the largest. Answers figures 8, top, and 10 (a) of LM.",
        "losses": "Evaluation loss as a share of the variance of the outputs, above, and median rank of the final best "
        "students, below, of every hidden layer over epochs; layer 0 is the lowest. Colors and markers are layers. "
        "Columns, lines and shaded areas are those of the other figure. Answers figures 19, 21 to 24 of LM.",
    }

    small: Hidden = (10, 15, 20, 25)
    """numbers of nodes of the small teacher's hidden layers"""

    def kinds(self) -> Mapping[str, Mapping[str, Any]]:
        return {"large": {}, "small": {"hidden": self.small}}

    def of_figure_10(self, result: xr.Dataset) -> list[Statement]:
        early, last = self.looks()[1], self.epochs
        risen = way(result.rho).sel(epoch=early).mean("layer")
        end = result.rho.sel(epoch=last).mean("layer")
        helped = [end.sel(arm=kind + NORMED) - end.sel(arm=kind) for kind in ("large", "small")]
        return [
            Statement(
                "LM.F10.small", "Without BatchNorm, students of a small teacher are faster",
                per_seed(risen.sel(arm="small") - risen.sel(arm="large")),
                statistic=f"share of the way of ρ̄ from its start to 1 after epoch {early}, mean over layers, "
                "difference small − large",
            ),
            Statement(
                "LM.F10.norm", "BatchNorm helps students of a large teacher more than those of a small one",
                per_seed(helped[0] - helped[1]), within=(-2, 2),
                statistic=f"gain in ρ̄ from BatchNorm after {last} epochs, mean over layers, difference large − small",
            ),
        ]  # fmt: skip


STUDY = RankCourses
