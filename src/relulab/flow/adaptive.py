"""The flow of a few weight vectors under a given velocity, by an adaptive solver, with integrals along its path."""

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
MOST = 200_000  # evaluations of the velocity
NODES, SHARES = np.polynomial.legendre.leggauss(8)


def flow(
    velocity: Field,
    W: Weights,
    time: float,
    *,
    rtol: float = 1e-10,
    until: Callable[[Weights], float] | None = None,
    method: str = "DOP853",
) -> Trajectory[np.ndarray]:
    """Ẇ = velocity(W) from W at time 0 to ``time``, or to where ``until`` turns 0.

    Lengths may shrink by many orders, so next to nothing is allowed in absolute error. The looks are the solver's own
    steps, and W is known between them.

    Args:
        velocity: a smooth field on weights, n × d.
        W: where it starts.
        time: when it ends.
        rtol: the solver's relative error in a step.
        until: a function of W that ends the flow where it turns 0.
        method: the solver, by the name that SciPy's ``solve_ivp`` has for it.
    """
    calls = count()

    def f(t: float, y: np.ndarray) -> np.ndarray:
        if next(calls) >= MOST:  # a velocity that jumps makes an adaptive solver creep
            raise UserError(f"the flow took {MOST:,} evaluations up to t = {t:.3g}: its velocity should be smooth")
        return np.asarray(velocity(y.reshape(W.shape)), dtype=float).ravel()

    events = None if until is None else _End(until, W.shape)
    atol = rtol * 1e-6 * float(np.abs(W).max())
    with np.errstate(over="ignore", invalid="ignore"):  # a flow that leaves all bounds is said below
        found = solve_ivp(f, (0.0, time), W.ravel(), method, rtol=rtol, atol=atol, dense_output=True, events=events)
    if found.status < 0 or not np.isfinite(found.y).all():
        raise UserError(f"the flow could not be followed beyond t = {found.t[-1]:.3g}: ask for a shorter time")
    states = {"W": found.y.T.reshape(-1, *W.shape)}
    reached = found.status == 1 or until is None
    says = "the time is over" if found.status != 1 else "it came to where it should end"

    def dense(times: np.ndarray) -> np.ndarray:
        return found.sol(times).T.reshape(-1, *W.shape)

    return Trajectory(found.t, states, reached, says, len(found.t) - 1, dense=dense)


def pieces(path: Trajectory[np.ndarray], times: Times) -> tuple[Float[np.ndarray, " e"], Float[np.ndarray, "m 8"]]:
    """The solver's steps, cut at ``times``, and eight times within each where Gauss and Legendre look.

    Args:
        path: a flow that is known between its looks.
        times: where steps are cut as well.
    """
    edges = np.union1d(path.times, times)
    low, high = edges[:-1, None], edges[1:, None]
    return edges, (low + high) / 2 + (high - low) / 2 * NODES


def integral(
    path: Trajectory[np.ndarray], h: Callable[[Weights], np.ndarray], times: Times
) -> Float[np.ndarray, "t k"]:
    """∫₀ᵗ h(W(s)) ds at every t of ``times``, by a quadrature that knows nothing of the equation that W solves.

    Args:
        path: a flow that is known between its looks.
        h: the integrand at given weights, a vector.
        times: the ends t.
    """
    edges, within = pieces(path, times)
    values = np.stack([h(W) for W in path.at(within.ravel())]).reshape(*within.shape, -1)
    parts = np.einsum("mgk,g,m->mk", values, SHARES, np.diff(edges) / 2)
    sums = np.concatenate([np.zeros((1, parts.shape[1])), parts.cumsum(0)])
    return sums[np.searchsorted(edges, times)]


class _End:
    """The event at which SciPy's solver stops: where a function of the weights turns 0."""

    terminal = True

    def __init__(self, until: Callable[[Weights], float], shape: tuple[int, ...]):
        self.until, self.shape = until, shape

    def __call__(self, t: float, y: np.ndarray) -> float:
        return self.until(y.reshape(self.shape))


def as_array(x: Float[np.ndarray | Tensor, "..."]) -> Float[np.ndarray, "..."]:
    """A copy in float64, whether it comes from NumPy or from torch.

    Args:
        x: numbers of any shape.
    """
    return torch.as_tensor(x).detach().double().cpu().numpy().copy()
