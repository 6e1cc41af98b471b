r"""The flow of the product w of all layers: −∇ℓ₁ for one layer (5.3), the induced flow for more (T5 lemma D.2),

    w' = −‖w‖^{2(L−1)/L} (∇ℓ₁(w) + (L − 1) P_w ∇ℓ₁(w))   (D.22),

which holds for balanced starts. In the time s with ds = ‖w‖^{1−2/L} dt it becomes w' = −‖w‖ (∇ℓ₁ + (L − 1) P_w ∇ℓ₁) for
every depth; for L = 2, s = t. ``Deep`` solves this equation for the difference x of w from ŵ in the span. From a small
start, w stays near zero for a long time and then grows by orders of magnitude. So ``Escape`` first solves for log N and
v = w/N, the logarithm of its length and its direction, which are never very small or very large:

    (log N)' = −L vᵀ∇ℓ₁(Nv),   v' = −(I − vvᵀ) ∇ℓ₁(Nv).
"""

import math
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64

from relulab.subjects.distillation.flow.reduced_problem import Coordinates, Reduced

Vector = Float64[np.ndarray, " k"]
Square = Float64[np.ndarray, "k k"]
GROWN = 0.1  # share of ‖ŵ‖ at which a student has escaped from zero


class Student(NamedTuple):
    """The coordinates c in the span, x = c − ĉ, and the part of w outside the span.

    Both c and x are stored, because c is tiny at the start and x at the end.
    """

    c: Coordinates
    x: Coordinates
    outside: Float64[np.ndarray, " d"]

    @property
    def length(self) -> float:
        return math.hypot(np.linalg.norm(self.c), np.linalg.norm(self.outside))


@runtime_checkable
class System(Protocol):
    """A flow y' = rhs(s, y) with its start, the scale of the state, and a typical first time step."""

    points: Reduced
    y0: Vector
    scale: Vector
    first: float

    def rhs(self, s: float, y: Vector) -> Vector: ...

    def jacobian(self, s: float, y: Vector) -> Square: ...

    def read(self, y: Vector) -> Student:
        """The student that a state represents."""
        ...

    def clock(self, y: Vector) -> float:
        """The derivative dt/ds."""
        ...

    def successor(self, s: float, y: Vector) -> "System | None":
        """The system that should continue from here, or None for this one."""
        ...


class Shallow:
    """The flow for L = 1. The state is x; the part a outside the span never changes."""

    def __init__(self, points: Reduced, x: Coordinates, a: float):
        self.points, self.y0, self.a = points, x, a
        self.scale = np.full(len(x), np.linalg.norm(x))
        self.first = _first(float(np.linalg.norm(x)), points.gradient(x))

    def rhs(self, s: float, y: Vector) -> Vector:
        return -self.points.gradient(y)

    def jacobian(self, s: float, y: Vector) -> Square:
        return -self.points.hessian(y)

    def read(self, y: Vector) -> Student:
        return Student(self.points.c_hat + y, y, self.a * self.points.e)

    def clock(self, y: Vector) -> float:
        return 1.0

    def successor(self, s: float, y: Vector) -> None:
        return None


