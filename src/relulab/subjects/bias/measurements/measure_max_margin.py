"""The two directions that IB theorem 1 speaks of, for labeled points."""

from pathlib import Path
from typing import Any, ClassVar

from relulab.data.labeled import Labeled
from relulab.io.tables import read_table
from relulab.lab.measurement import Measurement, Outcome
from relulab.lab.show.parts import Grid, Part
from relulab.lab.show.words import number
from relulab.subjects.bias.instruments.max_margin import max_margin
from relulab.subjects.bias.instruments.separability import separability
from relulab.subjects.bias.measurements.max_margin_report import arrays, max_margin_rows, picture, sentences
from relulab.subjects.bias.measurements.measure_separability import label_line

SHOWN = 8  # entries of a vector
COLUMNS = ("", "margin 1/‖w‖", "supports", "rank", "KKT residual", "direction w/‖w‖")


class MaxMarginOfTable(Measurement):
    """The max-margin vector of each class, its support examples, and whether IB theorem 1 speaks about the data."""

    name: ClassVar = "max-margin"
    title: ClassVar = "labeled points"
    source: ClassVar = "IB theorem 1, eqs. 6 and 7"
    ids: ClassVar = ("IB.T1",)
    arguments: ClassVar = ("file",)
    endings: ClassVar = (".npz",)
    kept: ClassVar = "vectors, multipliers and supports"
    drawn: ClassVar = "the points by w₊ᵀx and w₋ᵀx, supports ringed"

    file: Path
    """Points with labels: .csv, .tsv, .parquet, .npz (X and y) or .npy."""
    label: str | None = None
    """Column or array of labels, by name or number; default: y, label, class or the last."""

    def load(self) -> tuple[Labeled]:
        """The points and labels."""
        return (read_table(self.file, self.label),)

    def measure(self) -> Outcome:
        (data,) = self.load()
        found = max_margin(data.X, data.y)
        separable = separability(data.X, data.y, pairs=0, subset=False)
        document = {
            "data": str(self.file), "labels": dict(zip("-+", data.names, strict=True)), "points": len(data.X),
            "columns": data.X.shape[1], **max_margin_rows(found, separable),
        }  # fmt: skip
        return Outcome(document, _told(document), lambda: arrays(found), lambda: picture(found, data))


def _told(document: dict[str, Any]) -> list[Part]:
    rows = []
    for sign, name in (("₊", "positive"), ("₋", "negative")):
        side = document[name]
        direction = ", ".join(f"{w * side['margin']:.3f}" for w in side["w"][:SHOWN])
        rows.append((
            f"w{sign}", number(side["margin"]), str(len(side["supports"])), f"{side['rank']} of {document['columns']}",
            number(side["residual"]), direction + (" …" if len(side["w"]) > SHOWN else ""),
        ))  # fmt: skip
    return [
        label_line(document),
        Grid(COLUMNS, rows, frozenset({COLUMNS[-1]})),
        f"The cosine of w₊ and w₋ is {document['cosine']:.4f}.",
        *sentences(document, document["columns"]),
    ]


MEASUREMENT = MaxMarginOfTable
