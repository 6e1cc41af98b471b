"""The gradient of every layer of a student by the rule of SS lemma 1 and by back-propagation."""

from typing import ClassVar

from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.measurement import Measurement, Outcome
from relulab.lab.show.finding_parts import finding_parts
from relulab.lab.show.words import number
from relulab.subjects.specialization.theorems.gradient_rule import gradient_rule, gradient_sizes


class GradientRule(TeacherStudent, Measurement):
    """The gradient of every layer by SS.L1 and by back-propagation: their gap, and how large the gradient is."""

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
            parts += [
                f"  layer {row['layer']}: |g| is {number(row['rms'])} in the mean square, {number(row['max'])} at most"
                for row in document["gradients"]
            ]
        return Outcome(document, parts, verdict=finding.verdict)


MEASUREMENT = GradientRule