class Deep:
    """The flow for L ≥ 2 if w is not small. The state is (x, a)."""

    def __init__(self, points: Reduced, x: Coordinates, a: float, depth: int):
        self.points, self.L = points, depth
        self.N0 = np.linalg.norm(np.append(points.c_hat + x, a))
        self.y0 = np.append(x, a)
        self.scale = np.full(len(x) + 1, max(self.N0, np.linalg.norm(x)))
        self.scale[-1] = abs(a) or 1.0
        self.first = _first(1 / depth, points.gradient(x))

    def rhs(self, s: float, y: Vector) -> Vector:
        w, N, g = self._parts(y)
        return -N * g - (self.L - 1) * (w @ g / N) * w

    def jacobian(self, s: float, y: Vector) -> Square:
        w, N, g = self._parts(y)
        k, L, v, along = len(w), self.L, w / N, w @ g / N
        H = np.zeros((k, k))
        H[:-1, :-1] = self.points.hessian(y[:-1])
        slope = (g + H @ w - along * v) / N  # gradient of wᵀg/N with respect to w
        return -np.outer(g, v) - N * H - (L - 1) * (np.outer(w, slope) + along * np.eye(k))

    def read(self, y: Vector) -> Student:
        return Student(self.points.c_hat + y[:-1], y[:-1], y[-1] * self.points.e)

    def clock(self, y: Vector) -> float:
        return float(self._parts(y)[1] ** (2 / self.L - 1))

    def successor(self, s: float, y: Vector) -> "Escape | None":
        """Switch to length and direction if w comes near zero."""
        if self._parts(y)[1] > GROWN * self.N0:
            return None
        return Escape(self.points, self.points.c_hat + y[:-1], float(y[-1]), self.L)

    def _parts(self, y: Vector) -> tuple[np.ndarray, float, np.ndarray]:
        w = np.append(self.points.c_hat + y[:-1], y[-1])
        return w, float(np.linalg.norm(w)), np.append(self.points.gradient(y[:-1]), 0.0)


class Escape:
    """The flow for L ≥ 2 if w is small. The state is (v, log N/N(0)); the part outside the span is the last of v."""

    def __init__(self, points: Reduced, c: Coordinates, a: float, depth: int):
        self.points, self.L = points, depth
        w = np.append(c, a)
        self.N0 = np.linalg.norm(w)
        self.y0 = np.append(w / self.N0, 0.0)
        self.scale = np.ones(len(self.y0))
        # While N grows to ‖ŵ‖, the last entry of v decreases as N^{−1/L} (D.32); it must keep its relative precision.
        self.scale[-2] = abs(a) / self.N0 * min(1.0, (self.N0 / np.linalg.norm(points.c_hat)) ** (1 / depth)) or 1.0
        self.first = _first(1 / depth, points.gradient(c - points.c_hat))

    def rhs(self, s: float, y: Vector) -> Vector:
        v, _, g = self._parts(y)
        along = v @ g
        return np.append(along * v - g, -self.L * along)

    def jacobian(self, s: float, y: Vector) -> Square:
        v, N, g = self._parts(y)
        k, L = len(v), self.L
        H = np.zeros((k, k))
        H[:-1, :-1] = self.points.hessian(N * v[:-1] - self.points.c_hat)
        Hw = N * H @ v
        slope = g + Hw  # gradient of vᵀ∇ℓ₁(Nv) with respect to v
        J = np.zeros((k + 1, k + 1))
        J[:k, :k] = np.outer(v, slope) + (v @ g) * np.eye(k) - N * H
        J[:k, k] = (v @ Hw) * v - Hw
        J[k, :k], J[k, k] = -L * slope, -L * (v @ Hw)
        return J

    def read(self, y: Vector) -> Student:
        w = self.N0 * np.exp(y[-1]) * y[:-1]
        return Student(w[:-1], w[:-1] - self.points.c_hat, w[-1] * self.points.e)

    def clock(self, y: Vector) -> float:
        return float((self.N0 * np.exp(y[-1])) ** (2 / self.L - 1))

    def successor(self, s: float, y: Vector) -> Deep | None:
        """Switch to the distance from ŵ once w has grown, or has stopped growing because the rest is slow."""
        v, N, g = self._parts(y)
        slow = s > 10 * self.first and s * self.L * abs(v @ g) < GROWN
        if not slow and GROWN * np.linalg.norm(self.points.c_hat) > N / 2:
            return None
        return Deep(self.points, N * v[:-1] - self.points.c_hat, float(N * v[-1]), self.L)

    def _parts(self, y: Vector) -> tuple[np.ndarray, float, np.ndarray]:
        v, N = y[:-1], self.N0 * np.exp(y[-1])
        return v, N, np.append(self.points.gradient(N * v[:-1] - self.points.c_hat), 0.0)


def _first(size: float, g: Coordinates) -> float:
    """The time in which a state of this size moves by its own length."""
    speed = np.linalg.norm(g)
    return float(size / speed) if speed and size else 1.0
