"""Learners of a linear teacher beside gradient descent: hard targets, and minimizers without its bias (T5 5.4)."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.core.errors import UserError
from relulab.subjects.distillation.tools.nested import Nested, nested_students
from relulab.subjects.distillation.tools.transfer import Numbers, transfer

Learner = Callable[[Nested, Sequence[int], np.random.Generator], Tensor]
"""From nested transfer sets and numbers n to the weights of the students of the first n points: sets, n, d."""


def hard_target(X: Numbers, w_star: Numbers) -> Float64[Tensor, "*sets d"]:
    """The student that sees labels 0 and 1 only: the max-margin vector of the teacher's answers, without a bias.

    To it the direction of gradient descent on the logistic loss tends. The shortest w with y_i wᵀx_i ≥ 1, where
    y_i = ±1 is the teacher's answer; it lies in the span of the points, so it is sought in coordinates of that span.

    Args:
        X: Points, (n, d), a point a row, or (…, n, d) for many sets.
        w_star: The teacher w*, (d,), not zero.

    >>> hard_target([[2.0, 0.0], [0.0, -4.0]], [1.0, 1.0]).tolist()
    [0.5, 0.25]
    """
    from relulab.subjects.bias.instruments.max_margin import hard_margin

    X, w_star = transfer(X, w_star)
    y = torch.where(X @ w_star >= 0, 1.0, -1.0)
    sets = (X * y[..., None]).reshape(-1, *X.shape[-2:])
    return torch.stack([hard_margin(Z) for Z in sets]).reshape(*X.shape[:-2], X.shape[-1])


def unbiased(
    X: Numbers, w_star: Numbers, delta: float | Sequence[float], rng: np.random.Generator | int
) -> Float64[Tensor, "k *sets d"]:
    """Minimizers w_δ = ŵ + δ‖ŵ‖ q/‖q‖ of the distillation loss, one a δ, q Gaussian and orthogonal to the points.

    One q serves all δ. All fit the soft labels exactly; with larger δ less of gradient descent's preference for the
    span is left. Where the points span R^d there is one minimizer only, and w_δ = w*.

    Args:
        X: Points, (n, d), a point a row, or (…, n, d) for many sets.
        w_star: The teacher w*, (d,), not zero.
        delta: One δ or several.
        rng: Where q is drawn from: a generator, or a seed.

    >>> w = unbiased([[1.0, 0.0, 0.0]], [2.0, 1.0, 1.0], [0.0, 3.0], np.random.default_rng(0))
    >>> w[:, 0].tolist(), round(w[1, 1:].norm().item(), 12)
    ([2.0, 2.0], 6.0)
    """
    deltas = np.atleast_1d(np.asarray(delta, dtype=float))
    if deltas.ndim != 1 or not np.isfinite(deltas).all():
        raise UserError(f"delta = {delta}: finite numbers were expected")
    rng, nested = np.random.default_rng(rng), nested_students(X, w_star)
    g = torch.from_numpy(rng.standard_normal((*nested.Q.shape[:-2], 1, nested.Q.shape[-1])))
    w, step = nested.students()[..., -1, :], complement(nested, [nested.Q.shape[-2]], g)[..., 0, :]
    return torch.stack([w + float(one) * w.norm(dim=-1, keepdim=True) * step for one in deltas])


def complement(nested: Nested, at: Sequence[int], g: Float64[Tensor, "*sets #k d"]) -> Float64[Tensor, "*sets k d"]:
    """The direction of g within the complement of the first n points, for each n of ``at``; 0 where they span all.

    g has one vector for all n, or one for each.
    """
    found = []
    for n, one in zip(at, g.expand(*g.shape[:-2], len(at), g.shape[-1]).unbind(-2), strict=True):
        Q = nested.Q[..., :n, :]
        q = one - ((one[..., None, :] @ Q.mT) @ Q)[..., 0, :]
        full = nested.new[..., :n].sum(-1, keepdim=True) == one.shape[-1]
        found.append(torch.where(full, 0.0, q / q.norm(dim=-1, keepdim=True)))
    return torch.stack(found, -2)


def less_biased(delta: float) -> Learner:
    """The learner w_δ, for students of growing sets: a new q for every one."""

    def learn(nested: Nested, at: Sequence[int], rng: np.random.Generator) -> Tensor:
        w = nested.students()[..., [n - 1 for n in at], :]
        q = complement(nested, at, torch.from_numpy(rng.standard_normal(w.shape)))
        return w + delta * w.norm(dim=-1, keepdim=True) * q

    return learn


def pushed(epsilon: float) -> Learner:
    """Students off ŵ by ε‖ŵ‖, ε < 1, that are turned away from the teacher as far as that lets them be.

    By the angle a = arcsin ε, in the plane of ŵ and w*: of all vectors within ε‖ŵ‖ of ŵ those at a tangent are turned
    most, and their length is cos a ‖ŵ‖. Where ŵ is along w*, in a random plane.
    """

    def learn(nested: Nested, at: Sequence[int], rng: np.random.Generator) -> Tensor:
        w = nested.students()[..., [n - 1 for n in at], :]
        v = torch.nn.functional.normalize(w, dim=-1)
        w_star = nested.w_star / nested.w_star.norm()
        away = _across(-w_star.expand(v.shape), v)
        other = _across(torch.from_numpy(rng.standard_normal(v.shape)), v)
        away = torch.where(away.norm(dim=-1, keepdim=True) > 1e-12, away, other)
        e = torch.nn.functional.normalize(away, dim=-1)
        cos, sin = math.sqrt(1 - epsilon**2), epsilon
        return cos * w.norm(dim=-1, keepdim=True) * (cos * v + sin * e)

    return learn


def _across(x: Float64[Tensor, "*sets d"], v: Float64[Tensor, "*sets d"]) -> Float64[Tensor, "*sets d"]:
    """What of x is orthogonal to the unit vectors v."""
    return x - (x * v).sum(-1, keepdim=True) * v
