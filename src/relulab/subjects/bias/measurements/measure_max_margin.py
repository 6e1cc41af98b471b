"""The two max-margin vectors of IB theorem 1 for labeled points."""

from typing import Any, ClassVar

from relulab.lab.inputs.labeled_table import LabeledTable
from relulab.lab.measurement import Measurement, Outcome
from relulab.lab.show.parts import Grid, Part
from relulab.lab.show.words import number
from relulab.subjects.bias.instruments.max_margin import max_margin
from relulab.subjects.bias.instruments.separability import separability
from relulab.subjects.bias.measurements.max_margin_report import arrays, explanation, facts, max_margin_rows, picture

SHOWN = 8  # largest number of vector entries in the table
COLUMNS = ("", "margin 1/‖w‖", "support examples", "rank", "KKT residual", "direction w/‖w‖")


class MaxMarginOfTable(LabeledTable, Measurement):
    """Compute the max-margin vector and support examples of each class; test if IB theorem 1 applies."""

    name: ClassVar = "max-margin"
    title: ClassVar = "labeled points"
    source: ClassVar = "IB theorem 1, eqs. 6 and 7"
    ids: ClassVar = ("IB.T1",)
    arguments: ClassVar = ("data",)
    endings: ClassVar = (".npz",)
    kept: ClassVar = "vectors, multipliers and support examples"
    drawn: ClassVar = "the points by their inner products with both vectors, and the support examples"

    def measure(self) -> Outcome:
        data = self._table()
        vectors = max_margin(data.X, data.y)
        separable = separability(data.X, data.y, pairs=0, subset=False)
        document = {
            "data": str(self.data), "labels": dict(zip("-+", data.names, strict=True)), "points": len(data.X),
            "columns": data.X.shape[1], **max_margin_rows(vectors, separable),
        }  # fmt: skip
        return Outcome(
            document,
            _parts(document, self.data_words()),
            lambda: arrays(vectors),
            lambda: picture(vectors, data),
        )


def _parts(document: dict[str, Any], table: str) -> list[Part]:
    rows = []
    for sign, name in (("₊", "positive"), ("₋", "negative")):
        side = document[name]
        direction = ", ".join(f"{w * side['margin']:.3f}" for w in side["w"][:SHOWN])
        rows.append((
            f"w{sign}", number(side["margin"]), str(len(side["supports"])), f"{side['rank']} of {document['columns']}",
            number(side["residual"]), direction + (" …" if len(side["w"]) > SHOWN else ""),
        ))  # fmt: skip
    return [
        *facts(document),
        Grid(COLUMNS, rows, frozenset({COLUMNS[-1]})),
        *explanation(document, table),
    ]


MEASUREMENT = MaxMarginOfTable
