"""The outcome of pruning several layers as rows, as text and as a picture."""

from collections.abc import Iterator
from typing import Any

from matplotlib.figure import Figure

from relulab.core.share import Estimate, percent, percents
from relulab.lab.show.figure import BLUE, GOLD, GRAY, RED, house_style, legend, panels
from relulab.lab.show.parts import Fact, Grid, Line, Part
from relulab.lab.show.words import number
from relulab.subjects.specialization.tools.layer_pruning import PrunedLayers, SizeOfLayers
from relulab.subjects.specialization.tools.output_costs import Costs


def size_row(size: SizeOfLayers) -> dict[str, Any]:
    """Return a size and its costs for a document.

    Args:
        size: The size.
    """
    row = {"kept": size.kept, "widths": list(size.widths), "multiply_adds": size.multiply_adds}
    return row | cost_row(size.costs)


def cost_row(costs: Costs) -> dict[str, Any]:
    """Return costs for a document.

    Args:
        costs: The costs.
    """
    row = costs._asdict()
    return {name: value._asdict() if isinstance(value, Estimate) else value for name, value in row.items()}


def pruned_rows(pruned: PrunedLayers) -> dict[str, Any]:
    """Return the costs, the layers and the other sizes for a document.

    Args:
        pruned: Result of ``prune_layers``.
    """
    layers = [
        {"layer": layer, "nodes_of": pruned.makers.get(layer), "kept": pruned.kept.get(pruned.makers.get(layer, "")),
         "multiply_adds": before, "left": after, "why": pruned.whole.get(layer)}
        for layer, (before, after) in pruned.layers.items()
    ]  # fmt: skip
    return {
        "by": pruned.by, "size": size_row(pruned.size), "stages": list(pruned.kept), "layers": layers,
        "sizes": [size_row(size) for size in pruned.sizes],
    }  # fmt: skip


def layer_parts(document: dict[str, Any]) -> Iterator[Part]:
    """Yield the answer: the costs, the layers, and the other sizes.

    Args:
        document: The document of ``relulab prune --json`` for several layers.
    """
    size, whole, test = document["size"], document["sizes"][-1], f"{document['tested']:,} test points"
    yield Fact("nodes kept", f"{_chain(size['widths'])} of {_chain(whole['widths'])}")
    share = percent(size["multiply_adds"] / whole["multiply_adds"])
    yield Fact("multiply-adds", f"{size['multiply_adds']:,} of {whole['multiply_adds']:,} per point ({share})")
    yield from _costs(size, whole, test)
    if tuned := document["fine_tuned"]:
        trained = f"after {tuned['steps']:,} training steps on {tuned['targets']}" if tuned["steps"] else ""
        rewound = f"with the weights of {tuned['start']}" if tuned["start"] else ""
        text = ", ".join(filter(None, (rewound, trained)))
        yield Line(f"{text[0].upper()}{text[1:]}:")
        yield from _costs(tuned["costs"], whole, test)
    yield from _layers(document)
    yield from _sizes(document)


def _costs(row: dict[str, Any], whole: dict[str, Any], test: str) -> Iterator[Part]:
    yield Fact("share of variance lost", percents(_clipped(row["lost"])))
    if row["agree"]:
        yield Fact("predictions that stay the same", f"{percents(Estimate(**row['agree']))} of {test}")
    if row["accuracy"]:
        before = percents(Estimate(**whole["accuracy"]))
        yield Fact("accuracy", f"{percents(Estimate(**row['accuracy']))}, before {before}")
    if row["loss"]:
        yield Fact("cross-entropy", f"{_numbers(row['loss'])}, before {_numbers(whole['loss'])}")
    yield Fact("largest change of an output", f"{number(row['largest'])} at {test}")


