"""What pruning found, as rows of a table and as a picture: which nodes share a hyperplane, and what each group adds."""

import torch
from matplotlib.figure import Figure
from torch import nn

from relulab.lab.show.figure import house_style, legend, panels
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.tools.nodes import lowest
from relulab.subjects.specialization.tools.pruning import Pruned


def group_rows(found: Pruned, teacher: nn.Module | None = None) -> list[dict]:
    """A row a group, the most important first: its nodes, ‖Σ v‖w‖‖, whether it stays, and the nearest teacher node."""
    groups, kept = found.groups, set(found.kept)
    strength = groups.a.norm(dim=1)
    near = alignment(lowest(teacher), groups.nodes).min(0) if teacher is not None else None
    rows = []
    order = [*found.kept, *(s for s in strength.argsort(descending=True).tolist() if s not in kept)]
    for s in order:
        row = {"nodes": (groups.of == s).nonzero()[:, 0].tolist(), "adds": float(strength[s]), "kept": s in kept}
        if near is not None:
            row |= {"teacher": int(near.indices[s]), "epsilon": float(near.values[s])}
        rows.append(row)
    return rows


def picture(found: Pruned) -> Figure:
    """The share of the output's variance that is lost against the number of nodes that are kept."""
    kept, lost = zip(*found.curve, strict=True)
    with house_style():
        figure, axes = panels(1, 1, width=3.6, height=2.6)
        ax = axes[0, 0]
        ax.plot(kept, torch.tensor(lost).clamp(min=1e-16), ".-", color="#30638e", label="groups kept, before a refit")
        ax.plot(len(found.kept), max(found.lost, 1e-16), "o", color="#d1495b", label="the network that is left")
        ax.set(xscale="log", yscale="log", xlabel="nodes kept", ylabel="share of the variance lost")
        legend(figure, ax, columns=1)
    return figure
