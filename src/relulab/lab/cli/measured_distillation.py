"""How measurements of linear distillation look in a terminal: first what they mean, then the numbers."""

from rich.markup import escape
from rich.table import Table

from relulab.lab.cli.tables import console
from relulab.lab.show.words import number
from relulab.subjects.distillation.measurements import transfer_words


def print_transfer_risk(document: dict) -> None:
    console.print(escape(transfer_words.answer(document)), highlight=False, style="bold")
    if document["bias"]:
        say("The teacher has a bias: points have a column of ones, of which it is the weight.")
    if document["label"] is not None:
        say(f"The teacher is the shortest that gives the soft labels {document['label']}.")
        if document["rank"] == document["points"]:
            say("There are no more points than they span dimensions, so any labels are those of a linear teacher.")
    for line in transfer_words.sentences(document):
        say(line)
    say(
        f"Measured are students at the end of training, of {document['sets']:,} transfer sets for each n, on "
        f"{document['counted_on']:,} other points of the file: the share that they answer otherwise than the teacher."
    )
    if document["dropped"]:
        dropped, N = ", ".join(map(str, document["dropped"])), document["points"]
        say(f"n = {dropped} is left out: of {N:,} points, 2 must be left to count errors on.")
    if document["cut_at"]:
        say(f"n ends at {document['cut_at']:,}, a quarter of the points: one half is to count errors.")
    console.print(_table(document))
    files = "the curve, both bounds, every row's angle and the teacher"
    say(f"{files} are in {document['out']}" if document["out"] else f"--out FILE.npz keeps {files}")
    if document["figure"]:
        say(f"the picture is in {document['figure']}")


def _table(document: dict) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    level = f"{document['confidence']:.4g}"
    for column in ("n", "tight bound" if document["tight"] else "bound", f"measured risk [{level} interval]", "rank"):
        table.add_column(escape(column), justify="right")
    for row in document["rows"]:
        bound = "says nothing" if row["bound"] >= 1 else number(row["bound"])
        interval = f"{number(row['risk'])} [{number(row['low'])}, {number(row['high'])}]"
        table.add_row(f"{row['n']:,}", bound, escape(interval), f"{row['rank']:.5g}")
    return table


def say(line: str) -> None:
    console.print(escape(line), highlight=False)
