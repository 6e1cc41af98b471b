"""Follow weight vectors under a given velocity with an adaptive ODE solver, and integrate along the trajectory."""

from collections.abc import Callable
from itertools import count

import numpy as np
import torch
from jaxtyping import Float
from scipy.integrate import solve_ivp
from torch import Tensor

from relulab.core.errors import UserError
from relulab.flow.trajectory import Trajectory

Weights = Float[np.ndarray, "n d"]
Times = Float[np.ndarray, " t"]
Field = Callable[[Weights], Weights]
MOST = 200_000  # largest number of evaluations of the velocity
NODES, SHARES = np.polynomial.legendre.leggauss(8)


def flow(
    velocity: Field,
    W: Weights,
    time: float,
    *,
    rtol: float = 1e-10,
    until: Callable[[Weights], float] | None = None,
    method: str = "DOP853",
    longest: float = np.inf,
) -> Trajectory[np.ndarray]:
    """Solve Ẇ = velocity(W) from time 0 to ``time``, or until ``until`` crosses 0.

    Norms may shrink by many orders of magnitude, so the absolute tolerance is tiny. The snapshots are the steps of the
    solver, and W can also be evaluated between them.

    Args:
        velocity: A smooth function of the weights, (n, d) → (n, d).
        W: Weights at time 0, (n, d).
        time: Time at which the flow ends.
        rtol: Relative tolerance of the solver per step.
        until: A function of W; the flow ends early where it crosses 0.
        method: Name of the solver, as in SciPy's ``solve_ivp``.
        longest: Longest step of the solver.

    Returns:
        The trajectory with the state ``W``. ``reached`` is False if ``until`` is given and did not cross 0.
    """
    calls = count()

    def f(t: float, y: np.ndarray) -> np.ndarray:
        if next(calls) >= MOST:  # an adaptive solver takes tiny steps where the velocity is discontinuous
            raise UserError(
                f"the flow needed more than {MOST:,} evaluations of the velocity up to t = {t:.3g}: use a smooth "
                "velocity"
            )
        return np.asarray(velocity(y.reshape(W.shape)), dtype=float).ravel()

    events = None if until is None else _End(until, W.shape)
    atol = absolute_tolerance(W, rtol)
    with np.errstate(over="ignore", invalid="ignore"):  # a flow that diverges is reported below
        solution = solve_ivp(
            f, (0.0, time), W.ravel(), method, None, True, events, rtol=rtol, atol=atol, max_step=longest
        )
    if solution.status < 0 or not np.isfinite(solution.y).all():
        raise UserError(
            f"the solver failed beyond t = {solution.t[-1]:.3g}, because the flow may diverge: use a shorter time"
        )
    states = {"W": solution.y.T.reshape(-1, *W.shape)}
    reached = solution.status == 1 or until is None
    says = "reached the final time" if solution.status != 1 else "reached the stopping condition"

    def dense(times: np.ndarray) -> np.ndarray:
        return solution.sol(times).T.reshape(-1, *W.shape)

    return Trajectory(solution.t, states, reached, says, len(solution.t) - 1, dense=dense)


def absolute_tolerance(W: Weights, rtol: float) -> float:
    """Return the absolute tolerance per step of a flow from W with the relative tolerance ``rtol``.

    Args:
        W: Weights at time 0, (n, d).
        rtol: Relative tolerance of the solver per step.
    """
    return rtol * 1e-6 * float(np.abs(W).max())


def pieces(path: Trajectory[np.ndarray], times: Times) -> tuple[Float[np.ndarray, " e"], Float[np.ndarray, "m 8"]]:
    """Return integration intervals and the eight Gauss-Legendre nodes in each of them.

    Args:
        path: A trajectory that can be evaluated at any time.
        times: Times at which the solver's steps are split, (t,).

    Returns:
        The edges of the m intervals, (m + 1,), and the nodes, (m, 8).
    """
    edges = np.union1d(path.times, times)
    low, high = edges[:-1, None], edges[1:, None]
    return edges, (low + high) / 2 + (high - low) / 2 * NODES


def integral(
    path: Trajectory[np.ndarray], h: Callable[[Weights], np.ndarray], times: Times
) -> Float[np.ndarray, "t k"]:
    """Compute ∫₀ᵗ h(W(s)) ds for every t in ``times`` by Gauss-Legendre quadrature, independently of the ODE for W.

    Args:
        path: A trajectory that can be evaluated at any time.
        h: The integrand as a function of the weights; its values are vectors, (k,).
        times: Upper limits t, (t,).

    Returns:
        The integrals, (t, k).
    """
    edges, within = pieces(path, times)
    values = np.stack([h(W) for W in path.at(within.ravel())]).reshape(*within.shape, -1)
    parts = np.einsum("mgk,g,m->mk", values, SHARES, np.diff(edges) / 2)
    sums = np.concatenate([np.zeros((1, parts.shape[1])), parts.cumsum(0)])
    return sums[np.searchsorted(edges, times)]


class _End:
    """A terminal event for SciPy's solver: it stops where a function of the weights crosses 0."""

    terminal = True

    def __init__(self, until: Callable[[Weights], float], shape: tuple[int, ...]):
        self.until, self.shape = until, shape

    def __call__(self, t: float, y: np.ndarray) -> float:
        return self.until(y.reshape(self.shape))


def as_array(x: Float[np.ndarray | Tensor, "..."]) -> Float[np.ndarray, "..."]:
    """Return a float64 NumPy copy of an array or tensor.

    Args:
        x: Numbers of any shape.
    """
    return torch.as_tensor(x).detach().double().cpu().numpy().copy()
