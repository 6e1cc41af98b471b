"""Transfer risk of a linear teacher on points in a file: angles, bound and measured risk."""

from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Gt, Le

from relulab.core.errors import UserError
from relulab.lab.measurement import Measurement, Outcome
from relulab.lab.show.parts import Grid, Part
from relulab.lab.show.words import number
from relulab.subjects.distillation.measurements import transfer_words
from relulab.subjects.distillation.measurements.transfer_picture import picture
from relulab.subjects.distillation.measurements.transfer_report import arrays, transfer_report, transfer_rows
from relulab.subjects.distillation.tools.linear_teacher_input import LinearTeacher


class TransferRiskOfPoints(LinearTeacher, Measurement):
    """How many points are needed to distill a linear teacher: bound (T5 theorem 5.3) and measured risk."""

    name: ClassVar = "transfer-risk"
    source: ClassVar = "T5 theorem 5.3"
    ids: ClassVar = ("T5.T3",)
    arguments: ClassVar = ("data",)
    endings: ClassVar = (".npz",)
    kept: ClassVar = "the risk curve, both bounds, the angle of every point, and the teacher"
    drawn: ClassVar = "the angles of the points, and the risk against n"

    n: str | None = None
    """Numbers of points per transfer set, for example 1,2,5,10."""
    sets: Annotated[int, Ge(2), Le(1_000_000)] = 100
    """Number of random transfer sets over which the risk is averaged."""
    confidence: float = 0.95
    """Confidence of the band of the angles and of the intervals."""
    risk: Annotated[float, Gt(0), Le(1)] = 0.05
    """Wanted risk; the answer says how many points it takes."""
    tight: bool = False
    """Use the tighter bound from the proof of theorem 5.3."""
    seed: int = 0
    """Seed of the random transfer sets."""

    def busy(self) -> str:
        return f"training {self.sets:,} students on points of {self.data.name} …"

    def measure(self) -> Outcome:
        sizes = _whole_numbers(self.n)
        X, w, bias = self.brought()
        sizes, dropped = _cut(sizes, len(X))
        cut_at = max(1, len(X) // 4) if self.n is None and len(X) // 2 <= X.shape[1] else None
        report = transfer_report(X, w, sizes, sets=self.sets, confidence=self.confidence, seed=self.seed)
        document = {
            "data": str(self.data), "teacher": str(self.teacher) if self.teacher else None, "label": self.label,
            "bias": bias, **transfer_rows(report, risk=self.risk, tight=self.tight), "sets": self.sets,
            "seed": self.seed, "dropped": dropped, "cut_at": cut_at,
        }  # fmt: skip
        return Outcome(document, _parts(document), lambda: arrays(report), lambda: picture(report, self.risk))


def _parts(document: dict[str, Any]) -> list[Part]:
    """The facts first, then the table, then what the numbers mean."""
    parts: list[Part] = [*transfer_words.answer(document), *transfer_words.facts(document), _table(document)]
    if document["dropped"]:
        dropped, N = ", ".join(map(str, document["dropped"])), document["points"]
        parts.append(f"Left out: n = {dropped}. At least 2 of the {N:,} points must remain to count errors on.")
    if document["cut_at"]:
        parts.append(f"The largest n is {document['cut_at']:,}, a quarter of the points.")
    if document["bias"]:
        parts.append("The teacher has a bias. It is the weight of an added column of ones.")
    if document["label"] is not None:
        parts.append(f"The teacher is the shortest weight vector that gives the soft labels {document['label']}.")
        if document["rank"] == document["points"]:
            parts.append("The points are linearly independent, so any labels have a linear teacher.")
    return [
        *parts,
        *transfer_words.explanations(document),
        f"The risk is the share of {document['counted_on']:,} other points on which student and teacher disagree.",
        f"It is the mean over {document['sets']:,} transfer sets, for students at the end of training.",
    ]


def _table(document: dict[str, Any]) -> Grid:
    level, name = f"{100 * document['confidence']:.4g}%", "tight bound" if document["tight"] else "bound"
    rows = []
    for row in document["rows"]:
        bound = "says nothing" if row["bound"] >= 1 else number(row["bound"])
        interval = f"{number(row['risk'])} [{number(row['low'])}, {number(row['high'])}]"
        rows.append((f"{row['n']:,}", bound, interval, f"{row['rank']:.5g}"))
    return Grid(("n", name, f"measured risk [{level} interval]", "rank"), rows)


def _whole_numbers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        sizes = sorted({int(word) for word in text.split(",")})
    except ValueError:
        sizes = [0]
    if sizes[0] < 1:
        raise UserError(f"--n: expected positive integers separated by commas, such as 1,2,5,10, got {text!r}")
    return sizes


def _cut(sizes: list[int] | None, N: int) -> tuple[list[int] | None, list[int]]:
    """Split the sizes into those that leave 2 of N points to count errors on, and the others."""
    if sizes is None or N < 3:
        return sizes, []
    if sizes[0] > N - 2:
        raise UserError(f"--n {sizes[0]} leaves fewer than 2 of {N} points to count errors on: use at most {N - 2}")
    return [n for n in sizes if n <= N - 2], [n for n in sizes if n > N - 2]


MEASUREMENT = TransferRiskOfPoints
