"""Measured transfer risk against the number of points: for tasks with a known angle distribution and for samples."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float64, Int64
from scipy.special import stdtrit
from torch import Tensor

from relulab.core.angle import unit_rows
from relulab.core.errors import UserError
from relulab.core.seeds import generator
from relulab.core.short_repr import short_repr
from relulab.subjects.distillation.instruments.angles import signed_angle
from relulab.subjects.distillation.instruments.risk import angular_risk, counted
from relulab.subjects.distillation.tools.angle_laws import Angular
from relulab.subjects.distillation.tools.bound import positive_integers
from relulab.subjects.distillation.tools.learners import Learner
from relulab.subjects.distillation.tools.nested import nested_students
from relulab.subjects.distillation.tools.transfer import Numbers, transfer

BLOCK = 2e7  # how many numbers are held in memory at once
DOUBTFUL = 1e-10  # cosine to the decision boundary below which rounding may decide the side


class Curve(NamedTuple):
    """The mean risk of students of n points with a confidence interval, and the mean rank of their points.

    A rank below min(n, d) means that the points are linearly dependent.
    """

    n: Int64[np.ndarray, " k"]
    risk: Float64[np.ndarray, " k"]
    low: Float64[np.ndarray, " k"]
    high: Float64[np.ndarray, " k"]
    rank: Float64[np.ndarray, " k"]

    __repr__ = short_repr


def angular_risks(
    task: Angular, n: Sequence[int], sets: int, rng: np.random.Generator, learner: Learner | None = None
) -> Float64[np.ndarray, "sets k"]:
    """The exact transfer risk of students of n points, for many random transfer sets of an angular task.

    Args:
        task: The task: number of dimensions, angle distribution, and the teacher e₁.
        n: Numbers of points, each at least 1; one column of the result for each.
        sets: Number of transfer sets, at least 2; one row of the result for each.
        rng: Random generator for the points.
        learner: The learner that gives the students' weights (see learners.py). Default: distillation.

    >>> from relulab.subjects.distillation.tools.angle_laws import PolynomialAngles
    >>> risks = angular_risks(Angular(3, PolynomialAngles()), [1, 3], 4, np.random.default_rng(0))
    >>> risks.shape, risks[:, 1].tolist()
    ((4, 2), [0.0, 0.0, 0.0, 0.0])
    """
    most = int(positive_integers(n).max())
    angles = []
    for block in _blocks(sets, most * task.d):
        X = torch.from_numpy(task.draw(rng, block * most)).reshape(block, most, task.d)
        nested = nested_students(X, task.e1)
        students = signed_angle(learner(nested, n, rng), nested.w_star) if learner else None
        angles.append(nested.angles()[:, [k - 1 for k in n]] if students is None else students)
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
    """The measured risk of students of n points of a sample, on points that they were not trained on.

    A random half of the sample (or more, if the largest n needs more) is used for transfer sets, which are drawn from
    these H points without replacement. Errors are counted on the rest. Both the sets and the points are random, so the
    interval has two parts, whose squares add up. The part of the points is the Clopper–Pearson interval of the mean
    error rate, which allows for errors too rare to be observed. The part of the sets is the Student interval with the
    variance

        s²/sets + s²/(1 − n/H) · n/H,

    where s² is the variance of the risk over sets. The second term bounds the effect of the choice of the H points on a
    mean over their subsets (Hoeffding), with s² corrected for overlapping sets. For n = H all sets are the same, so
    nothing is known and the interval is [0, 1].

    Args:
        X: The sample, (N, d), one input per row.
        w_star: The teacher w*, (d,), not zero.
        n: Points per transfer set, one number or several, each at most N − 2.
        sets: Number of random transfer sets, at least 2.
        rng: Random generator or seed for the sets.
        learner: The learner that gives the students' weights (see learners.py). Default: distillation.
        confidence: Confidence of the interval, between 0 and 1.

    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> sample_risks(X, [1.0, 1.0], [1, 2], sets=10, rng=0).risk.round(6).tolist()[1]
    0.0
    """
    rng = generator(rng)
    X, w_star = transfer(X, w_star)
    X, w_star = unit_rows(X), unit_rows(w_star[None])[0]  # answers do not depend on lengths
    ns = _sizes(n, len(X))
    at = ns.tolist()
    order = torch.from_numpy(rng.permutation(len(X)))
    pool_size = max(len(X) // 2, int(ns.max()))
    pool, rest = X[order[:pool_size]], X[order[pool_size:]]
    truth = _answers(rest, w_star[None], computed=False)
    by_set, rank = [], torch.zeros(len(ns), dtype=torch.int64)
    for block in _blocks(sets, int(ns.max()) * X.shape[1] + len(rest) * len(ns)):
        chosen = np.stack([rng.permutation(pool_size)[: ns.max()] for _ in range(block)])
        nested = nested_students(pool[torch.from_numpy(chosen)], w_star)
        w = learner(nested, at, rng) if learner else nested.students()[:, ns - 1]  # block k d
        by_set.append((_answers(rest, w, computed=True) != truth).double().mean(1))
        rank = rank + nested.new.cumsum(-1)[:, ns - 1].sum(0)
    risks = torch.cat(by_set)
    mean, points = risks.mean(0), counted(risks.mean(0) * len(rest), len(rest), confidence=confidence)
    used = torch.from_numpy(ns / pool_size)
    spread = (1 / sets + torch.where(used < 1, used / (1 - used), 0.0)).sqrt()
    over_sets = stdtrit(sets - 1, (1 + confidence) / 2) * risks.std(0) * spread
    over_sets = torch.where(used < 1, over_sets, 1.0)
    low, high = (mean - torch.hypot(over_sets, mean - points.low), mean + torch.hypot(over_sets, points.high - mean))
    return Curve(ns, mean.numpy(), low.clamp(min=0).numpy(), high.clamp(max=1).numpy(), (rank.double() / sets).numpy())


def _answers(
    X: Float64[Tensor, "N d"], w: Float64[Tensor, "*sets k d"], *, computed: bool
) -> Bool[Tensor, "*sets N k"]:
    """The answers 1{wᵀx ≥ 0} for unit points; if wᵀx is only rounding, the point counts as on the boundary.

    The rounding error is that of the sum. For ``computed`` weights, each weight has an error relative to their norm.
    """
    z, size = X @ w.mT, w.norm(dim=-1)[..., None, :]
    if not (z.abs() < DOUBTFUL * size).any():
        return z >= 0
    sums = size if computed else X.abs() @ w.abs().mT
    return z >= -4 * X.shape[1] * torch.finfo(z.dtype).eps * sums


def _sizes(n: int | Sequence[int], N: int) -> Int64[np.ndarray, " k"]:
    ns = np.atleast_1d(positive_integers(n)).astype(np.int64)
    if ns.max() > N - 2:
        raise UserError(f"n = {ns.max()} leaves fewer than 2 of {N} points to count errors on: use at most {N - 2}")
    return ns


def _blocks(sets: int, numbers: float) -> list[int]:
    """Split the sets into blocks that fit in memory, given how many numbers one set needs."""
    if sets < 2:
        raise UserError(f"expected at least 2 transfer sets, got sets = {sets}")
    size = int(max(1, min(sets, BLOCK // max(numbers, 1))))
    return [min(size, sets - i) for i in range(0, sets, size)]
