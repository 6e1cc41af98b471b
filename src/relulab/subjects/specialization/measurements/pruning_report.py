"""The outcome of pruning as text and as a picture."""

from collections.abc import Iterator
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from relulab.core.share import Estimate, percent, percents
from relulab.lab.show.figure import BLUE, RED, house_style, legend, panels
from relulab.lab.show.parts import Fact, Grid, Line, Part, first_rows
from relulab.lab.show.words import number
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.tools.agreement import agreement
from relulab.subjects.specialization.tools.nodes import lowest
from relulab.subjects.specialization.tools.two_layer_pruning import Pruned

ROWS = 12  # largest number of groups shown
NAMED = 12  # largest number of nodes listed per group
LOSSES = (0.3, 0.1, 0.03, 0.01, 0.003, 1e-3, 1e-4, 1e-6)  # shares of variance for which a size is shown
ENOUGH = 0.99  # share of predictions that a suggested size keeps


def suggested(pruned: Pruned) -> int | None:
    """Return the smallest of the tried sizes that keeps 99% of the predictions, or of the variance for one output.

    Args:
        pruned: Result of ``prune``.
    """
    return next(
        (n for n, lost, agree in pruned.sizes if (1 - lost if agree is None else agree) >= ENOUGH),
        None,
    )


def two_layer_rows(
    pruned: Pruned, net: MLP, x: Tensor, labels: Tensor | None = None, teacher: nn.Module | None = None
) -> dict[str, Any]:
    """Return the costs, the groups and the other sizes for a document.

    Args:
        pruned: Result of ``prune_two_layers``.
        net: The network that was pruned.
        x: Test points, (N, d).
        labels: Their classes.
        teacher: A network whose nearest node is added to every group.
    """
    compared = agreement(net.double(), pruned.net, x, labels)
    return {
        "nodes": net.widths[1], "groups": group_rows(pruned, teacher), "kept": pruned.net.widths[1],
        "lost": pruned.lost, "agree": compared.same._asdict() if net.widths[-1] > 1 else None,
        "accuracy": [share and share._asdict() for share in (compared.accuracy_a, compared.accuracy_b)],
        "largest": pruned.largest, "bound": pruned.bound, "suggested": suggested(pruned),
        "sizes": [size._asdict() for size in pruned.sizes],
    }  # fmt: skip


def group_rows(pruned: Pruned, teacher: nn.Module | None = None) -> list[dict[str, Any]]:
    """Return one row per group of aligned nodes, the kept groups first.

    Args:
        pruned: Result of ``prune``.
        teacher: A network whose nearest node is added to every row.

    Returns:
        Rows with the ``nodes`` of the group, the norm ‖Σ v‖w‖‖ that it ``adds``, whether it is ``kept``, and with a
        teacher the nearest node ``teacher`` and its alignment error ``epsilon``.
    """
    groups, kept = pruned.groups, set(pruned.kept)
    strength = groups.a.norm(dim=1)
    nearest = alignment(lowest(teacher), groups.nodes).min(0) if teacher is not None else None
    rows = []
    order = [*pruned.kept, *(s for s in strength.argsort(descending=True).tolist() if s not in kept)]
    for s in order:
        row = {"nodes": (groups.of == s).nonzero()[:, 0].tolist(), "adds": float(strength[s]), "kept": s in kept}
        if nearest is not None:
            row |= {"teacher": int(nearest.indices[s]), "epsilon": float(nearest.values[s])}
        rows.append(row)
    return rows


