"""Eigenvalues of the Hessian of a loss: both ends of the spectrum, and how many are close to zero."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.followed import followed
from relulab.core.ranges import at_least
from relulab.core.seeds import Role, stream
from relulab.core.threads import threads_for
from relulab.lab.instrument import instrument
from relulab.nets.hooks import points
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.tools.hessian_product import HessianProduct, LossFunction
from relulab.subjects.specialization.tools.lanczos import Ritz, lanczos

EXACT = 4  # products for the whole matrix are made several at once, and take about this fraction of the time each


class HessianSpectrum(NamedTuple):
    """The spectrum of the Hessian of a network with P trained parameters.

    Attributes:
        largest: The k largest eigenvalues, the largest first.
        largest_error: For each, a distance within which there is an eigenvalue.
        smallest: The k smallest eigenvalues, the smallest first.
        smallest_error: The same for the smallest ones.
        near_zero: Share of all eigenvalues with |λ| ≤ ``near`` · max |λ|, estimated from ``values`` and ``weights``.
        near_zero_low: A lower bound on this share; equal to it if all eigenvalues were computed.
        near_zero_high: An upper bound on this share.
        values: Values λ_i of the spectrum.
        weights: The share of the spectrum that each of ``values`` stands for; they sum to 1.
    """

    largest: Float[Tensor, "*lane k"]
    largest_error: Float[Tensor, "*lane k"]
    smallest: Float[Tensor, "*lane k"]
    smallest_error: Float[Tensor, "*lane k"]
    near_zero: Float[Tensor, "*lane"]
    near_zero_low: Float[Tensor, "*lane"]
    near_zero_high: Float[Tensor, "*lane"]
    values: Float[Tensor, "*lane m"]
    weights: Float[Tensor, "*lane m"]

    def __repr__(self) -> str:
        largest, smallest = (float(t.flatten()[0]) for t in (self.largest, self.smallest))
        lanes = f"{len(self.largest)} lanes; lane 0: " if self.largest.dim() > 1 else ""
        return (
            f"HessianSpectrum({lanes}eigenvalues from {smallest:.3g} to {largest:.3g}, "
            f"{float(self.near_zero.flatten()[0]):.1%} near zero)"
        )


@instrument(source="LM section 3.3", ids=("LM.X.flat",))
def hessian_spectrum(
    net: nn.Module,
    x: Tensor | np.ndarray,
    y: Tensor | np.ndarray,
    loss: LossFunction | None = None,
    *,
    k: int = 5,
    steps: int = 60,
    draws: int = 8,
    near: float = 1e-3,
    root: int = 0,
) -> HessianSpectrum:
    r"""Compute the smallest and largest eigenvalues of the Hessian of a loss, and the share of those near zero.

    If the network has at most 4 · ``steps`` · ``draws`` parameters, all eigenvalues are computed. Otherwise, Lanczos
    processes start from random vectors, and need only products of the Hessian with vectors. Their Ritz values approach
    the ends of the spectrum from inside, and the bounds on their errors are the norms of the residuals. Eigenvalues
    that occur several times are found once. The share near zero is that of the Gauss quadrature of each process,
    averaged over the processes. Its bounds are those of Chebyshev, Markov and Stieltjes for every start vector, plus
    two standard errors. They are wide, and more ``steps`` bring them closer together.

    Args:
        net: An ``MLP``, or any module.
        x: Points, (N, …), the same for all lanes, or for an ``MLP`` also (lane, N, d).
        y: Targets: classes, (N,), as integers, or real numbers, (N, C), for an ``MLP`` also with a lane axis.
        loss: Function of outputs and targets that returns their mean loss. Default: cross-entropy for classes, and
            ½‖f − y‖² for real numbers.
        k: Number of eigenvalues at each end, at least 1.
        steps: Number of products per process, at least 2.
        draws: Number of processes, at least 2.
        near: Largest |λ| that counts as near zero, as a share of max |λ|, from 0 to below 1.
        root: Root seed of the start vectors.

    Returns:
        The spectrum, with a lane axis for an ``MLP``.

    >>> net = nn.Linear(2, 1, bias=False)  # the Hessian of ½(f − y)² is the mean of x xᵀ
    >>> found = hessian_spectrum(net, torch.tensor([[2.0, 0.0], [0.0, 0.0]]), torch.zeros(2, 1), k=1)
    >>> found.largest.tolist(), found.smallest.tolist(), float(found.near_zero)
    ([2.0], [0.0], 0.5)
    """
    at_least(1, k=k)
    at_least(2, steps=steps, draws=draws)
    if not 0 <= near < 1:
        raise UserError(f"expected a share of the largest |λ| from 0 to below 1, got near={near}: such as 1e-3")
    x, y = points(x), torch.as_tensor(y)
    if not x.dim() or not y.dim() or not x.numel() or not y.numel():
        raise UserError(
            f"expected points and their targets, got x of shape {tuple(x.shape)} and y of shape {tuple(y.shape)}: give "
            "one row per point"
        )
    if not isinstance(net, MLP):
        return HessianSpectrum(*_alone(net, x, y, loss, k, steps, draws, near, root))
    lanes = [_alone(net.lane(i), *_of_lane(net, i, x, y), loss, k, steps, draws, near, root) for i in range(net.lanes)]
    return HessianSpectrum(*(torch.stack(parts) for parts in zip(*lanes, strict=True)))


def _of_lane(net: MLP, i: int, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return the points and targets of a lane."""
    y_dims = 2 if y.is_floating_point() else 1
    return x if x.dim() == 2 else x[i % len(x)], y if y.dim() <= y_dims else y[i % len(y)]