def _layers(document: dict[str, Any]) -> Iterator[Part]:
    size, whole = document["size"], document["sizes"][-1]
    widths = dict(zip(document["stages"], zip(whole["widths"], size["widths"], strict=True), strict=True))
    rows = []
    for row in document["layers"]:
        nodes = [f"{n:,}" for n in widths.get(row["nodes_of"], ())] or ["–", "–"]
        rows.append((row["layer"], *nodes, f"{row['multiply_adds']:,}", f"{row['left']:,}"))
    columns = ("layer", "nodes", "kept", "multiply-adds", "left")
    yield Grid(columns, rows, frozenset({"layer"}))
    for row in document["layers"]:
        if row["why"]:
            yield Line(f"Layer {row['layer']} was not pruned: it {row['why']}.", "quiet")


def _sizes(document: dict[str, Any]) -> Iterator[Part]:
    """Yield a table of sizes, each with what it costs at the test points."""
    sizes, total = document["sizes"], document["sizes"][-1]["multiply_adds"]
    yield Line(f"Other sizes, at the {document['tested']:,} test points, which neither select nodes nor the size:")
    several, labeled = sizes[0]["agree"] is not None, sizes[0]["accuracy"] is not None
    rows = [
        (
            _chain(row["widths"]),
            percent(row["multiply_adds"] / total),
            percents(_clipped(row["lost"])) if row["lost"]["value"] <= 1 else "more than 100%",
            *((percents(Estimate(**row["agree"])),) if several and not labeled else ()),
            *((percents(Estimate(**row["accuracy"])),) if labeled else ()),
        )
        for row in reversed(sizes)
    ]
    last = ("accuracy",) if labeled else ("predictions that stay the same",) if several else ()
    yield Grid(("nodes", "multiply-adds", "variance lost", *last), rows, frozenset({"nodes"}))


def _chain(widths: list[int]) -> str:
    return "-".join(map(str, widths))


def _clipped(row: dict[str, float]) -> Estimate:
    return Estimate(*(min(1.0, row[name]) for name in ("value", "low", "high")))


def _numbers(row: dict[str, float]) -> str:
    return f"{number(row['value'])} [{number(row['low'])}, {number(row['high'])}]"


def layer_picture(pruned: PrunedLayers) -> Figure:
    """Plot what each size costs against the share of multiply-adds that is left, with 95% intervals.

    Args:
        pruned: Result of ``prune_layers``.
    """
    sizes, total = pruned.sizes, pruned.sizes[-1].multiply_adds
    share = [size.multiply_adds / total for size in sizes]
    labeled = sizes[0].costs.accuracy is not None
    several = sizes[0].costs.agree is not None
    with house_style():
        figure, axes = panels(1, 1 + (labeled or several), width=3.4, height=2.6)
        left = axes[0, 0]
        _band(left, share, [size.costs.lost for size in sizes], BLUE, "variance lost")
        left.set(yscale="log", ylabel="share of variance lost", ylim=(1e-6, 2))
        if labeled or several:
            right = axes[0, 1]
            if several:
                _band(right, share, [size.costs.agree for size in sizes], GOLD, "predictions that stay the same")
            if labeled:
                _band(right, share, [size.costs.accuracy for size in sizes], RED, "accuracy")
            right.set(ylabel="share of test points", ylim=(0, 1.02))
        for ax in axes[0]:
            ax.axvline(pruned.size.multiply_adds / total, color=GRAY, lw=0.8, label="pruned network")
            ax.set(xlim=(0, 1.02), xlabel="share of multiply-adds left")
        legend(figure, axes[0, -1], columns=1)
    return figure


def _band(ax: Any, x: list[float], estimates: list[Any], color: str, label: str) -> None:
    """Plot estimates with their intervals; those that are 0 are left out, since an axis may be logarithmic."""
    shown = [(at, e) for at, e in zip(x, estimates, strict=True) if e.value > 0]
    at = [x for x, _ in shown]
    ax.plot(at, [e.value for _, e in shown], ".-", color=color, label=label)
    ax.fill_between(at, [max(e.low, 1e-12) for _, e in shown], [e.high for _, e in shown], color=color, alpha=0.2, lw=0)
