"""LM figure 12: how the correlations of convolutional students depend on their width."""

from typing import Annotated, ClassVar, Literal

from annotated_types import Ge
from pydantic import PositiveFloat, PositiveInt

from relulab.subjects.specialization.studies.conv_students import Channels, ConvStudents
from relulab.subjects.specialization.studies.deep_widths import DeepWidths
from relulab.subjects.specialization.studies.two_layer_students import Widths


class ConvWidths(DeepWidths, ConvStudents):
    """Do wider convolutional students follow more of their teacher's channels, and more steadily?

    Students with BatchNorm after the ReLU and 1 to 50 times as many channels as their teacher are trained on its
    outputs. In every hidden layer, ρ̄ is the mean over the teacher's channels of the best correlation with a channel of
    the student. LM finds that ρ̄ is higher and steadier with width, and that very wide students are slower.
    """

    name: ClassVar = "conv-widths"
    ids: ClassVar = ("LM.F12.cnn",)
    title: ClassVar = "Degrees of over-realization in convolutional students"
    source: ClassVar = "LM figure 12, right"
    prefix: ClassVar = "LM.F12.cnn"
    remarks: ClassVar = (
        "The right half of the figure: convolutional students with BatchNorm. LM prints no learning rate, batch size "
        "or number of epochs. Here they are 0.01 for the squared error summed over the outputs, 64, and 10 epochs of "
        "100,000 new images. Channels of the teacher that are never active are left out of ρ̄; their numbers are stored "
        "with the result."
    )
    presets: ClassVar = {
        "smoke": {"hidden": (2, 3), "side": 8, "C": 5, "over": (1, 10, 20), "seeds": 2, "epochs": 2, "steps": 10,
                  "n_train": 200, "n_held_out": 100},
        "quick": {"hidden": (4, 6, 8, 10), "side": 10, "C": 20, "over": (1, 2, 10, 20), "seeds": 6, "epochs": 6,
                  "steps": 40, "n_train": 2560, "n_held_out": 300},
    }  # fmt: skip
    captions: ClassVar = {
        "widths": "Mean best correlation ρ̄ of every hidden layer over epochs; layer 0 is the lowest, and channels are "
        "nodes. Colors and markers are student widths as multiples of the teacher's. Lines are means over teachers, "
        "shaded areas one standard deviation. Answers the right half of figure 12 of LM.",
    }

    hidden: Channels = (10, 15, 20, 25)
    """numbers of channels of the teacher's convolutions"""
    over: Widths = (1, 2, 5, 10, 20, 50)
    """student widths, as multiples of the teacher's widths"""
    seeds: PositiveInt = 32
    """number of teachers, each with one student of each width"""
    epochs: PositiveInt = 10
    """number of training epochs"""
    n_held_out: Annotated[int, Ge(2)] = 1000
    """number of held-out images, for correlations and loss"""
    lr: PositiveFloat = 0.01
    """learning rate; without BatchNorm, it must be much smaller"""
    batch_norm: Literal["none", "after", "before"] = "after"
    """BatchNorm of the students: none, after the ReLU, or before it"""


STUDY = ConvWidths