def two_layer_parts(document: dict[str, Any]) -> Iterator[Part]:
    """Yield the answer: the costs, the sizes to choose from, and the groups.

    Args:
        document: The document of ``relulab prune --json``.
    """
    test = f"{document['tested']:,} test points"
    yield Fact("nodes kept", f"{document['kept']:,} of {document['nodes']:,}")
    yield Fact("share of variance lost", percent(document["lost"]))
    if document["agree"]:
        yield Fact("predictions that stay the same", f"{percents(Estimate(**document['agree']))} of {test}")
    before, after = document["accuracy"]
    if before:
        yield Fact("accuracy", f"{percents(Estimate(**after))}, before {percents(Estimate(**before))}")
    yield Fact("largest change of an output", f"{number(document['largest'])} at {test}")
    yield Fact("bound on any change", f"{number(document['bound'])} within the bounding box of the data")
    yield from _sizes(document)
    yield from _groups(document["groups"])
    kind = f"{percent(ENOUGH)} of the {'predictions' if document['agree'] else 'variance'}"
    if document["suggested"] in (None, document["nodes"]):
        yield Line(f"None of the smaller sizes that were tried keeps {kind}.")
    elif document["suggested"] != document["kept"]:
        yield Line(f"Suggestion: --keep {document['suggested']} keeps {kind}.")


def _sizes(document: dict[str, Any]) -> Iterator[Part]:
    """Yield a table of sizes: the smallest for each of some losses, and the chosen one."""
    sizes = {size["kept"]: size for size in document["sizes"]}
    smallest = (next((n for n, size in sizes.items() if size["lost"] <= loss), None) for loss in LOSSES)
    shown = sorted({document["kept"], *(n for n in smallest if n is not None)})
    several = document["agree"] is not None
    yield Line(f"Other sizes, at the {document['chosen_on']:,} points on which the size is chosen:")
    rows = [
        (
            f"{n:,}{' (chosen)' if n == document['kept'] else ''}",
            percent(min(1.0, sizes[n]["lost"])) if sizes[n]["lost"] <= 1 else "more than 100%",
            *((percent(sizes[n]["agree"]),) if several else ()),
        )
        for n in shown
    ]
    columns = ("nodes", "variance lost", *(("predictions that stay the same",) if several else ()))
    yield Grid(columns, rows, frozenset({"nodes"}))


def _groups(groups: list[dict[str, Any]]) -> Iterator[Part]:
    """Yield the groups that are kept, if some consist of several nodes or are compared with a teacher."""
    with_teacher = "teacher" in groups[0]
    kept = [row for row in groups if row["kept"]]
    merged = sum(len(row["nodes"]) > 1 for row in groups)
    yield Fact("nodes that share a hyperplane", f"{merged:,} groups" if merged else "none")
    if not (merged or with_teacher):
        yield Line(f"Kept nodes: {_named([node for row in kept for node in row['nodes']])}", "quiet")
        return
    columns = ("‖Σ v‖w‖‖", *(("teacher node", "ε") if with_teacher else ()), "nodes of the group")
    rows = [
        (
            number(row["adds"]),
            *((str(row["teacher"]), number(row["epsilon"])) if with_teacher else ()),
            _named(row["nodes"]),
        )
        for row in kept
    ]
    yield from first_rows(columns, rows, ROWS, "--json", left=frozenset({"nodes of the group"}))


def _named(nodes: list[int]) -> str:
    return ", ".join(map(str, nodes[:NAMED])) + (" …" if len(nodes) > NAMED else "")


def picture(pruned: Pruned) -> Figure:
    """Plot the share of variance lost and the share of changed predictions versus the number of nodes kept.

    Args:
        pruned: Result of ``prune``.
    """
    kept, lost, agree = zip(*pruned.sizes, strict=True)
    with house_style():
        figure, axes = panels(1, 1, width=3.6, height=2.6)
        ax = axes[0, 0]
        ax.plot(kept, torch.tensor(lost).clamp(min=1e-16), ".-", color=BLUE, label="variance lost")
        if agree[0] is not None:
            changed = [1 - share if share < 1 else float("nan") for share in agree]
            ax.plot(kept, changed, "x--", color=RED, label="predictions changed")
        ax.axvline(len(pruned.kept), color="0.6", lw=0.8, label="pruned network")
        ax.set(xscale="log", yscale="log", xlabel="number of nodes kept", ylabel="share")
        legend(figure, ax, columns=1)
    return figure
