"""SS theorems 3 and 4: how the number of points grows with the number of nodes, the inputs and the accuracy."""

import math
from typing import Annotated, ClassVar

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge, Gt, Len, Lt
from matplotlib.figure import Figure
from pydantic import AfterValidator, PositiveInt

from relulab.core.seeds import Role, stream
from relulab.lab.claim import Claim
from relulab.lab.control import Control
from relulab.lab.study import Study, Tick, Unit, distinct
from relulab.nets.initial import torch_default
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.studies.points_needed.claims import alternatives, growth
from relulab.subjects.specialization.studies.points_needed.drawing import asked, trained
from relulab.subjects.specialization.tools.levenberg_marquardt import levenberg_marquardt
from relulab.subjects.specialization.tools.nodes import Nodes, lowest
from relulab.subjects.specialization.tools.points_asked import points_asked
from relulab.subjects.specialization.tools.teacher import teacher

GAMMA = {"SS.T3": lambda d: 2 * math.sqrt(d), "SS.T4": lambda d: 2.0}
FITTED = 1e-6  # largest norm of the residuals of a student at zero gradient that fits the teacher
Sweep = tuple[PositiveInt, ...]
Several = Annotated[Sweep, Len(min_length=2), AfterValidator(distinct)]
Error = Annotated[float, Gt(0), Lt(1)]


