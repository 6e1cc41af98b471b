"""A teacher, a student and points."""

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from relulab.lab.input import Input
from relulab.lab.inputs.two_networks import points_for

if TYPE_CHECKING:
    from torch import Tensor, nn


class TeacherStudent(Input):
    """A teacher, a student that learned from it, and points."""

    title: ClassVar = "a teacher, a student and points"

    teacher: Path
    """A network: .safetensors, .npz, .pt, .pth or .pt2."""
    student: Path
    """The network that learned from it, in any of these formats."""
    data: Path
    """Points: .npy, .npz or .safetensors, one a row."""
    slope: float | None = None
    """Slope of leaky ReLUs, which files of weights do not tell."""

    def load(self) -> tuple["nn.Module", "nn.Module", "Tensor"]:
        """Both networks in the precision of their files, and the points."""
        from relulab.io.network import load

        teacher, student = (load(path, slope=self.slope) for path in (self.teacher, self.student))
        return teacher, student, points_for(self.data, teacher, student)
