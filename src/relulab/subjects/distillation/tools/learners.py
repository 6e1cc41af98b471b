"""Learners other than gradient descent: hard targets, and minimizers with less bias (T5 section 5.4)."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.seeds import generator
from relulab.subjects.distillation.tools.nested import Nested, nested_students
from relulab.subjects.distillation.tools.transfer import Numbers, transfer

Learner = Callable[[Nested, Sequence[int], np.random.Generator], Tensor]
"""Maps nested transfer sets and numbers n to the weights, (sets, n, d), of the students of the first n points."""


def hard_target(X: Numbers, w_star: Numbers) -> Float64[Tensor, "*sets d"]:
    """The hard-label student: the max-margin vector for the teacher's labels, without a bias.

    It is the shortest w with y_i wᵀx_i ≥ 1, where y_i = ±1 is the teacher's answer. Gradient descent on the logistic
    loss converges to its direction.

    Args:
        X: Points, (n, d), one point per row, or (…, n, d) for many sets.
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
    """Minimizers w_δ = ŵ + δ‖ŵ‖ q/‖q‖ of the distillation loss, with q Gaussian and orthogonal to the points.

    All of them fit the soft labels exactly. A larger δ means less of the bias of gradient descent toward the span of
    the points. The same q is used for all δ. If the points span R^d, the minimizer is unique and w_δ = w*.

    Args:
        X: Points, (n, d), one point per row, or (…, n, d) for many sets.
        w_star: The teacher w*, (d,), not zero.
        delta: One δ or several; one row of the result for each.
        rng: Random generator or seed for q.

    >>> w = unbiased([[1.0, 0.0, 0.0]], [2.0, 1.0, 1.0], [0.0, 3.0], np.random.default_rng(0))
    >>> w[:, 0].tolist(), round(w[1, 1:].norm().item(), 12)
    ([2.0, 2.0], 6.0)
    """
    deltas = np.atleast_1d(np.asarray(delta, dtype=float))
    if deltas.ndim != 1 or not deltas.size or not np.isfinite(deltas).all():
        raise UserError(f"expected one or more finite numbers, got delta = {delta}")
    rng, nested = generator(rng), nested_students(X, w_star)
    g = torch.from_numpy(rng.standard_normal((*nested.Q.shape[:-2], 1, nested.Q.shape[-1])))
    w, step = nested.students()[..., -1, :], complement(nested, [nested.Q.shape[-2]], g)[..., 0, :]
    return torch.stack([w + float(delta) * w.norm(dim=-1, keepdim=True) * step for delta in deltas])


def complement(nested: Nested, at: Sequence[int], g: Float64[Tensor, "*sets #k d"]) -> Float64[Tensor, "*sets k d"]:
    """The unit direction of g in the orthogonal complement of the first n points, for each n in ``at``.

    It is 0 if the points span R^d. ``g`` holds one vector for all n, or one for each.
    """
    steps = []
    for n, vector in zip(at, g.expand(*g.shape[:-2], len(at), g.shape[-1]).unbind(-2), strict=True):
        Q = nested.Q[..., :n, :]
        q = vector - ((vector[..., None, :] @ Q.mT) @ Q)[..., 0, :]
        full = nested.new[..., :n].sum(-1, keepdim=True) == vector.shape[-1]
        steps.append(torch.where(full, 0.0, q / q.norm(dim=-1, keepdim=True)))
    return torch.stack(steps, -2)


def less_biased(delta: float) -> Learner:
    """The learner w_δ, with a new random q for every student."""

    def learn(nested: Nested, at: Sequence[int], rng: np.random.Generator) -> Tensor:
        w = nested.students()[..., [n - 1 for n in at], :]
        q = complement(nested, at, torch.from_numpy(rng.standard_normal(w.shape)))
        return w + delta * w.norm(dim=-1, keepdim=True) * q

    return learn


def pushed(epsilon: float) -> Learner:
    """Students at distance ε‖ŵ‖ from ŵ, ε < 1, turned away from the teacher as far as possible.

    The angle is a = arcsin ε, in the plane of ŵ and w*. Of all vectors within ε‖ŵ‖ of ŵ, the tangent ones are turned
    most; their length is cos a ‖ŵ‖. If ŵ is parallel to w*, a random plane is used.
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
    """The part of x that is orthogonal to the unit vectors v."""
    return x - (x * v).sum(-1, keepdim=True) * v
