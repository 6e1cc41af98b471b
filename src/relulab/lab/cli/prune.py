"""The verb prune: a smaller network that does the same."""

from pathlib import Path
from typing import Annotated

import typer

from relulab.lab.cli.look import Json, print_json
from relulab.lab.cli.measure import Data, points


def prune(
    student: Annotated[Path, typer.Argument(help="A two-layer network: .safetensors, .npz, .pt or .pth.")],
    data: Data,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where the smaller one goes: .safetensors.")] = None,
    teacher: Annotated[Path | None, typer.Option("--teacher", help="Nodes that follow its nodes stay first.")] = None,
    epsilon: Annotated[float, typer.Option(help="Nodes aligned up to this are merged.")] = 1e-6,
    keep: Annotated[int | None, typer.Option(help="How many nodes to keep, instead of --tolerance.")] = None,
    tolerance: Annotated[float, typer.Option(help="Share of the output's variance that may be lost.")] = 1e-12,
    refit: Annotated[bool, typer.Option(help="Fit the top weights of what is left.")] = False,
    json_: Json = False,
) -> None:
    """Merge hidden nodes that share a hyperplane, drop those that add nothing, and say what that changes."""
    from relulab.errors import UserError
    from relulab.nets.files import load, save
    from relulab.specialization import pruning

    if out and (out.suffix != ".safetensors" or not out.parent.is_dir()):
        raise UserError(f"{out}: a .safetensors file in a folder that is there")
    net = load(student)
    found = pruning.prune(
        net, points(data, net), epsilon=epsilon, keep=keep, tolerance=tolerance, refit=refit,
        teacher=load(teacher) if teacher else None,
    )  # fmt: skip
    document = {
        "student": str(student), "data": str(data), "nodes": net.widths[1], "groups": len(found.groups),
        "kept": found.net.widths[1], "lost": found.lost, "largest": found.largest, "bound": found.bound,
        "curve": [{"kept": n, "lost": lost} for n, lost in found.curve], "out": str(out) if out else None,
    }  # fmt: skip
    if out:
        save(found.net.to(net.dtype), out)
    if json_:
        return print_json(document)
    from relulab.lab.cli.tables import print_pruned

    print_pruned(document)
