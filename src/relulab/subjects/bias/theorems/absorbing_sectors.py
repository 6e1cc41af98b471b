"""IB.L3, extremal sectors absorb (IB lemma 3).

On orthogonally separable data a neuron with a_j > 0 that has come into the positive extremal sector (eq. 13) stays in
it for ever, and one with a_j < 0 in the negative one (eq. 14): from then on its activations are fixed.

Checked along a gradient flow of the whole network, without the shortcut that builds on this lemma.
"""

import torch

from relulab.core.seeds import Role, stream
from relulab.data.labeled import Labeled
from relulab.lab.inputs.labeled_table import LabeledTable
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.bias.instruments.early_phase import Place, neuron_sectors
from relulab.subjects.bias.instruments.sectors import sector
from relulab.subjects.bias.tools.conditions import orthogonally_separable
from relulab.subjects.bias.tools.half_spaces import half_spaces
from relulab.subjects.bias.tools.neuron_flow import neuron_flow
from relulab.subjects.bias.tools.orthants import OppositeOrthants


def absorbing_sectors(
    data: Labeled,
    *,
    width: int = 50,
    seed: int = 0,
    size: float = 1e-4,
    until: float = 30.0,
    step: float = 0.1,
    everywhere: bool = False,
) -> Finding:
    """Follows a network to ℓ = e^(−until) and counts neurons that leave an extremal sector, or change in it.

    Args:
        data: Points, (n, d), with labels −1 and 1.
        width: Number of neurons.
        seed: Seed of the start.
        size: Norm of every w_j and size of every a_j at the start.
        until: −log ℓ at the end.
        step: The largest relative change of a weight, and the largest fall of log ℓ, in one step; above 0, at most 1.
        everywhere: A false variant of the statement, for the negative control: that every sector absorbs.

    >>> import numpy as np
    >>> data = OppositeOrthants(3).draw(np.random.default_rng(0), 6)
    >>> absorbing_sectors(data, width=6, until=3, step=0.8).verdict.name
    'HOLDS'
    """
    conditions = orthogonally_separable(data)
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    path = neuron_flow(data, width=width, seed=seed, size=size, until=until, step=step, shortcut=False)
    W, a = path["W"].contiguous(), path["a"]
    code = neuron_sectors(W, a, data.X, data.y).code  # look p
    inside = (code == Place.POSITIVE) | (code == Place.NEGATIVE)
    been = torch.ones_like(inside) if everywhere else inside.cummax(0).values
    active = sector(W, data.X) > 0  # look p n
    left = 0 if everywhere else int((been & ~inside).any(0).sum())
    changed = int(((active[1:] != active[:-1]).any(2) & been[:-1]).any(0).sum())
    return Finding(conditions, (
        Check("neurons that came into an extremal sector of their sign", int(been[-1].sum()), ">=", 1),
        Check(f"neurons that left it, over {len(path)} looks", left, "==", 0),
        Check("neurons whose activations changed in it", changed, "==", 0),
    ))  # fmt: skip


def _case(**options) -> Finding:
    return absorbing_sectors(OppositeOrthants(5).draw(stream(0, Role.DEMONSTRATION, 12), 30), **options)


THEOREM = Theorem(
    id="IB.L3",
    title="Extremal sectors absorb",
    statement="On orthogonally separable data a neuron with a_j > 0 in the positive extremal sector, or with a_j < 0 "
    "in the negative one, stays there: its activations are fixed from then on.",
    source="IB lemma 3",
    check=absorbing_sectors,
    on={LabeledTable: absorbing_sectors},
    variants=("everywhere",),
    demonstrations=(
        Demonstration("50 neurons, 30 points in R⁵ of the paper's construction", Verdict.HOLDS, _case),
        Demonstration(
            "data that are only linearly separable",
            Verdict.NOT_APPLICABLE,
            lambda: absorbing_sectors(half_spaces(12)),
        ),
        Demonstration("negative control: every sector absorbs", Verdict.REFUTED, lambda: _case(everywhere=True)),
    ),
)