class PointsNeeded(Study):
    """How does the number of points that SS theorems 3 and 4 ask for grow with K, d and 1/ε, and how many are needed?

    Asked for: points are drawn from N(0, I) until the conditions of the theorem on the data hold for teacher node 0,
    with constants computed from these points. The students are random nodes.

    Needed: students three times as wide as the teacher are trained by Levenberg–Marquardt on N points, without
    augmentation, until the gradient is zero at every point. Needed is the smallest N of a grid from which on the
    alignment error of the worst teacher node is at most ε.
    """

    name: ClassVar = "points-needed"
    ids: ClassVar = ("SS.T3.n", "SS.T4.n")
    title: ClassVar = "Number of points that theorems 3 and 4 ask for, and number needed"
    source: ClassVar = "SS theorems 3 and 4; theorems 6 and 7 in section D.1"
    remarks: ClassVar = (
        "SS has no experiment on these orders: all sizes are our choice. Orders have no constants in print, so only "
        "the powers are tested."
    )
    symbols: ClassVar = {
        "N": "number of points, without augmentation", "K": "number of hidden nodes of teacher and student together",
        "m": "number of hidden nodes of the teacher", "d": "number of inputs",
        "ε": "largest alignment error allowed",
    }  # fmt: skip
    presets: ClassVar = {
        "smoke": {
            "nodes": (6, 12), "inputs": (4, 8), "wide": 4, "teachers": (2, 3), "dimensions": (2, 4),
            "grid": (16, 64, 256), "seeds": 2,
        },
        "quick": {"seeds": 8},
    }  # fmt: skip
    captions: ClassVar = {
        "asked": "Number of Gaussian points at which the conditions of theorem 3 (squares, solid lines) and theorem 4 "
        "(triangles, dash-dotted lines) on the data hold, versus the number K of nodes, the number d of inputs and the "
        "alignment error ε. Small symbols are seeds, lines their medians. Gray lines have the printed powers: dashed "
        "for theorem 3, dotted for theorem 4. There is no printed figure.",
        "needed": "Smallest number of points of the grid from which on students at zero gradient are aligned up to ε, "
        "versus K, d and ε. Small symbols are seeds, the lines their medians. Gray dashed lines have the powers of "
        "theorem 3. There is no printed figure.",
    }

    nodes: Several = (6, 12, 24, 48)
    """numbers K of nodes of teacher and student, for the number of points asked for; a third are the teacher's"""
    wide: PositiveInt = 32
    """number of inputs when K or ε varies, for the number of points asked for"""
    inputs: Several = (8, 16, 32, 64)
    """numbers d of inputs, for the number of points asked for"""
    middle: Annotated[int, Ge(3)] = 12
    """K when d or ε varies, for the number of points asked for"""
    epsilon: Annotated[tuple[Error, ...], Len(min_length=2), AfterValidator(distinct)] = (0.4, 0.2, 0.1, 0.05)
    """alignment errors ε; the third one, or else the last one, is used when K or d varies"""
    teachers: Several = (2, 4, 8)
    """numbers m of teacher nodes of the students that are trained; K = 4m"""
    dimensions: Several = (3, 6, 12)
    """numbers d of inputs of the students that are trained"""
    grid: Several = (16, 32, 64, 128, 256, 512, 1024, 2048)
    """numbers N of training points that are tried, in ascending order"""
    seeds: PositiveInt = 16
    """number of seeds"""

    def units(self) -> list[Unit]:
        fits = len(self.settings) * len(self.grid)
        # a fit takes about a quarter of a second on one core, half of it in small operations
        return [Unit(f"seed{seed}", {"seed": seed}, fits, 5e9 * fits) for seed in range(self.seeds)]

    @property
    def fixed(self) -> float:
        """ε when K or d varies."""
        return self.epsilon[min(2, len(self.epsilon) - 1)]

    @property
    def settings(self) -> list[tuple[int, int]]:
        """Pairs (m, d) of the students that are trained; the middle value of one is used when the other varies."""
        m, d = (sweep[len(sweep) // 2] for sweep in (self.teachers, self.dimensions))
        return list(dict.fromkeys([*((m_, d) for m_ in self.teachers), *((m, d_) for d_ in self.dimensions)]))

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        seed = unit.values["seed"]
        errors = {setting: self.errors(seed, *setting, tick) for setting in self.settings}
        m, d = (sweep[len(sweep) // 2] for sweep in (self.teachers, self.dimensions))
        data = {"asked_K": ("theorem", "K"), "asked_d": ("theorem", "d"), "asked_epsilon": ("theorem", "epsilon")}
        values = {
            "asked_K": [[self.asked(seed, t, K, self.wide, self.fixed) for K in self.nodes] for t in GAMMA],
            "asked_d": [[self.asked(seed, t, self.middle, d_, self.fixed) for d_ in self.inputs] for t in GAMMA],
            "asked_epsilon": [[self.asked(seed, t, self.middle, self.wide, e) for e in self.epsilon] for t in GAMMA],
            "corner": [
                [self.asked(seed, t, self.middle, self.wide, e, corner=True) for e in self.epsilon] for t in GAMMA
            ],
            "error_m": np.stack([errors[m_, d] for m_ in self.teachers], 1),
            "error_inputs": np.stack([errors[m, d_] for d_ in self.dimensions], 1),
        }
        data |= {"corner": data["asked_epsilon"]}
        data |= {"error_m": ("trained", "m", "N"), "error_inputs": ("trained", "input", "N")}
        coords = {
            "theorem": list(GAMMA), "K": list(self.nodes), "d": list(self.inputs), "epsilon": list(self.epsilon),
            "trained": [False, True], "m": list(self.teachers), "input": list(self.dimensions), "N": list(self.grid),
        }  # fmt: skip
        result = xr.Dataset({name: (data[name], values[name]) for name in data}, coords=coords)
        return result.expand_dims(seed=[seed])

    def asked(self, seed: int, theorem: str, K: int, d: int, epsilon: float, corner: bool = False) -> float:
        """The number of points that the theorem asks for."""
        w = stream(self.root, Role.TEACHER, seed).standard_normal((K, d))
        w /= np.linalg.norm(w, axis=1, keepdims=True)
        nodes = Nodes(torch.from_numpy(w), torch.full((K,), -0.1, dtype=torch.float64))
        rng = stream(self.root, Role.TRAIN, seed)
        return float(points_asked(rng, nodes, max(2, K // 3), epsilon, GAMMA[theorem](d), corner=corner).points)

    def errors(self, seed: int, m: int, d: int, tick: Tick) -> np.ndarray:
        """Alignment errors of the worst teacher node before and after training, for every N: (2, N).

        NaN for students that did not reach zero gradient, or that have zero gradient without fitting the teacher:
        theorem 3 says nothing about them.
        """
        star, errors = teacher((d, m, 5), seeds=[seed], root=self.root), np.full((2, len(self.grid)), np.nan)
        x = torch.from_numpy(stream(self.root, Role.TRAIN, seed).standard_normal((max(self.grid), d)))
        with torch.no_grad():
            y = star(x)[0]
        for i, N in enumerate(self.grid):
            student = torch_default((d, 3 * m, 5), [seed], root=self.root, dtype=torch.float64)
            errors[0, i] = _worst(star, student)
            fit = levenberg_marquardt(student, x[:N], y[:N], tolerance=1e-10, steps=200)
            if fit.gradient < 1e-10 and math.sqrt(fit.loss) < FITTED:
                errors[1, i] = _worst(star, student)
            tick(1)
        return errors

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        return {"asked": asked(result), "needed": trained(result, self.fixed)}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        return growth(result)

    def controls(self, result: xr.Dataset) -> list[Control]:
        return alternatives(result)


def _worst(star: torch.nn.Module, net: torch.nn.Module) -> float:
    return float(alignment(lowest(star), lowest(net), either_side=True).amin(1).max())


STUDY = PointsNeeded
