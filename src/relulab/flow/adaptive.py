"""The flow of a few weight vectors under a given velocity, by an adaptive solver, with integrals along its path."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import numpy as np
import torch
from jaxtyping import Float
from scipy.integrate import solve_ivp
from torch import Tensor

from relulab.core.errors import UserError

Weights = Float[np.ndarray, "n d"]
Field = Callable[[Weights], Weights]
MOST = 200_000  # evaluations of the velocity
NODES, SHARES = np.polynomial.legendre.leggauss(8)


@dataclass(frozen=True)
class Flow:
    """A path W(t) as a smooth function of time, the solver's own time steps, and whether it got to where it should."""

    path: Callable[[np.ndarray], np.ndarray]
    steps: Float[np.ndarray, " s"]
    shape: tuple[int, int]
    arrived: bool

    @property
    def end(self) -> float:
        return float(self.steps[-1])

    def at(self, times: Float[np.ndarray, " t"]) -> Float[np.ndarray, "t n d"]:
        return self.path(times).T.reshape(-1, *self.shape)

    def everywhere(self, times: Float[np.ndarray, " t"]) -> tuple[Float[np.ndarray, " e"], Float[np.ndarray, "m 8"]]:
        """The solver's steps, cut at ``times``, and eight times within each where Gauss and Legendre look."""
        edges = np.union1d(self.steps, times)
        low, high = edges[:-1, None], edges[1:, None]
        return edges, (low + high) / 2 + (high - low) / 2 * NODES

    def integral(self, h: Callable[[Weights], np.ndarray], times: Float[np.ndarray, " t"]) -> Float[np.ndarray, "t k"]:
        """∫₀ᵗ h(W(s)) ds at every t of ``times``, by a quadrature that knows nothing of the equation that W solves."""
        edges, within = self.everywhere(times)
        values = np.stack([h(W) for W in self.at(within.ravel())]).reshape(*within.shape, -1)
        pieces = np.einsum("mgk,g,m->mk", values, SHARES, np.diff(edges) / 2)
        sums = np.concatenate([np.zeros((1, pieces.shape[1])), pieces.cumsum(0)])
        return sums[np.searchsorted(edges, times)]


def flow(
    velocity: Field,
    W: Weights,
    time: float,
    *,
    rtol: float = 1e-10,
    until: Callable[[Weights], float] | None = None,
    method: str = "DOP853",
) -> Flow:
    """Ẇ = velocity(W) from W at time 0 to ``time``, or to where ``until`` turns 0.

    Lengths may shrink by many orders, so next to nothing is allowed in absolute error.
    """
    calls = count()

    def f(t: float, y: np.ndarray) -> np.ndarray:
        if next(calls) >= MOST:  # a velocity that jumps makes an adaptive solver creep
            raise UserError(f"the flow took {MOST:,} evaluations up to t = {t:.3g}: its velocity should be smooth")
        return np.asarray(velocity(y.reshape(W.shape)), dtype=float).ravel()

    events = None
    if until is not None:

        def events(t: float, y: np.ndarray) -> float:
            return until(y.reshape(W.shape))

        events.terminal = True
    atol = rtol * 1e-6 * float(np.abs(W).max())
    with np.errstate(over="ignore", invalid="ignore"):  # a flow that leaves all bounds is said below
        found = solve_ivp(f, (0.0, time), W.ravel(), method, rtol=rtol, atol=atol, dense_output=True, events=events)
    if found.status < 0 or not np.isfinite(found.y).all():
        raise UserError(f"the flow could not be followed beyond t = {found.t[-1]:.3g}: ask for a shorter time")
    return Flow(found.sol, found.t, W.shape, found.status == 1 or until is None)


def as_array(x: Float[np.ndarray | Tensor, "..."]) -> Float[np.ndarray, "..."]:
    """A copy in float64, whether it comes from NumPy or from torch."""
    return torch.as_tensor(x).detach().double().numpy().copy()


def norms(W: Float[np.ndarray, "*t n d"]) -> Float[np.ndarray, "*t n"]:
    """‖w_k‖ of each row."""
    return np.linalg.norm(W, axis=-1)


def angles(W: Float[np.ndarray, "*t n d"], w_star: Float[np.ndarray, " d"]) -> Float[np.ndarray, "*t n"]:
    """The angle of each row with w*; by atan2, which keeps its accuracy near 0 and π.

    >>> (angles(np.array([[0.0, 2.0], [-3.0, 0.0]]), np.array([1.0, 0.0])) / np.pi).tolist()
    [0.5, 1.0]
    """
    u, u_star = W / norms(W)[..., None], w_star / np.linalg.norm(w_star)
    return 2 * np.arctan2(norms(u - u_star), norms(u + u_star))
