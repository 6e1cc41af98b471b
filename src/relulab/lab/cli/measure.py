"""The verb measure: instruments on networks and data in files."""

from pathlib import Path
from typing import Annotated

import typer

from relulab.lab.cli.look import Json, print_json

app = typer.Typer(
    help="Measure networks of your own, from files: safetensors, npz, PyTorch state dicts, exported programs (.pt2).",
    no_args_is_help=True,
)
Network = Annotated[Path, typer.Argument(help="A network: .safetensors, .npz, .pt, .pth or .pt2.")]
Data = Annotated[Path, typer.Option("--data", "-d", help="Points: .npy, .npz or .safetensors, one a row.")]
Slope = Annotated[float | None, typer.Option("--slope", help="Of leaky ReLUs, which files of weights do not tell.")]


@app.command()
def correlation(
    a: Network,
    b: Network,
    data: Data,
    slope: Slope = None,
    threshold: Annotated[float, typer.Option(help="Correlation from which a node counts as recovered.")] = 0.95,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="All correlations: .nc, .csv, or a picture .png, .svg, .pdf.")
    ] = None,
    json_: Json = False,
) -> None:
    """Which unit of B follows which unit of A, layer by layer: normalised correlations of their activations."""
    from relulab.core.errors import UserError
    from relulab.io.network import load
    from relulab.lab.run.store import check_place
    from relulab.subjects.specialization.instruments.correlation import layer_correlations
    from relulab.subjects.specialization.measurements.matches import ENDINGS, matches, write

    if out:
        check_place(out, ENDINGS)
    nets = [load(path, slope=slope).double() for path in (a, b)]
    rho = layer_correlations(*nets, points(data, *nets))
    if not rho:
        raise UserError(f"{a} and {b} have no hidden layer: there are no units to compare")
    document = {"a": str(a), "b": str(b), "data": str(data), "threshold": threshold, "layers": matches(rho, threshold)}
    if out:
        write(rho, out)
        document["out"] = str(out)
    if json_:
        return print_json(document)
    from relulab.lab.cli.measured import print_matches

    print_matches(document)


@app.command()
def alignment(
    teacher: Network,
    student: Network,
    data: Data,
    slope: Slope = None,
    band: Annotated[float, typer.Option(help="Distance from a boundary within which points are counted.")] = 0.1,
    json_: Json = False,
) -> None:
    """Which student's hyperplane lies on which teacher node's, how closely, and who observes it: two layers."""
    from relulab.io.network import load
    from relulab.subjects.specialization.measurements.pair_report import pair_rows

    nets = [load(path, slope=slope) for path in (teacher, student)]
    found = pair_rows(*nets, points(data, *nets), band)
    document = {"teacher": str(teacher), "student": str(student), "data": str(data), **found}
    if json_:
        return print_json(document)
    from relulab.lab.cli.measured import print_pair

    print_pair(document)


@app.command("gradient-rule")
def gradient_rule(teacher: Network, student: Network, data: Data, slope: Slope = None, json_: Json = False) -> None:
    """The gradient of every layer by SS.L1 and by back-propagation: their gap, and how large the gradient is."""
    from relulab.io.network import load
    from relulab.subjects.specialization.theorems.gradient_rule import gradient_rule, gradient_sizes

    nets = [load(path, slope=slope) for path in (teacher, student)]
    x = points(data, *nets)
    finding = gradient_rule(*nets, x)
    document = {"teacher": str(teacher), "student": str(student), "data": str(data), **finding.to_dict()}
    if finding.conclusion:
        document["gradients"] = gradient_sizes(*nets, x)
    print_finding(document, json_)


def points(path: Path, *nets):
    """The points of a file, in rows where a fully connected network is to take them."""
    from relulab.core.errors import UserError
    from relulab.io.points import read_points
    from relulab.nets.mlp import MLP

    x = read_points(path)
    if x.dim() > 2 and any(isinstance(net, MLP) for net in nets):
        raise UserError(
            f"{path}: pictures of shape {tuple(x.shape)} for a fully connected network; (points, inputs) do"
        )
    return x


def print_finding(document: dict, json_: bool) -> None:
    """A finding on files; only HOLDS ends with 0."""
    if json_:
        print_json(document)
    else:
        from relulab.lab.cli.measured import print_finding

        print_finding(document)
    raise typer.Exit(0 if document["verdict"] == "HOLDS" else 1)
