"""The input of a teacher, a student and points."""

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
    """Teacher network: .safetensors, .npz, .pt, .pth or .pt2."""
    student: Path
    """Student network that was trained on the teacher, in the same formats."""
    data: Path
    """Points, one per row: .npy, .npz or .safetensors."""
    slope: float | None = None
    """Negative slope of leaky ReLUs. Weight files do not contain it."""

    def load(self) -> tuple["nn.Module", "nn.Module", "Tensor"]:
        """Return both networks, in the precision of their files, and the points."""
        from relulab.io.network import load

        teacher, student = (load(path, slope=self.slope) for path in (self.teacher, self.student))
        return teacher, student, points_for(self.data, teacher, student)
