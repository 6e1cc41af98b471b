"""Solve a stiff flow with an implicit method until the Newton step is short, and take snapshots on the way."""

import warnings
from bisect import bisect_left
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64
from scipy.integrate import DenseOutput, Radau
from scipy.linalg import LinAlgWarning
from scipy.optimize import brentq

from relulab.subjects.distillation.flow.product_flow import Student, System

RELATIVE = 1e-7  # error of a step, relative to a coordinate or its scale
LONGEST = 1e30  # end of integration, in units of the flow's first time step; steps may grow tenfold each
NODES, WEIGHTS = np.polynomial.legendre.leggauss(4)
VANISHED = 1e-250  # a deep student of this length has reached zero


@dataclass
class Phase:
    """A system with the solver steps taken in it. Its s starts at 0; its times t are those of the whole flow.

    ``unit`` is the unit of the system's clock.
    """

    system: System
    s: list[float]
    t: list[float]
    pieces: list
    unit: float

    def state(self, s: float) -> Float64[np.ndarray, " k"]:
        return self.pieces[self._piece(s)](s) if s > 0 else self.system.y0

    def time(self, s: float) -> float:
        """The time t at s, by Gauss quadrature over each step; t may be 1e20, so it is not part of the state."""
        i = self._piece(s)
        half = (s - self.s[i]) / 2
        rates = [self.system.clock(self.state(self.s[i] + half * (1 + node))) for node in NODES]
        return self.t[i] + half * float(WEIGHTS @ rates) * self.unit

    def add(self, s: float, piece: DenseOutput) -> None:
        """Append a solver step that ends at s."""
        self.pieces.append(piece)
        self.s.append(s)
        self.t.append(self.time(s))

    def look(self, s: float) -> "Look":
        """Take a snapshot at s."""
        state = self.state(s)
        return Look(self.time(s) if s > 0 else self.t[0], state, self.system.read(state))

    def _piece(self, s: float) -> int:
        return min(max(bisect_left(self.s, s) - 1, 0), len(self.pieces) - 1)


class Look(NamedTuple):
    """A snapshot: the time, the state of the system and the student that it represents."""

    time: float
    state: Float64[np.ndarray, " k"]
    student: Student


class Followed(NamedTuple):
    """The snapshots from start to end, the distance of the end from the minimum, and how the flow ended."""

    looks: list[Look]
    distance: float
    reached: bool
    says: str
    steps: int


def follow(system: System, *, tolerance: float, until: float, steps: int, looks: int, unit: float = 1.0) -> Followed:
    """Solve a flow by the Radau method of order 5, which suits stiff systems, with snapshots spaced evenly in log s.

    Args:
        system: The system to start with.
        tolerance: Relative length of the Newton step at which the minimum counts as reached.
        until: Latest time.
        steps: Maximum number of solver steps.
        looks: Number of snapshots.
        unit: Unit of the system's clock: times are multiplied by it.
    """
    phases: list[Phase] = []
    says, taken, t = "", 0, 0.0
    small = tolerance * system.read(system.y0).length
    current: System | None = system
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # trial steps may overflow
        while current and not says:
            phases.append(Phase(current, [0.0], [t], [], unit))
            says, current = _run(phases[-1], tolerance, small, until, steps - taken)
            taken, t = taken + len(phases[-1].pieces), phases[-1].t[-1]
    last = phases[-1]
    snapshots = _looks(phases, _end(last, until), looks)
    student = snapshots[-1].student
    distance = last.system.points.newton(student.x)
    reached = distance <= max(small, tolerance * student.length)
    return Followed(snapshots, distance, reached, says, taken)


def _run(phase: Phase, tolerance: float, small: float, until: float, steps: int) -> tuple[str, System | None]:
    """Take steps until the flow ends (with a reason) or another system should continue."""
    system = phase.system
    solver = Radau(
        system.rhs, 0.0, system.y0, LONGEST * system.first, rtol=RELATIVE, atol=RELATIVE * system.scale,
        jac=system.jacobian, first_step=1e-6 * system.first,
    )  # fmt: skip
    while True:
        student = system.read(solver.y)
        if system.points.newton(student.x) <= max(small, tolerance * student.length):
            return "the minimum was reached", None
        if phase.pieces and (next_system := system.successor(solver.t, solver.y)):
            return "", next_system
        if phase.pieces and student.length < VANISHED:
            return "the student reached w = 0, where a deep student stays (condition 5.12 prevents this)", None
        if phase.t[-1] >= until < np.inf:
            return f"the time limit {until:g} was reached before the minimum", None
        if len(phase.pieces) >= steps:
            return "the step limit was reached before the minimum", None
        if solver.status != "running":
            return "the flow stopped moving, but the curvature indicates a minimum elsewhere", None
        message = _step(solver)
        if message:
            return f"the solver failed before the minimum was reached: {message}", None
        phase.add(solver.t, solver.dense_output())


def _step(solver: Radau) -> str | None:
    """Take one step; return why it failed, or None. Points of very different lengths can make its matrix singular."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", LinAlgWarning)
        try:
            message = solver.step()
        except LinAlgWarning:
            return "the matrix of a step is singular"
    return message if solver.status == "failed" else None


def _end(last: Phase, until: float) -> float:
    """The end of the last phase, or the s in it at which the time is ``until``."""
    if last.t[-1] <= until:
        return last.s[-1]
    root = brentq(lambda s: last.look(s).time - until, last.s[-2], last.s[-1], xtol=1e-300)
    assert isinstance(root, float)
    return root


def _looks(phases: list[Phase], end: float, looks: int) -> list[Look]:
    starts = np.cumsum([0.0, *(p.s[-1] for p in phases[:-1])])
    total = starts[-1] + end
    if not total:
        return [phases[0].look(0.0)]
    at = np.append(0.0, np.geomspace(min(0.01 * phases[0].system.first, total / 10), total, looks - 1))
    which = np.searchsorted(starts, at[:-1], side="right") - 1
    rows = [phases[k].look(min(s - starts[k], phases[k].s[-1])) for k, s in zip(which, at[:-1], strict=True)]
    return [*rows, phases[-1].look(end)]  # exactly at the end: the sum of the phases is rounded
