"""Fields of studies whose students and teachers may have leaky ReLUs."""

from relulab.lab.trained_study import Slope, TrainedStudy


class LeakyStudents(TrainedStudy):
    """Base class of studies that train students of teachers, each with a plain or a leaky ReLU."""

    slope: Slope = 0
    """slope of the leaky ReLU of students and teachers for negative inputs; 0 is a plain ReLU"""
    teacher_slope: Slope | None = None
    """slope of the teachers, if it differs from that of the students"""

    @property
    def slope_of_teachers(self) -> float:
        """The slope of the teachers' leaky ReLU: that of the students, unless another one is given."""
        return self.slope if self.teacher_slope is None else self.teacher_slope
