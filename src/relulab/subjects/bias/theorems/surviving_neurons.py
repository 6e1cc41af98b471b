r"""IB.T1.start: with probability at least 1 − 2^{−p}, some neuron of a random start survives (IB proof of theorem 1).

Theorem 1 says nothing of a network in which every neuron turns off. Let x₊ be a positive and x₋ a negative point. A
neuron with a_j > 0 and w_jᵀx₊ > 0 at the start never turns off, nor does one with a_j < 0 and w_jᵀx₋ > 0 (lemma B.1).
Since w_j points in a uniformly random direction, each neuron turns off with probability at most 1/2, and since neurons
are independent, all p of them do with probability at most 2^{−p}. The bound is attained with one point per class at a
right angle. At an obtuse angle, or with more points, neurons survive more often.

Many random starts are followed by gradient flow until every neuron is either off or in the extremal sector of its sign,
where it stays (IB.L3). The share of starts in which all neurons are off is compared with 2^{−p} by its exact interval
(Clopper and Pearson). All intervals together hold with a confidence of 99%.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.ranges import at_least
from relulab.core.seeds import Role, stream
from relulab.core.share import clopper_pearson
from relulab.core.threads import one_thread
from relulab.data.labeled import Labeled
from relulab.flow.on_log_loss import Clock, follow
from relulab.flow.two_layer_flow import Neurons, TwoLayer
from relulab.lab.inputs.labeled_table import LabeledTable
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.bias.instruments.early_phase import Place, neuron_sectors
from relulab.subjects.bias.tools.conditions import orthogonally_separable
from relulab.subjects.bias.tools.half_spaces import half_spaces
from relulab.subjects.bias.tools.orthants import OppositeOrthants

ERROR = 0.01  # probability that the share is outside of its interval for some width
SIZE = 1e-6  # ‖w_j‖ = |a_j| at the start, divided by √(max_i ‖x_i‖)
ON_KINK = 1e-6  # largest cosine that counts as 0 where a neuron slides along a kink: steps stop just beside it
STEPS = 400  # largest number of steps until every neuron is decided


def surviving_neurons(
    data: Labeled, *, widths: Sequence[int] = (1, 2, 3, 4), starts: int = 2000, seed: int = 0, copies: bool = False
) -> Finding:
    """Count the random starts in which every neuron turns off, for several widths p.

    Args:
        data: Points, (n, d), with labels −1 and 1.
        widths: Numbers of neurons p.
        starts: Number of random starts for each width.
        seed: Seed of the starts.
        copies: False variant for the negative control: all neurons of a start are copies of one neuron, so that they
            are not independent.

    >>> data = OppositeOrthants(3).draw(stream(0, Role.DEMONSTRATION, 19), 12)
    >>> surviving_neurons(data, widths=(1,), starts=100).verdict.name
    'HOLDS'
    """
    at_least(1, starts=starts)
    if not len(widths) or min(widths) < 1:
        raise UserError(f"expected at least one width, and widths from 1, got {tuple(widths)}: change them")
    conditions = orthogonally_separable(data)
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    X, y = data.X.double() / data.X.norm(dim=1).max(), data.y.double()
    checks = []
    for p in widths:
        off, unknown = all_off(X, y, p, starts, seed, copies)
        # A start that is not decided may belong to either side.
        (low, _), (_, high) = (
            clopper_pearson(k, starts, confidence=1 - ERROR / len(widths)) for k in (off, off + unknown)
        )
        share, bound = off / starts, 2.0**-p
        detail = (
            f"all are off in {off:,} of {starts:,} starts, with an interval from {float(low):.3g} to "
            f"{float(high):.3g}; must be at most {bound:.3g}"
            + (f"; {unknown:,} starts are undecided" if unknown else "")
        )
        error = max(float(high) - share, 0.0) if share <= bound else max(share - float(low), 0.0)
        says = f"All neurons turn off with probability at most 2^{{−p}} for width p = {p}"
        checks.append(Check(says, share, "<=", bound, error, detail=detail))
    return Finding(conditions, tuple(checks))


@one_thread()
@torch.no_grad()
def all_off(
    X: Float64[Tensor, "n d"], y: Float64[Tensor, " n"], p: int, starts: int, seed: int, copies: bool = False
) -> tuple[int, int]:
    """Follow random starts; return how many end with every neuron off, and how many are not decided.

    Args:
        X: Points, (n, d), orthogonally separable, with lengths of at most 1.
        y: Labels −1 and 1, (n,).
        p: Width.
        starts: Number of starts.
        seed: Seed of the starts.
        copies: Whether all neurons of a start are copies of its first neuron.
    """
    neurons = random_starts(X.shape[1], p, starts, seed, copies)
    done = torch.zeros(starts, p, dtype=torch.bool)

    def look(state: Neurons, clock: Clock) -> bool:
        done.copy_(neuron_sectors(state.W, state.a, X, y, tolerance=ON_KINK).code != Place.UNDECIDED)
        return bool(done.all())

    flow = TwoLayer(X.expand(starts, -1, -1), y.expand(starts, -1))
    end, _, _ = follow(flow, neurons, Clock.start(starts), until=float("inf"), step=0.8, steps=STEPS, look=look)
    off = _off(end, X).all(1)
    survives = (done & ~_off(end, X)).any(1)
    return int((off & done.all(1)).sum()), int((~survives & ~(off & done.all(1))).sum())


def random_starts(d: int, p: int, starts: int, seed: int, copies: bool = False) -> Neurons:
    """Draw balanced neurons as in IB section 2: uniform directions, and random signs of the output weights.

    Args:
        d: Number of input dimensions.
        p: Width.
        starts: Number of starts.
        seed: Seed of the starts.
        copies: Whether all neurons of a start are copies of its first neuron.
    """
    rng = stream(0, Role.STUDENT, seed, p)
    W = torch.from_numpy(rng.standard_normal((starts, p, d)))
    a = SIZE * torch.from_numpy(rng.choice((-1.0, 1.0), (starts, p)))
    if copies:
        W, a = W[:, :1].expand_as(W), a[:, :1].expand_as(a)
    return Neurons(SIZE * W / W.norm(dim=-1, keepdim=True), a.clone())


def _off(neurons: Neurons, X: Tensor) -> Bool[Tensor, "lane p"]:
    return (neurons.W @ X.T <= 0).all(-1)


def _two_points() -> Labeled:
    """One point per class, at a right angle: the bound is attained."""
    return Labeled(torch.tensor([[1.0, 0.0], [0.0, 1.0]]).double(), torch.tensor([1.0, -1.0]).double())


def _case() -> Finding:
    return surviving_neurons(OppositeOrthants(3).draw(stream(0, Role.DEMONSTRATION, 19), 8), starts=1000)


THEOREM = Theorem(
    id="IB.T1.start",
    title="Some neuron of a random start survives",
    statement="Let the data be orthogonally separable, and let a network of width p start balanced and near zero, with "
    "independent neurons in uniformly random directions and with random signs. Then, with probability at least "
    "1 − 2^{−p}, some neuron never turns off.",
    symbols={"p": "width, the number of neurons"},
    in_print="Theorem 1 states the probability as 1 − 2^{−p}; its proof shows that it is at least this large.",
    source="IB theorem 1 and its proof, section 4.3",
    check=surviving_neurons,
    on={LabeledTable: surviving_neurons},
    variants=("copies",),
    demonstrations=(
        Demonstration("1,000 starts of widths 1 to 4, 8 points in R³", Verdict.HOLDS, _case),
        Demonstration(
            "Data that are only linearly separable", Verdict.NOT_APPLICABLE, lambda: surviving_neurons(half_spaces(19))
        ),
        Demonstration(
            "Negative control: all neurons of a start are copies of one",
            Verdict.REFUTED,
            lambda: surviving_neurons(_two_points(), widths=(3,), starts=500, copies=True),
        ),
    ),
)
