"""The history of a training run: when each teacher node was recovered, and by which student (S0 section 5.3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.short_repr import counted
from relulab.lab.instrument import instrument
from relulab.lab.show.figure import BLUE, headline, house_style, panels
from relulab.subjects.specialization.instruments.correlation import known, layer_correlations
from relulab.subjects.specialization.instruments.fan_out import fan_out


@instrument(source="S0 section 5.3", ids=("S0.F6", "S0.F7"))
def recovered_at(rho: Float[Tensor, "*lane t m n"], threshold: float = 0.95) -> Int[Tensor, "*lane m"]:
    """The index of the first of t snapshots at which each teacher node is recovered; −1 if it never is.

    Correlations that are NaN count as not recovered, and there is a warning, ``relulab.Diverged``.

    Args:
        rho: Correlations of m teacher and n student nodes at t snapshots, (…, t, m, n).
        threshold: Correlation above which a node counts as recovered.

    >>> recovered_at(torch.tensor([[[0.1, 0.2]], [[0.97, 0.3]], [[0.5, 0.99]]])).tolist()
    [1]
    """
    above = known(rho).amax(-1) > threshold
    return torch.where(above.any(-2), above.int().argmax(-2), -1)


@instrument(source="S0 section 5.3", ids=("S0.F6",))
def focus(rho: Float[Tensor, "*lane t m n"], threshold: float = 0.5) -> Int[Tensor, "*lane t n"]:
    """The teacher node that each student follows best at each snapshot; −1 if no correlation exceeds the threshold.

    Correlations that are NaN do not exceed it, and there is a warning, ``relulab.Diverged``.

    Args:
        rho: Correlations of m teacher and n student nodes at t snapshots, (…, t, m, n).
        threshold: Correlation above which a student counts as following a node.

    >>> focus(torch.tensor([[[0.9, 0.2], [0.1, 0.4]]])).tolist()
    [[0, -1]]
    """
    best, node = known(rho).max(-2)
    return torch.where(best > threshold, node, -1)


@instrument(source="S0 section 5.3", ids=("S0.F6",))
def focus_shifts(rho: Float[Tensor, "*lane t m n"], threshold: float = 0.5) -> Int[Tensor, "*lane n"]:
    """The number of times that each student left one teacher node for another.

    Snapshots at which a student follows no node are skipped.

    Args:
        rho: Correlations of m teacher and n student nodes at t snapshots, (…, t, m, n).
        threshold: Correlation above which a student counts as following a node.

    >>> focus_shifts(torch.tensor([[[0.9], [0.0]], [[0.3], [0.2]], [[0.1], [0.8]]])).tolist()
    [1]
    """
    node = focus(rho, threshold)
    snapshots = torch.arange(node.shape[-2], device=node.device).reshape(-1, 1)
    # The latest snapshot so far at which the student followed a node; that node counts until it follows another.
    last = torch.where(node >= 0, snapshots, -1).cummax(-2).values
    latest = node.gather(-2, last.clamp(min=0)).where(last >= 0, -1)
    before, after = latest[..., :-1, :], latest[..., 1:, :]
    return ((before != after) & (before >= 0)).sum(-2)


@dataclass(frozen=True)
class History:
    """The history of one hidden layer.

    Attributes:
        layer: Name of the layer.
        rho: Correlations of m teacher and n student nodes at t snapshots, (t, m, n).
        strength: Strength of each teacher node, (m,), or None if unknown.
    """

    layer: str
    rho: Float[Tensor, "t m n"]
    strength: Float[Tensor, " m"] | None

    def __repr__(self) -> str:
        t, m, n = self.rho.shape
        found = int((recovered_at(self.rho) >= 0).sum()) if t else 0
        return (
            f"History(layer {self.layer}: {counted(t, 'snapshot')}, {counted(m, 'teacher node')}, "
            f"{counted(n, 'student node')}, {found} recovered)"
        )

    def rows(self, threshold: float = 0.95) -> list[dict]:
        """Return one row per teacher node, the strongest first.

        Args:
            threshold: Correlation above which a node counts as recovered.

        Returns:
            Rows with the ``node``, its ``strength``, the first snapshot ``recovered_at`` which it was recovered (or
            None), and at the last snapshot whether it is ``recovered``, its best ``student``, their correlation ``rho``
            and the number of ``followers``. If it was recovered earlier but is not at the end, ``lost_at`` is the
            snapshot after the last one at which it was recovered; otherwise it is None.
        """
        when, (best, student) = recovered_at(self.rho, threshold), self.rho[-1].max(-1)
        after = len(self.rho) - recovered_at(self.rho.flip(0), threshold)  # one more than the last time
        order = range(len(when)) if self.strength is None else self.strength.argsort(descending=True).tolist()
        return [
            {
                "node": j,
                "strength": None if self.strength is None else float(self.strength[j]),
                "recovered_at": int(when[j]) if when[j] >= 0 else None,
                "recovered": bool(best[j] > threshold),
                "lost_at": int(after[j]) if when[j] >= 0 and not best[j] > threshold else None,
                "student": int(student[j]),
                "rho": float(best[j]),
                "followers": int((self.rho[-1, j] > threshold).sum()),
            }
            for j in order
        ]


def history(teacher: nn.Module, checkpoints: Sequence[nn.Module], x: Float[Tensor, "N d"]) -> list[History]:
    """Compare checkpoints of a student with its teacher, layer by layer.

    The strength of a teacher node is its fan-out ‖v*_j‖; it is known only where a Linear layer follows the ReLU.

    Args:
        teacher: An ``MLP``, or any module with ReLU modules.
        checkpoints: Checkpoints of a single student in the order of training, at least one.
        x: Points, (N, d).

    Returns:
        One ``History`` per hidden layer.

    >>> from relulab.nets.initial import torch_default
    >>> before, after = (torch_default((3, 4, 2), seeds=[seed]) for seed in (0, 1))
    >>> (layer,) = history(after, [before, after], torch.cat([torch.eye(3), -torch.eye(3)]))
    >>> layer.layer, tuple(layer.rho.shape)
    ('1', (2, 4, 4))
    """
    if not checkpoints:
        raise UserError("expected at least one checkpoint of the student, got none: pass a list of networks")
    snapshots = [list(layer_correlations(teacher, student, x).items()) for student in checkpoints]
    shapes = {tuple(tuple(rho.shape[-2:]) for _, rho in snapshot) for snapshot in snapshots}
    if len(shapes) > 1:
        raise UserError(
            f"expected checkpoints of a single student, got {len(shapes)} different shapes: compare each alone"
        )
    if any(rho.dim() == 3 and len(rho) > 1 for snapshot in snapshots for _, rho in snapshot):
        raise UserError("expected single networks, got one with several lanes: select a lane with .lane(i)")
    try:
        strengths = [s.reshape(-1) for s in fan_out(teacher, x).values()]
    except UserError:  # no Linear layer takes the output of a ReLU
        strengths = []
    known = len(strengths) == len(snapshots[0])
    layers = []
    for l, matrices in enumerate(zip(*snapshots, strict=True)):
        rho = torch.stack([matrix.reshape(matrix.shape[-2:]) for _, matrix in matrices])
        layers.append(History(matrices[-1][0], rho.double(), strengths[l].double() if known else None))
    return layers


def picture(layers: Sequence[History], names: Sequence[str]) -> Figure:
    """Plot the best correlation of every teacher node over the checkpoints, one panel per layer, strong nodes dark.

    Args:
        layers: Result of ``history``.
        names: Names of the checkpoints.
    """
    with house_style():
        figure, axes = panels(1, len(layers), width=3.2, height=2.6, sharey=True)
        for ax, layer in zip(axes[0], layers, strict=True):
            rows = layer.rows()
            for rank, row in enumerate(reversed(rows)):
                opacity = 0.15 + 0.75 * (rank + 1) / len(rows)
                ax.plot(range(len(names)), layer.rho[:, row["node"]].amax(-1), color=BLUE, alpha=opacity, lw=1)
            shown = sorted({round(i) for i in np.linspace(0, len(names) - 1, min(len(names), 6))})
            ax.set_xticks(shown, [Path(names[i]).stem for i in shown], rotation=30, ha="right")
            ax.set(title=f"layer {layer.layer}", xlabel="checkpoint", ylim=(-0.02, 1.02))
        axes[0, 0].set_ylabel("correlation of the best student")
        headline(figure, "One line per teacher node, dark for strong nodes")
    return figure
