"""How many points a student of a linear teacher needs: angles, bound and measured risk for points in a file."""

from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Gt, Le

from relulab.core.errors import UserError
from relulab.lab.measurement import Measurement, Outcome
from relulab.lab.show.parts import Grid, Line, Part
from relulab.lab.show.words import number
from relulab.subjects.distillation.measurements import transfer_words
from relulab.subjects.distillation.measurements.transfer_picture import picture
from relulab.subjects.distillation.measurements.transfer_report import arrays, transfer_report, transfer_rows
from relulab.subjects.distillation.tools.linear_teacher_input import LinearTeacher


class TransferRiskOfPoints(LinearTeacher, Measurement):
    """How many points do I need to distill a linear teacher? Angles, bound (T5 theorem 5.3) and measured risk."""

    name: ClassVar = "transfer-risk"
    source: ClassVar = "T5 theorem 5.3"
    ids: ClassVar = ("T5.T3",)
    arguments: ClassVar = ("data",)
    endings: ClassVar = (".npz",)
    kept: ClassVar = "the curve, both bounds, every row's angle and the teacher"
    drawn: ClassVar = "the angles, and the risk against n"

    n: str | None = None
    """Numbers of points of a transfer set, as 1,2,5,10."""
    sets: Annotated[int, Ge(2), Le(1_000_000)] = 100
    """Transfer sets of which the risk is the mean."""
    confidence: float = 0.95
    """Of the band about the angles and of intervals."""
    risk: Annotated[float, Gt(0), Le(1)] = 0.05
    """A risk that is wanted: how many points do?"""
    tight: bool = False
    """The bound as the proof has it before its last step."""
    seed: int = 0
    """Of the transfer sets."""

    def busy(self) -> str:
        return f"distilling {self.sets:,} students of points of {self.data.name} …"

    def measure(self) -> Outcome:
        sizes = _whole_numbers(self.n)
        X, w, bias = self.brought()
        sizes, dropped = _cut(sizes, len(X))
        cut_at = max(1, len(X) // 4) if self.n is None and len(X) // 2 <= X.shape[1] else None
        found = transfer_report(X, w, sizes, sets=self.sets, confidence=self.confidence, seed=self.seed)
        document = {
            "data": str(self.data), "teacher": str(self.teacher) if self.teacher else None, "label": self.label,
            "bias": bias, **transfer_rows(found, risk=self.risk, tight=self.tight), "sets": self.sets,
            "seed": self.seed, "dropped": dropped, "cut_at": cut_at,
        }  # fmt: skip
        return Outcome(document, _told(document), lambda: arrays(found), lambda: picture(found, self.risk))


def _told(document: dict[str, Any]) -> list[Part]:
    parts: list[Part] = [Line(transfer_words.answer(document), "strong")]
    if document["bias"]:
        parts.append("The teacher has a bias: points have a column of ones, of which it is the weight.")
    if document["label"] is not None:
        parts.append(f"The teacher is the shortest that gives the soft labels {document['label']}.")
        if document["rank"] == document["points"]:
            parts.append(
                "There are no more points than they span dimensions, so any labels are those of a linear teacher."
            )
    parts += transfer_words.sentences(document)
    parts.append(
        f"Measured are students at the end of training, of {document['sets']:,} transfer sets for each n, on "
        f"{document['counted_on']:,} other points of the file: the share that they answer otherwise than the teacher."
    )
    if document["dropped"]:
        dropped, N = ", ".join(map(str, document["dropped"])), document["points"]
        parts.append(f"n = {dropped} is left out: of {N:,} points, 2 must be left to count errors on.")
    if document["cut_at"]:
        parts.append(f"n ends at {document['cut_at']:,}, a quarter of the points: one half is to count errors.")
    return [*parts, _table(document)]


def _table(document: dict[str, Any]) -> Grid:
    level, name = f"{document['confidence']:.4g}", "tight bound" if document["tight"] else "bound"
    rows = []
    for row in document["rows"]:
        bound = "says nothing" if row["bound"] >= 1 else number(row["bound"])
        interval = f"{number(row['risk'])} [{number(row['low'])}, {number(row['high'])}]"
        rows.append((f"{row['n']:,}", bound, interval, f"{row['rank']:.5g}"))
    return Grid(("n", name, f"measured risk [{level} interval]", "rank"), rows)


def _whole_numbers(words: str | None) -> list[int] | None:
    if words is None:
        return None
    try:
        found = sorted({int(word) for word in words.split(",")})
    except ValueError:
        found = [0]
    if found[0] < 1:
        raise UserError(f"--n {words}: whole numbers from 1 were expected, parted by commas, as 1,2,5,10")
    return found


def _cut(sizes: list[int] | None, N: int) -> tuple[list[int] | None, list[int]]:
    """The sizes that leave 2 of N points to count errors on, and the others."""
    if sizes is None or N < 3:
        return sizes, []
    if sizes[0] > N - 2:
        raise UserError(f"--n {sizes[0]} of {N} points: 2 at least must be left to count errors on, so at most {N - 2}")
    return [n for n in sizes if n <= N - 2], [n for n in sizes if n > N - 2]


MEASUREMENT = TransferRiskOfPoints
