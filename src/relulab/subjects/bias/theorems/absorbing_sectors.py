"""IB.L3: neurons do not leave extremal sectors (IB lemma 3).

On orthogonally separable data, a neuron with a_j > 0 that has entered the positive extremal sector (eq. 13) stays in
it, and so does a neuron with a_j < 0 in the negative extremal sector (eq. 14). From then on its activations are fixed.

The lemma is checked along a gradient flow of the complete network, without the shortcut that relies on this lemma.
"""

import math

import torch

from relulab.core.seeds import Role, stream
from relulab.data.labeled import Labeled
from relulab.flow.margin_losses import AnyLoss, followed
from relulab.lab.inputs.labeled_table import LabeledTable
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.bias.instruments.early_phase import Place, neuron_sectors
from relulab.subjects.bias.instruments.sectors import sector
from relulab.subjects.bias.terms import MARGIN
from relulab.subjects.bias.tools.conditions import orthogonally_separable
from relulab.subjects.bias.tools.half_spaces import half_spaces
from relulab.subjects.bias.tools.loss_conditions import steady_pull
from relulab.subjects.bias.tools.neuron_flow import neuron_flow
from relulab.subjects.bias.tools.orthants import OppositeOrthants

MOVED = 0.01  # least change of W, relative to ‖W‖ at the start, of a path that shows something


def absorbing_sectors(
    data: Labeled,
    *,
    width: int = 50,
    seed: int = 0,
    size: float = 1e-4,
    until: float = 30.0,
    step: float = 0.1,
    loss: AnyLoss = "logistic",
    everywhere: bool = False,
) -> Finding:
    """Follow a network to ℓ = e^{−until} and count the neurons that leave an extremal sector or change inside it.

    Args:
        data: Points, (n, d), with labels −1 and 1.
        width: Number of neurons.
        seed: Seed of the start.
        size: ‖w_j‖ = |a_j| of every neuron at the start.
        until: −log ℓ at the end.
        step: Largest fall of log ℓ in one step, in (0, 1]; weights change by at most an eighth of it.
        loss: Loss of the margins y_i f(x_i): ``logistic``, ``sigmoid``, ``capped-exponential`` and ``rational`` satisfy
            the conditions, ``exponential``, ``squared`` and ``hinge`` do not.
        everywhere: False variant for the negative control: no neuron leaves any sector.

    >>> import numpy as np
    >>> data = OppositeOrthants(3).draw(np.random.default_rng(0), 6)
    >>> absorbing_sectors(data, width=6, until=3, step=0.8).verdict.name
    'HOLDS'
    """
    conditions = (*orthogonally_separable(data), steady_pull(loss))
    if not all(c.holds for c in conditions[:-1]) or not followed(loss):
        return Finding(conditions, ())
    path = neuron_flow(data, width=width, seed=seed, size=size, until=until, step=step, loss=loss, shortcut=False)
    W, a = path["W"].contiguous(), path["a"]
    code = neuron_sectors(W, a, data.X, data.y).code  # snapshot p
    inside = (code == Place.POSITIVE) | (code == Place.NEGATIVE)
    entered = torch.ones_like(inside) if everywhere else inside.cummax(0).values
    active = sector(W, data.X) > 0  # snapshot p n
    # A neuron that enters in the last snapshot, or a path that does not go on, shows nothing.
    moved = float((W[-1] - W[0]).norm() / W[0].norm())
    count = int(entered[:-1].any(0).sum()) if moved > MOVED else 0
    left = 0 if everywhere else int((entered & ~inside).any(0).sum())
    changed = int(((active[1:] != active[:-1]).any(2) & entered[:-1]).any(0).sum())
    return Finding(conditions, (
        Check(f"Some neurons enter {'a sector' if everywhere else 'the extremal sector of their sign'}",
              count or math.nan, ">=", 1,
              detail=f"{count:,} of {code.shape[1]:,} neurons do, and the weights change by {moved:.2g} of their size"),
        Check("None of these neurons leaves its sector", left, "==", 0,
              detail=f"{left:,} of {count:,} neurons do, in {len(path):,} snapshots"),
        Check("From then on, these neurons stay active on the same points", changed, "==", 0,
              detail=f"{changed:,} of {count:,} neurons change" if changed else f"all {count:,} neurons do"),
    ))  # fmt: skip


def _case(**options) -> Finding:
    return absorbing_sectors(OppositeOrthants(5).draw(stream(0, Role.DEMONSTRATION, 12), 30), **options)


THEOREM = Theorem(
    id="IB.L3",
    title="Neurons do not leave extremal sectors",
    statement="Let the data be orthogonally separable. A neuron with a_j > 0 that is in the positive extremal sector "
    "at some time stays in it from then on, and a neuron with a_j < 0 stays in the negative extremal sector. The "
    "points on which it is active no longer change.",
    symbols={
        "a_j": "output weight of neuron j",
        **MARGIN,
    },
    source="IB lemma 3",
    check=absorbing_sectors,
    on={LabeledTable: absorbing_sectors},
    variants=("everywhere",),
    demonstrations=(
        Demonstration("50 neurons, 30 points in R⁵ drawn as in the paper", Verdict.HOLDS, _case),
        Demonstration(
            "Data that are only linearly separable",
            Verdict.NOT_APPLICABLE,
            lambda: absorbing_sectors(half_spaces(12)),
        ),
        Demonstration(
            "The hinge loss, which does not pull points with large margins",
            Verdict.NOT_APPLICABLE,
            lambda: _case(loss="hinge"),
        ),
        Demonstration(
            "Negative control: neurons leave no sector at all", Verdict.REFUTED, lambda: _case(everywhere=True)
        ),
    ),
)
