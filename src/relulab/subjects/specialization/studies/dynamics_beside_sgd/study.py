"""LM theorem 2: the mean dynamics of eq. 6, integrated beside SGD and the exact gradient flow."""

from itertools import pairwise
from typing import Annotated, ClassVar

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge, Len
from matplotlib.figure import Figure
from pydantic import PositiveFloat, PositiveInt

from relulab.core.seeds import Role, stream
from relulab.data.inputs import Gaussian
from relulab.data.task import Task
from relulab.lab.claim import Claim
from relulab.lab.control import Control
from relulab.lab.study import SEEDS, Study, Tick, Unit, blocks
from relulab.nets.initial import torch_default
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.studies.dynamics_beside_sgd.claims import claims_of, controls_of
from relulab.subjects.specialization.studies.dynamics_beside_sgd.drawing import drawn
from relulab.subjects.specialization.studies.dynamics_beside_sgd.measures import along, compared
from relulab.subjects.specialization.tools.luck_teacher import luck_teacher
from relulab.subjects.specialization.tools.mean_dynamics import flat_weights, mean_dynamics
from relulab.train.fit import fit
from relulab.train.optimizers import SGD
from relulab.train.probe import Probe


class DynamicsBesideSgd(Study):
    """How well do the mean dynamics of LM theorem 2 describe SGD, if expectations are separated that do not separate?

    The theorem assumes that the expectation of a product of modulations, gates and activations is the product of their
    expectations. Then the weights follow eq. 6. Here students of the same teacher and the same start follow eq. 6, the
    exact gradient flow on the same points, and SGD with new points in every step. One unit of time is 1/η steps of SGD
    with learning rate η. Along the exact flow, the velocities by both equations are compared.
    """

    name: ClassVar = "dynamics-beside-sgd"
    ids: ClassVar = ("LM.T2.dynamics",)
    title: ClassVar = "Mean dynamics of theorem 2 beside SGD"
    source: ClassVar = "LM theorem 2"
    remarks: ClassVar = (
        "LM has no such figure: it does not measure whether expectations separate. The networks are small, because "
        "all expectations are computed anew in every step. Inputs have standard deviation 1 instead of 10; with 10, "
        "students that follow eq. 6 often diverge."
    )
    symbols: ClassVar = {"η": "learning rate of SGD, and step of both flows"}
    presets: ClassVar = {
        "smoke": {"hidden": (3, 4), "d": 4, "C": 3, "seeds": 2, "steps": 40, "points": 100, "looks": 3},
        "quick": {"seeds": 8, "steps": 800, "points": 500},
    }
    captions: ClassVar = {
        "dynamics": "Upper row: loss and mean best correlation of each hidden layer over time, for students that "
        "follow SGD, the exact gradient flow on the same points, and equation 6. Lower row, left: distance of the "
        "weights from those of SGD, as a multiple of the distance that SGD goes until the end. Lower row, right, "
        "along the exact gradient flow: the cosine of the angle between the velocity by equation 6 and minus the "
        "gradient, and the norm of their difference relative to the gradient, for the weights into each hidden layer. "
        "1 and 0 would mean that the expectations separate. Lines are means over seeds, shaded areas two standard "
        "errors. LM has no such figure.",
    }

    d: PositiveInt = 10
    """input dimension"""
    hidden: Annotated[tuple[PositiveInt, ...], Len(min_length=1)] = (5, 6, 7)
    """widths of the teacher's hidden layers"""
    C: PositiveInt = 10
    """number of outputs"""
    over: PositiveInt = 2
    """student width, as a multiple of the teacher width"""
    seeds: PositiveInt = 32
    """number of seeds: teachers with a student each"""
    steps: PositiveInt = 2000
    """number of steps"""
    lr: PositiveFloat = 0.05
    """learning rate η of SGD, and step of both flows"""
    batch: PositiveInt = 64
    """points per step of SGD"""
    points: Annotated[int, Ge(2)] = 1000
    """number of points over which expectations are taken"""
    sigma: PositiveFloat = 1
    """standard deviation of the inputs"""
    looks: Annotated[int, Ge(2)] = 11
    """number of times, from start to end, at which students are measured"""

    def units(self) -> list[Unit]:
        widths = (self.d, *(self.over * n for n in self.hidden), self.C)
        weights = sum(a * b for a, b in pairwise(widths))
        units = []
        for seeds in blocks(self.seeds, 4):
            steps = len(seeds) * self.steps
            # two mean dynamics and a flow; products of this size run at a small part of the peak rate
            flops = 20.0 * steps * self.points * weights * self.C
            units.append(Unit(f"seeds{seeds[0]}-{seeds[-1]}", {"seeds": seeds}, 4 * steps, flops))
        return units

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        seeds = unit.values["seeds"]
        widths, wide = (self.d, *self.hidden, self.C), (self.d, *(self.over * n for n in self.hidden), self.C)
        star, other = (luck_teacher(widths, seeds=[s + k * SEEDS for s in seeds], root=self.root) for k in (0, 1))
        start = torch_default(wide, seeds, root=self.root, dtype=torch.float64)
        inputs = Gaussian(self.d, self.sigma)
        task = Task(
            star, inputs, seeds=seeds, n_train=self.steps * self.batch, n_held_out=self.points, root=self.root,
            dtype=torch.float64,
        )  # fmt: skip
        held_out = task.held_out()
        x = held_out.X[held_out.group]
        made = torch.stack([
            torch.from_numpy(inputs.draw(stream(self.root, Role.TRAIN, seed, 1), self.points)) for seed in seeds
        ])  # fmt: skip
        paths = {}
        for arm, teacher, separated in (("mean", star, True), ("exact", star, False), ("other", other, True)):
            paths[arm] = mean_dynamics(
                teacher, start, made, time=self.lr * self.steps, steps=self.steps, looks=self.looks,
                separated=separated,
            )  # fmt: skip
            tick(len(seeds) * self.steps)
        weights = {arm: path["weights"] for arm, path in paths.items()}
        weights["sgd"] = self._sgd(start, task, paths["exact"].times, tick)
        return self._dataset(seeds, start, star, other, weights, paths["exact"].times, x)

    def _sgd(self, start: MLP, task: Task, times: torch.Tensor, tick: Tick) -> torch.Tensor:
        """Train a copy of the students and return their weights at some times."""
        student = torch_default(start.widths, task.seeds, root=self.root, dtype=torch.float64)
        at = [round(float(t) / self.lr) for t in times]
        data = fit(
            student, task, epochs=1, steps=self.steps, batch=self.batch, optimizer=SGD(self.lr), tick=tick,
            probes=[Probe(steps=at, measure=lambda net: {"weights": (("lane", "weight"), flat_weights(net))})],
        )  # fmt: skip
        return torch.from_numpy(data.weights.transpose("step", "lane", "weight").values)

    def _dataset(self, seeds, start, star, other, weights, times, x) -> xr.Dataset:
        dims = {"loss": ("time", "seed"), "rho": ("time", "seed", "layer")}
        arms = []
        went = (weights["sgd"][-1] - weights["sgd"][0]).norm(dim=-1)
        for arm, path in weights.items():
            one = xr.Dataset({
                name: (dims[name], values.numpy()) for name, values in along(start, star, path, x).items()
            })  # fmt: skip
            one["distance"] = (("time", "seed"), ((path - weights["sgd"]).norm(dim=-1) / went).numpy())
            arms.append(one.expand_dims(arm=[arm]))
        data = xr.concat(arms, "arm")
        for name, values in compared(start, star, other, weights["exact"], x).items():
            data[name] = (("time", "seed", "layer"), values)
        layers = np.arange(1, len(self.hidden) + 1)
        return data.assign_coords(time=times.numpy(), seed=list(seeds), layer=layers)

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        return {"dynamics": drawn(result)}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        return claims_of(result)

    def controls(self, result: xr.Dataset) -> list[Control]:
        return controls_of(result)


STUDY = DynamicsBesideSgd
