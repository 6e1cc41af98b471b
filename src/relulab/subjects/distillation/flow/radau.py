"""Follows a stiff flow with an implicit method until Newton's step is short, and looks at it on the way."""

from bisect import bisect_left
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64
from scipy.integrate import DenseOutput, Radau
from scipy.optimize import brentq

from relulab.subjects.distillation.flow.product_flow import Student, System

RELATIVE = 1e-7  # error of a step, as a share of what a coordinate is or of its scale
LONGEST = 1e30  # in units of the flow's own first time: an implicit step grows tenfold, so this is soon reached
NODES, WEIGHTS = np.polynomial.legendre.leggauss(4)
VANISHED = 1e-250  # a length from which no deep student returns


@dataclass
class Phase:
    """A system with the steps that it was followed by; its s begins at 0, its times are those of the whole flow."""

    system: System
    s: list[float]
    t: list[float]
    pieces: list

    def state(self, s: float) -> Float64[np.ndarray, " k"]:
        return self.pieces[self._piece(s)](s) if s > 0 else self.system.y0

    def time(self, s: float) -> float:
        """t, by Gauss's rule over each step: t itself, which may be 1e20, had better not be solved for."""
        i = self._piece(s)
        half = (s - self.s[i]) / 2
        rates = [self.system.clock(self.state(self.s[i] + half * (1 + node))) for node in NODES]
        return self.t[i] + half * float(WEIGHTS @ rates)

    def add(self, s: float, piece: DenseOutput) -> None:
        self.pieces.append(piece)
        self.s.append(s)
        self.t.append(self.time(s))

    def look(self, s: float) -> "Look":
        state = self.state(s)
        return Look(self.time(s) if s > 0 else self.t[0], state, self.system.read(state))

    def _piece(self, s: float) -> int:
        return min(max(bisect_left(self.s, s) - 1, 0), len(self.pieces) - 1)


class Look(NamedTuple):
    """The time, the system's state and the student that it stands for."""

    time: float
    state: Float64[np.ndarray, " k"]
    student: Student


class Followed(NamedTuple):
    """The looks, the first at the start and the last at the end; how far that is from the minimum; how it ended."""

    looks: list[Look]
    distance: float
    reached: bool
    says: str
    steps: int


def follow(system: System, *, tolerance: float, until: float, steps: int, looks: int) -> Followed:
    """Radau's method of order 5, which stiffness does not hold back, with looks at logarithmically spaced s."""
    phases: list[Phase] = []
    says, taken, t = "", 0, 0.0
    small = tolerance * system.read(system.y0).length
    going: System | None = system
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # trial steps may go anywhere
        while going and not says:
            phases.append(Phase(going, [0.0], [t], []))
            says, going = _run(phases[-1], tolerance, small, until, steps - taken)
            taken, t = taken + len(phases[-1].pieces), phases[-1].t[-1]
    last = phases[-1]
    found = _looks(phases, _end(last, until), looks)
    student = found[-1].student
    distance = last.system.points.newton(student.x)
    reached = distance <= max(small, tolerance * student.length)
    return Followed(found, distance, reached, says, taken)


def _run(phase: Phase, tolerance: float, small: float, until: float, steps: int) -> tuple[str, System | None]:
    """Takes steps until something is to be said, or another system should go on."""
    system = phase.system
    solver = Radau(
        system.rhs, 0.0, system.y0, LONGEST * system.first, rtol=RELATIVE, atol=RELATIVE * system.scale,
        jac=system.jacobian, first_step=1e-6 * system.first,
    )  # fmt: skip
    while True:
        student = system.read(solver.y)
        if system.points.newton(student.x) <= max(small, tolerance * student.length):
            return "the minimum is reached", None
        if phase.pieces and (then := system.then(solver.t, solver.y)):
            return "", then
        if phase.pieces and student.length < VANISHED:
            return "the student has come to w = 0, where a deep one stays; 5.12 would keep it from that", None
        if phase.t[-1] >= until:
            return f"time {until:g} is over before the minimum is reached", None
        if len(phase.pieces) >= steps:
            return "all steps are taken before the minimum is reached", None
        if solver.status != "running":
            return "the flow moves no more, though the curvature sees a minimum elsewhere", None
        message = solver.step()
        if solver.status == "failed":
            return f"the solver gave up before the minimum is reached: {message}", None
        phase.add(solver.t, solver.dense_output())


def _end(last: Phase, until: float) -> float:
    """The end of the last phase, or where in it the time ``until`` was."""
    if last.t[-1] <= until:
        return last.s[-1]
    root = brentq(lambda s: last.look(s).time - until, last.s[-2], last.s[-1], xtol=1e-300)
    assert isinstance(root, float)
    return root


def _looks(phases: list[Phase], end: float, looks: int) -> list[Look]:
    starts = np.cumsum([0.0, *(p.s[-1] for p in phases[:-1])])
    whole = starts[-1] + end
    if not whole:
        return [phases[0].look(0.0)]
    at = np.append(0.0, np.geomspace(min(0.01 * phases[0].system.first, whole / 10), whole, looks - 1))
    which = np.searchsorted(starts, at[:-1], side="right") - 1
    rows = [phases[k].look(min(s - starts[k], phases[k].s[-1])) for k, s in zip(which, at[:-1], strict=True)]
    return [*rows, phases[-1].look(end)]  # exactly: the sum of times has rounded it
