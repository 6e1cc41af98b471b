"""The history of a training: when each teacher node was recovered, by which student, and who shifted focus (S0 5.3)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.lab.instrument import instrument
from relulab.lab.show.figure import BLUE, house_style, panels
from relulab.subjects.specialization.instruments.correlation import layer_correlations
from relulab.subjects.specialization.instruments.fan_out import fan_out


@instrument(source="S0 section 5.3", ids=("S0.F6", "S0.F7"))
def recovered_at(rho: Float[Tensor, "*lane t m n"], threshold: float = 0.95) -> Int[Tensor, "*lane m"]:
    """The first of t looks at which a teacher node has a student above the threshold; −1 if it never has.

    Args:
        rho: Correlations of m teacher and n student nodes at t looks, (…, t, m, n).
        threshold: Correlation above which a node counts as recovered.

    >>> recovered_at(torch.tensor([[[0.1, 0.2]], [[0.97, 0.3]], [[0.5, 0.99]]])).tolist()
    [1]
    """
    above = rho.amax(-1) > threshold
    return torch.where(above.any(-2), above.int().argmax(-2), -1)


@instrument(source="S0 section 5.3", ids=("S0.F6",))
def focus(rho: Float[Tensor, "*lane t m n"], threshold: float = 0.5) -> Int[Tensor, "*lane t n"]:
    """The teacher node that a student follows best at each look; −1 where no correlation is above the threshold.

    Args:
        rho: Correlations of m teacher and n student nodes at t looks, (…, t, m, n).
        threshold: Correlation above which a student counts as following a node.

    >>> focus(torch.tensor([[[0.9, 0.2], [0.1, 0.4]]])).tolist()
    [[0, -1]]
    """
    best, node = rho.max(-2)
    return torch.where(best > threshold, node, -1)


@instrument(source="S0 section 5.3", ids=("S0.F6",))
def focus_shifts(rho: Float[Tensor, "*lane t m n"], threshold: float = 0.5) -> Int[Tensor, "*lane n"]:
    """How often a student left one teacher node for another; looks at which it follows none are passed over.

    Args:
        rho: Correlations of m teacher and n student nodes at t looks, (…, t, m, n).
        threshold: Correlation above which a student counts as following a node.

    >>> focus_shifts(torch.tensor([[[0.9], [0.0]], [[0.3], [0.2]], [[0.1], [0.8]]])).tolist()
    [1]
    """
    node = focus(rho, threshold)
    looks = torch.arange(node.shape[-2], device=node.device).reshape(-1, 1)
    # the last look at which it followed one: where it follows none, what it followed then still counts
    last = torch.where(node >= 0, looks, -1).cummax(-2).values
    held = node.gather(-2, last.clamp(min=0)).where(last >= 0, -1)
    before, after = held[..., :-1, :], held[..., 1:, :]
    return ((before != after) & (before >= 0)).sum(-2)


@dataclass(frozen=True)
class History:
    """Of one hidden layer: correlations over the looks and each teacher node's strength, None where it is unknown."""

    layer: str
    rho: Float[Tensor, "t m n"]
    strength: Float[Tensor, " m"] | None

    def rows(self, threshold: float = 0.95) -> list[dict]:
        """A row a teacher node, the strongest first: strength, look of recovery, the student that has it in the end."""
        when, (best, student) = recovered_at(self.rho, threshold), self.rho[-1].max(-1)
        order = range(len(when)) if self.strength is None else self.strength.argsort(descending=True).tolist()
        return [
            {
                "node": j,
                "strength": None if self.strength is None else float(self.strength[j]),
                "recovered_at": int(when[j]) if when[j] >= 0 else None,
                "student": int(student[j]),
                "rho": float(best[j]),
                "followers": int((self.rho[-1, j] > threshold).sum()),
            }
            for j in order
        ]


def history(teacher: nn.Module, checkpoints: Sequence[nn.Module], x: Float[Tensor, "N d"]) -> list[History]:
    """What checkpoints of a student, in the order of training, have of each hidden layer of a teacher.

    Strength is the fan-out ‖v*_j‖: of the weights that read a unit, where those are of a Linear layer.

    Args:
        teacher: An ``MLP``, or any module with ReLU modules in it.
        checkpoints: Networks of one student, in the order of training; at least one.
        x: Points, (N, d).

    Returns:
        One ``History`` per hidden layer.

    >>> from relulab.nets.initial import torch_default
    >>> before, after = (torch_default((3, 4, 2), seeds=[seed]) for seed in (0, 1))
    >>> (found,) = history(after, [before, after], torch.cat([torch.eye(3), -torch.eye(3)]))
    >>> found.layer, tuple(found.rho.shape)
    ('1', (2, 4, 4))
    """
    if not checkpoints:
        raise UserError("no checkpoints: at least one network of the student was expected")
    looks = [list(layer_correlations(teacher, student, x).items()) for student in checkpoints]
    shapes = {tuple(tuple(rho.shape[-2:]) for _, rho in look) for look in looks}
    if len(shapes) > 1 or any(rho.dim() == 3 and len(rho) > 1 for look in looks for _, rho in look):
        raise UserError("checkpoints of one student were expected; these have different shapes or many lanes")
    try:
        strengths = [s.reshape(-1) for s in fan_out(teacher, x).values()]
    except UserError:  # no Linear layer reads its units
        strengths = []
    found = []
    for l, parts in enumerate(zip(*looks, strict=True)):
        rho = torch.stack([matrix.reshape(matrix.shape[-2:]) for _, matrix in parts])
        known = len(strengths) == len(looks[0])
        found.append(History(parts[-1][0], rho.double(), strengths[l].double() if known else None))
    return found


def picture(found: Sequence[History], names: Sequence[str]) -> Figure:
    """A panel a layer: the best correlation of every teacher node over the checkpoints, strong nodes dark."""
    with house_style():
        figure, axes = panels(1, len(found), width=3.2, height=2.6, sharey=True)
        for ax, one in zip(axes[0], found, strict=True):
            rows = one.rows()
            for place, row in enumerate(reversed(rows)):
                shade = 0.15 + 0.75 * (place + 1) / len(rows)
                ax.plot(range(len(names)), one.rho[:, row["node"]].amax(-1), color=BLUE, alpha=shade, lw=1)
            ax.set(title=f"layer {one.layer}", xlabel="checkpoint", ylim=(-0.02, 1.02))
        axes[0, 0].set_ylabel("correlation of the best student")
    return figure