def _alone(
    net: nn.Module,
    x: Tensor,
    y: Tensor,
    loss: LossFunction | None,
    k: int,
    steps: int,
    draws: int,
    near: float,
    root: int,
) -> tuple[Tensor, ...]:
    """Return the parts of the spectrum of one network, in its data type."""
    if len(x) != len(y):
        raise UserError(f"expected one target per point, got {len(x)} points and {len(y)} targets: use the same rows")
    H = HessianProduct(net, x, y, loss)
    with threads_for(len(x) * max(p.numel() for p in H.parameters)):
        if H.size <= EXACT * steps * draws:
            values = np.linalg.eigvalsh(H.matrix())
            errors = np.full(len(values), len(values) * np.finfo(float).eps * np.abs(values).max())
            runs = [Ritz(values, errors, np.full(len(values), 1 / len(values)))]
        else:
            rng = stream(root, Role.CHANCE, 0)
            parts = followed(range(draws), "computing eigenvalues")
            runs = [lanczos(H, rng.choice((-1.0, 1.0), H.size), steps, rng) for _ in parts]
    low, high = (_ends(runs, min(k, len(runs[0].values)), side) for side in (1, -1))
    shares = _share(runs, near * max(np.abs(run.values).max() for run in runs))
    pooled = [np.concatenate([run.values for run in runs]), np.concatenate([run.weights for run in runs]) / len(runs)]
    dtype = next((p.dtype for p in net.parameters() if p.is_floating_point()), torch.float64)
    found = (*high, *low, *shares, *pooled)
    return tuple(torch.as_tensor(n, dtype=torch.float64).to(x.device, dtype) for n in found)


def _ends(runs: list[Ritz], k: int, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Return k eigenvalues from one end with their errors: the i-th Ritz value is never beyond the i-th eigenvalue."""
    values, errors = (np.stack([of_run[::side][:k] for of_run in parts]) for parts in list(zip(*runs, strict=True))[:2])
    best = (side * values).argmin(0)
    return values[best, np.arange(k)], errors[best, np.arange(k)]


def _share(runs: list[Ritz], bound: float) -> tuple[float, float, float]:
    """Return the share of eigenvalues with |λ| ≤ bound, a lower and an upper bound on it."""
    estimates = np.array([run.weights[np.abs(run.values) <= bound].sum() for run in runs])
    if len(runs) == 1:  # all eigenvalues
        return estimates[0], estimates[0], estimates[0]
    limits = np.array([_limits(run, bound) for run in runs])
    error = 2 * limits.std(0, ddof=1) / np.sqrt(len(runs))
    low, high = limits.mean(0) + error * (-1, 1)
    return estimates.mean(), max(0.0, low), min(1.0, high)


def _limits(run: Ritz, bound: float) -> tuple[float, float]:
    """Return bounds on the weight of [−bound, bound] in the spectral measure of a start vector.

    The weight below the i-th node is at least the sum of the first i − 1 weights, and at most that of the first i.
    """
    total = np.concatenate([[0.0], run.weights.cumsum()])
    m = len(run.values)
    ends = []
    for at in (np.searchsorted(run.values, -bound, "left"), np.searchsorted(run.values, bound, "right")):
        ends.append((total[max(at - 1, 0)], total[min(at + 1, m)]))
    (low_0, high_0), (low_1, high_1) = ends
    return max(0.0, low_1 - high_0), high_1 - low_0
