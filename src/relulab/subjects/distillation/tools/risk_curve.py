"""The expected transfer risk against the number of points, measured: for tasks of a known law and for a sample."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float64, Int64
from scipy.special import stdtrit
from torch import Tensor

from relulab.core.errors import UserError
from relulab.subjects.distillation.instruments.risk import angular_risk, counted
from relulab.subjects.distillation.tools.angle_laws import Angular
from relulab.subjects.distillation.tools.learners import Learner
from relulab.subjects.distillation.tools.nested import nested_students
from relulab.subjects.distillation.tools.transfer import Numbers, directions, transfer

BLOCK = 2e7  # numbers that are held at once
DOUBTFUL = 1e-10  # cosine to a boundary below which it is asked whether rounding decides the side


class Curve(NamedTuple):
    """The mean risk of students of n points with an interval for its expectation, and the mean rank of their points.

    A rank below min(n, d) says that points are linearly dependent.
    """

    n: Int64[np.ndarray, " k"]
    risk: Float64[np.ndarray, " k"]
    low: Float64[np.ndarray, " k"]
    high: Float64[np.ndarray, " k"]
    rank: Float64[np.ndarray, " k"]


def angular_risks(
    task: Angular, n: Sequence[int], sets: int, rng: np.random.Generator
) -> Float64[np.ndarray, "sets k"]:
    """The exact risk, over all inputs, of the students of n points, for many transfer sets of an angular task.

    Args:
        task: The task: dimensions, law of angles, and the teacher e₁.
        n: Numbers of points, each at least 1; one column of the answer for each.
        sets: Number of transfer sets, at least 2; one row for each.
        rng: Where the points are drawn from.

    >>> from relulab.subjects.distillation.tools.angle_laws import PolynomialAngles
    >>> risks = angular_risks(Angular(3, PolynomialAngles()), [1, 3], 4, np.random.default_rng(0))
    >>> risks.shape, risks[:, 1].tolist()
    ((4, 2), [0.0, 0.0, 0.0, 0.0])
    """
    most = max(n)
    angles = []
    for block in _blocks(sets, most * task.d):
        X = torch.from_numpy(task.draw(rng, block * most)).reshape(block, most, task.d)
        angles.append(nested_students(X, task.e1).angles()[:, [k - 1 for k in n]])
    return angular_risk(torch.cat(angles), task.law, task.d).numpy()


def sample_risks(
    X: Numbers,
    w_star: Numbers,
    n: int | Sequence[int],
    *,
    sets: int = 100,
    rng: np.random.Generator | int,
    learner: Learner | None = None,
    confidence: float = 0.95,
) -> Curve:
    """The expected risk of students of n points of a sample, on points of it that they do not see.

    A random half of the sample (or as many as the largest n, if that is more) is for transfer sets, drawn from these H
    points without replacement, the rest for counting errors. The sets and the points are both random, so the interval
    has two parts, whose squares add. That of points is Clopper and Pearson's for the mean of how often a point is
    missed, which knows that errors too rare to be met may be there. That of sets is Student's for the variance

        s²/sets + s²/(1 − n/H) · n/H,

    s² of the risks of sets: the second part is what the choice of H points has on a mean over their subsets, at most
    (Hoeffding), with s² as it would be in sets that do not overlap. At n = H all sets are the same one, and nothing
    is known: the interval is [0, 1].

    Args:
        X: The sample, (N, d), an input a row.
        w_star: The teacher w*, (d,), not zero.
        n: Points of a transfer set, one number or several, each at most N − 2.
        sets: Number of random transfer sets, at least 2.
        rng: Where the sets are drawn from: a generator, or a seed.
        learner: A learner other than distillation, which gives weights of its own (see learners.py). None is
            distillation.
        confidence: Confidence of the interval, between 0 and 1.

    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> sample_risks(X, [1.0, 1.0], [1, 2], sets=10, rng=0).risk.round(6).tolist()[1]
    0.0
    """
    rng = np.random.default_rng(rng)
    X, w_star = transfer(X, w_star)
    X, w_star = directions(X), directions(w_star[None])[0]  # no answer depends on a length
    ns = _sizes(n, len(X))
    at = ns.tolist()
    order = torch.from_numpy(rng.permutation(len(X)))
    here = max(len(X) // 2, int(ns.max()))
    some, rest = X[order[:here]], X[order[here:]]
    truth = _answers(rest, w_star[None], computed=False)
    by_set, rank = [], torch.zeros(len(ns), dtype=torch.int64)
    for block in _blocks(sets, int(ns.max()) * X.shape[1] + len(rest) * len(ns)):
        chosen = np.stack([rng.permutation(here)[: ns.max()] for _ in range(block)])
        nested = nested_students(some[torch.from_numpy(chosen)], w_star)
        w = learner(nested, at, rng) if learner else nested.students()[:, ns - 1]  # block k d
        by_set.append((_answers(rest, w, computed=True) != truth).double().mean(1))
        rank = rank + nested.new.cumsum(-1)[:, ns - 1].sum(0)
    risks = torch.cat(by_set)
    mean, points = risks.mean(0), counted(risks.mean(0) * len(rest), len(rest), confidence=confidence)
    used = torch.from_numpy(ns / here)
    spread = (1 / sets + torch.where(used < 1, used / (1 - used), 0.0)).sqrt()
    over_sets = stdtrit(sets - 1, (1 + confidence) / 2) * risks.std(0) * spread
    over_sets = torch.where(used < 1, over_sets, 1.0)
    low, high = (mean - torch.hypot(over_sets, mean - points.low), mean + torch.hypot(over_sets, points.high - mean))
    return Curve(ns, mean.numpy(), low.clamp(min=0).numpy(), high.clamp(max=1).numpy(), (rank.double() / sets).numpy())


def _answers(
    X: Float64[Tensor, "N d"], w: Float64[Tensor, "*sets k d"], *, computed: bool
) -> Bool[Tensor, "*sets N k"]:
    """1{wᵀx ≥ 0} for unit points; one whose wᵀx is no more than rounding lies on the boundary.

    Rounding is that of the sum, and, for weights that were ``computed``, that of every weight, a share of their norm.
    """
    z, size = X @ w.mT, w.norm(dim=-1)[..., None, :]
    if not (z.abs() < DOUBTFUL * size).any():
        return z >= 0
    sums = size if computed else X.abs() @ w.abs().mT
    return z >= -4 * X.shape[1] * torch.finfo(z.dtype).eps * sums


def _sizes(n: int | Sequence[int], N: int) -> Int64[np.ndarray, " k"]:
    ns = np.atleast_1d(np.asarray(n, dtype=np.int64))
    if not len(ns) or ns.min() < 1:
        raise UserError(f"n = {ns.tolist()}: whole numbers from 1 were expected, the points of a transfer set")
    if ns.max() > N - 2:
        raise UserError(
            f"n = {ns.max()} of {N} points: at least 2 must be left over to count errors on, so at most {N - 2}"
        )
    return ns


def _blocks(sets: int, numbers: float) -> list[int]:
    """How many sets are worked on at once, given the numbers that one needs."""
    if sets < 2:
        raise UserError(f"{sets} transfer sets: a mean with its error needs at least 2")
    size = int(max(1, min(sets, BLOCK // max(numbers, 1))))
    return [min(size, sets - i) for i in range(0, sets, size)]
