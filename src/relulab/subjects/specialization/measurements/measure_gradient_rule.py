"""The gradient of every layer of a student, by SS lemma 1 and by back-propagation."""

from typing import ClassVar

from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.measurement import Measurement, Outcome
from relulab.lab.show.finding_parts import finding_parts
from relulab.lab.show.parts import Grid
from relulab.lab.show.words import number
from relulab.subjects.specialization.theorems.gradient_rule import gradient_rule, gradient_sizes


class GradientRule(TeacherStudent, Measurement):
    """Compare the gradient rule of SS.L1 with back-propagation in every layer, and report the gradients."""

    name: ClassVar = "gradient-rule"
    source: ClassVar = "SS lemma 1"
    ids: ClassVar = ("SS.L1",)
    arguments: ClassVar = ("teacher", "student")

    def measure(self) -> Outcome:
        teacher, student, x = self.load()
        finding = gradient_rule(teacher, student, x)
        document = {
            "teacher": str(self.teacher), "student": str(self.student), "data": str(self.data), **finding.to_dict(),
        }  # fmt: skip
        parts = finding_parts(document)
        if finding.conclusion:
            document["gradients"] = gradient_sizes(teacher, student, x)
            rows = [(str(row["layer"]), number(row["rms"]), number(row["max"])) for row in document["gradients"]]
            parts = [*parts, Grid(("layer", "root mean square of g", "largest |g|"), rows)]
        return Outcome(document, parts, verdict=finding.verdict)


MEASUREMENT = GradientRule
