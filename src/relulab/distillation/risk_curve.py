"""The expected transfer risk against the number of points, measured: for tasks of a known law and for a sample."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float64, Int64
from scipy.special import stdtrit

from relulab.data.angles import Angular
from relulab.distillation.learners import Learner
from relulab.distillation.nested import nested_students
from relulab.distillation.risk import angular_risk, counted
from relulab.distillation.transfer import Numbers, directions, transfer
from relulab.errors import UserError

BLOCK = 2e7  # numbers that are held at once
ROUNDING = 1e-12  # cosine to a boundary below which a point lies on it, so that it is answered with 1 by all


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
    """The exact risk, over all inputs, of the students of n points, for many transfer sets of an angular task."""
    most = max(n)
    angles = []
    for block in _blocks(sets, most * task.d):
        X = torch.from_numpy(task.draw(rng, block * most)).reshape(block, most, task.d)
        angles.append(nested_students(X, task.e1).angles()[:, [k - 1 for k in n]])
    return angular_risk(torch.cat(angles), task.law, task.d).numpy()


def sample_risks(
    X: Numbers,
    w_star: Numbers,
    n: Sequence[int],
    *,
    sets: int = 100,
    rng: np.random.Generator,
    learner: Learner | None = None,
    confidence: float = 0.95,
) -> Curve:
    """The expected risk of students of n points of a sample, on points of it that they do not see.

    A random half of the sample (or as many as the largest n, if that is more) is for transfer sets, drawn from it
    without replacement, the rest for counting errors. The sets and the points are both random, so the interval has two
    parts, whose squares add: Student's for the mean over sets, and Clopper and Pearson's for the mean over points of
    how often a point is missed, which knows that errors too rare to be met may be there.
    A ``learner`` other than distillation gives weights of its own (see learners.py).
    """
    X, w_star = transfer(X, w_star)
    X, w_star = directions(X), directions(w_star[None])[0]  # no answer depends on a length
    ns = _sizes(n, len(X))
    at = ns.tolist()
    order = torch.from_numpy(rng.permutation(len(X)))
    here = max(len(X) // 2, int(ns.max()))
    some, rest = X[order[:here]], X[order[here:]]
    truth = rest @ w_star >= -ROUNDING
    by_set, rank = [], 0
    for block in _blocks(sets, int(ns.max()) * X.shape[1] + len(rest) * len(ns)):
        chosen = np.stack([rng.permutation(here)[: ns.max()] for _ in range(block)])
        nested = nested_students(some[torch.from_numpy(chosen)], w_star)
        logits = rest @ learner(nested, at, rng).mT if learner else nested.logits(rest, at)  # block N k
        by_set.append(((logits >= -ROUNDING) != truth[:, None]).double().mean(1))
        rank = rank + nested.new.cumsum(-1)[:, ns - 1].sum(0)
    risks = torch.cat(by_set)
    mean, points = risks.mean(0), counted(risks.mean(0) * len(rest), len(rest), confidence=confidence)
    over_sets = stdtrit(sets - 1, (1 + confidence) / 2) * risks.std(0) / math.sqrt(sets)
    low, high = (mean - torch.hypot(over_sets, mean - points.low), mean + torch.hypot(over_sets, points.high - mean))
    return Curve(ns, mean.numpy(), low.clamp(min=0).numpy(), high.clamp(max=1).numpy(), (rank.double() / sets).numpy())


def _sizes(n: Sequence[int], N: int) -> Int64[np.ndarray, " k"]:
    ns = np.asarray(n, dtype=np.int64)
    if not len(ns) or ns.min() < 1:
        raise UserError(f"n = {list(n)}: whole numbers from 1 were expected, the points of a transfer set")
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
