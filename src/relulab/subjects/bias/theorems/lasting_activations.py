"""IB.LB1: a neuron stays active on the points of its own class (IB lemma B.1).

On orthogonally separable data, let a neuron with a_j > 0 be active on a positive point x_k at some time: w_jᵀx_k > 0.
Then it is active on x_k at all later times. The same holds for a_j < 0 and negative points. The reason is eq. 68: every
term of the derivative of w_jᵀx_k is at least 0, whichever points the neuron is active on.

The lemma decides which neurons survive: one that is active on a single point of its own class at the start can never
turn off. It is checked along a gradient flow of the complete network, without the shortcut for fixed activations.
"""

import math

import torch
from torch import nn

from relulab.core.seeds import Role, stream
from relulab.data.labeled import Labeled
from relulab.flow.margin_losses import AnyLoss, followed
from relulab.lab.inputs.labeled_table import TableAndStart
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.nets.initial import balanced, torch_default
from relulab.subjects.bias.instruments.sectors import sector
from relulab.subjects.bias.terms import MARGIN
from relulab.subjects.bias.tools.conditions import balanced as balanced_at
from relulab.subjects.bias.tools.conditions import orthogonally_separable
from relulab.subjects.bias.tools.half_spaces import half_spaces
from relulab.subjects.bias.tools.loss_conditions import steady_pull
from relulab.subjects.bias.tools.neuron_flow import neuron_flow
from relulab.subjects.bias.tools.orthants import OppositeOrthants
from relulab.subjects.bias.tools.trained_network import looked_at, plain

MOVED = 0.01  # least change of W, relative to ‖W‖ at the start, of a path that shows something


def lasting_activations(
    data: Labeled,
    start: nn.Module | None = None,
    *,
    width: int = 50,
    seed: int = 0,
    size: float = 1e-4,
    until: float = 5.0,
    step: float = 0.2,
    loss: AnyLoss = "logistic",
    other: bool = False,
) -> Finding:
    """Follow a network to ℓ = e^{−until} and count the activations on points of the own class that are lost.

    Args:
        data: Points, (n, d), with labels −1 and 1.
        start: Network to start from: two layers, one output, no biases. Default: a random balanced network.
        width: Number of neurons of the balanced network.
        seed: Seed of the balanced network.
        size: ‖w_j‖ = |a_j| of every neuron of the balanced network, divided by √(max_i ‖x_i‖), so that outputs do not
            depend on the scale of the points.
        until: −log ℓ at the end.
        step: Largest fall of log ℓ in one step, in (0, 1]; weights change by at most an eighth of it.
        loss: Loss of the margins y_i f(x_i): ``logistic``, ``sigmoid``, ``capped-exponential`` and ``rational`` satisfy
            the conditions, ``exponential``, ``squared`` and ``hinge`` do not.
        other: False variant for the negative control: neurons stay active on the points of the other class.

    >>> import numpy as np
    >>> data = OppositeOrthants(3).draw(np.random.default_rng(0), 6)
    >>> lasting_activations(data, width=6, until=3, step=0.8).verdict.name
    'HOLDS'
    """
    dtype = torch.float64 if start is None else next((p.dtype for p in start.parameters()), torch.float64)
    if start is None:
        scale = float(data.X.norm(dim=1).max()) or 1.0
        net = balanced((data.X.shape[1], width, 1), [seed], size=size / scale**0.5)
    else:
        net = plain(start, data)
    conditions = (*orthogonally_separable(data), balanced_at(looked_at(net, data), dtype), steady_pull(loss))
    if not all(c.holds for c in conditions[:-1]) or not followed(loss):
        return Finding(conditions, ())
    path = neuron_flow(data, start=net, until=until, step=step, loss=loss, shortcut=False)
    W, a = path["W"].contiguous(), path["a"]
    own = a[0].sign()[:, None] * data.y > 0  # p n
    pairs = (~own if other else own) & (a[0] != 0)[:, None]
    active = (sector(W, data.X) > 0) & pairs  # snapshot p n
    # An activation in the last snapshot only, or a path that does not go on, shows nothing.
    moved = float((W[-1] - W[0]).norm() / W[0].norm())
    count = int(active[:-1].any(0).sum()) if moved > MOVED else 0
    lost = int((active.cummax(0).values & ~active).any(0).sum())
    which = "the other" if other else "their own"
    return Finding(conditions, (
        Check(f"Some neurons are active on points of {which} class", count or math.nan, ">=", 1,
              detail=f"{count:,} of {int(pairs.sum()):,} pairs of a neuron and such a point are active at some time, "
              f"and the weights change by {moved:.2g} of their size"),
        Check("These neurons stay active on these points", lost if count else math.nan, "==", 0,
              detail=f"{lost:,} of {count:,} pairs do not, in {len(path):,} snapshots" if lost
              else f"all {count:,} pairs do, in {len(path):,} snapshots"),
    ))  # fmt: skip


def _data() -> Labeled:
    return OppositeOrthants(5).draw(stream(0, Role.DEMONSTRATION, 14), 30)


THEOREM = Theorem(
    id="IB.LB1",
    title="Neurons stay active on points of their own class",
    statement="Let the data be orthogonally separable. A neuron with a_j > 0 that is active on a positive point at "
    "some time stays active on this point from then on, and a neuron with a_j < 0 stays active on negative points.",
    symbols={
        "a_j": "output weight of neuron j",
        **MARGIN,
        "w_j": "input weights of neuron j",
    },
    source="IB lemma B.1, eq. 68",
    check=lasting_activations,
    on={TableAndStart: lasting_activations},
    variants=("other",),
    demonstrations=(
        Demonstration("20 neurons, 30 points in R⁵", Verdict.HOLDS, lambda: lasting_activations(_data(), width=20)),
        Demonstration(
            "Data that are only linearly separable",
            Verdict.NOT_APPLICABLE,
            lambda: lasting_activations(half_spaces(14)),
        ),
        Demonstration(
            "A start that is not balanced",
            Verdict.NOT_APPLICABLE,
            lambda: lasting_activations(_data(), start=torch_default((5, 20, 1), [0], bias=False, dtype=torch.float64)),
        ),
        Demonstration(
            "Negative control: neurons stay active on points of the other class",
            Verdict.REFUTED,
            lambda: lasting_activations(_data(), width=20, other=True),
        ),
    ),
)
