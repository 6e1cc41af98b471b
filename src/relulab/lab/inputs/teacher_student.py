"""The input of a teacher, a student and points."""

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from relulab.lab.inputs.network_files import NetworkFiles
from relulab.lab.inputs.with_data import WithData

if TYPE_CHECKING:
    from torch import Tensor, nn


class TeacherStudent(WithData, NetworkFiles):
    """A teacher, a student that learned from it, and points."""

    title: ClassVar = "a teacher, a student and points"

    teacher: Path
    """Teacher network: .safetensors, .npz, .pt, .pth or .pt2."""
    student: Path
    """Student network that was trained on the teacher, in the same formats."""

    def load(self) -> tuple["nn.Module", "nn.Module", "Tensor"]:
        """Return both networks, in the precision of their files, and the points."""
        teacher, student = (self.read_network(path) for path in (self.teacher, self.student))
        return teacher, student, self.points_for(teacher, student)
