"""SS appendix E by numbers: paths of low loss between students of the same teacher."""

from typing import Annotated, ClassVar

import torch
import xarray as xr
from annotated_types import Len
from matplotlib.figure import Figure
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt
from torch import Tensor

from relulab.core.seeds import Role, stream
from relulab.data.inputs import Gaussian
from relulab.data.task import Task
from relulab.lab.claim import Claim
from relulab.lab.control import Control
from relulab.lab.study import SEEDS, Tick, Unit, blocks
from relulab.lab.trained_study import TrainedStudy
from relulab.nets.initial import small_normal
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.studies.connectivity.claims import claims_of, controls_of
from relulab.subjects.specialization.studies.connectivity.drawing import drawn_losses
from relulab.subjects.specialization.studies.connectivity.measures import CURVE, printed, trained
from relulab.subjects.specialization.studies.two_layer_students import STEP, step_flops
from relulab.subjects.specialization.tools.teacher import teacher
from relulab.train.fit import fit
from relulab.train.probe import Probe, Reading

PRINTED = (2, 3)  # nodes of the teacher and of the student in appendix E


class Connectivity(TrainedStudy):
    """Can two students of the same teacher be connected by a path on which the loss stays low?

    The appendix of SS constructs such a path of straight segments: un-specialized nodes get the weights of specialized
    ones, take over their fan-outs, and so move the teacher's nodes from slot to slot. The study follows it for the
    paper's example with exact copies of the teacher's nodes, and for pairs of students that were trained on the same
    teacher from different starts and with different points. Along the path, one node per teacher node does the work of
    all. The loss is also measured on the straight line between both students.
    """

    name: ClassVar = "connectivity"
    ids: ClassVar = ("SS.E",)
    title: ClassVar = "Paths of low loss between students"
    source: ClassVar = "SS appendix E, figure 13"
    symbols: ClassVar = {"m": "number of hidden nodes of the teacher"}
    presets: ClassVar = {
        "smoke": {"over": (2,), "seeds": 2, "epochs": 2, "steps": 200, "n_held_out": 400},
        "quick": {"seeds": 8, "epochs": 20},
    }
    captions: ClassVar = {
        "losses": "Loss versus the position on the way from one student (A) to another one (B), as a share of the loss "
        "of the best constant output. Solid blue lines are the path of straight segments, dashed red lines "
        "the straight line. Thin lines are seeds, thick lines their medians; below the dotted line, 99% of "
        "the variance is explained. First panel: exact copies of the teacher's nodes as in figure 13 of SS, "
        "where the loss on the path is zero and drawn at the lower end. Other panels: trained students. "
        "Answers figure 13 of SS, which is a sketch."
    }

    d: PositiveInt = 10
    """input dimension"""
    C: PositiveInt = 5
    """number of outputs"""
    m: PositiveInt = 5
    """number of hidden nodes of the teacher, besides the paper's example with 2"""
    over: Annotated[tuple[PositiveInt, ...], Len(min_length=1)] = (2, 5, 10)
    """student widths, as multiples of the teacher width m"""
    polarity: NonNegativeFloat = 1
    """polarity p: the strength of teacher node j is proportional to 1/j^p"""
    seeds: PositiveInt = 32
    """number of seeds: teachers with a pair of students each"""
    epochs: PositiveInt = 100
    """number of training epochs"""
    steps: PositiveInt = 1000
    """SGD steps per epoch"""
    batch: PositiveInt = 16
    """points per step"""
    n_train: PositiveInt = 10_000
    """number of training points"""
    n_held_out: PositiveInt = 2000
    """number of held-out points: half of them make the path, the others measure the loss"""
    sigma: PositiveFloat = 1.5
    """standard deviation of the inputs"""

    @property
    def cases(self) -> list[tuple[int, int]]:
        """Widths of teacher and student."""
        return list(dict.fromkeys([PRINTED, *((self.m, over * self.m) for over in self.over)]))

    def units(self) -> list[Unit]:
        units = []
        for m, n in self.cases:
            for seeds in blocks(self.seeds, 4):
                steps = 2 * len(seeds) * self.epochs * self.steps
                flops = steps * step_flops(self.batch, self.d, n, self.C) + STEP * self.epochs * self.steps
                name = f"teacher{m}-student{n}-seeds{seeds[0]}-{seeds[-1]}"
                units.append(Unit(name, {"m": m, "n": n, "seeds": seeds}, steps, flops))
        return units

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        m, n, seeds = (unit.values[key] for key in ("m", "n", "seeds"))
        # two students per teacher, with their own starts, points and batches
        lanes = [seed + which * SEEDS for seed in seeds for which in (0, 1)]
        star = teacher(
            (self.d, m, self.C), seeds=[seed for seed in seeds for _ in (0, 1)], polarity=self.polarity, root=self.root
        )
        task = Task(
            star, Gaussian(self.d, self.sigma), seeds=lanes, n_train=self.n_train, n_held_out=self.n_held_out,
            root=self.root,
        )  # fmt: skip
        student = small_normal((self.d, n, self.C), lanes, root=self.root)
        half = max(1, self.epochs // 2)
        weights = fit(
            student, task, epochs=self.epochs, steps=self.steps, batch=self.batch, tick=tick, **self.training(),
            probes=[Probe((half,), _weights)],
        )["weights"].sel(epoch=half)  # fmt: skip
        star, student, points = star.double(), student.double(), task.held_out()
        parts = []
        for i, seed in enumerate(seeds):
            x, rng = points.of_lane(2 * i)[0].double(), stream(self.root, Role.CHANCE, seed)
            a, b = student.lane(2 * i), student.lane(2 * i + 1)
            earlier = _filled(a, torch.from_numpy(weights.values[2 * i]))
            values = trained(star.lane(2 * i), a, b, earlier, x, rng)
            if (m, n) == PRINTED:
                values |= printed(star.lane(2 * i), x, rng)
            parts.append(xr.Dataset(values, coords={"position": CURVE}).expand_dims(seed=[seed]))
        data = xr.concat(parts, "seed")
        exact = [name for name in data if str(name).startswith("exact")]
        case = data.drop_vars(exact).expand_dims(case=[f"{n} nodes for {m}"])
        case["teacher"], case["student"] = ("case", [m]), ("case", [n])
        return xr.merge([case, data[exact]])

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        return {"losses": drawn_losses(result)}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        return claims_of(result)

    def controls(self, result: xr.Dataset) -> list[Control]:
        return controls_of(result)


def _weights(net: MLP) -> Reading:
    return {"weights": (("lane", "weight"), torch.cat([p.data.flatten(1) for p in net.parameters()], 1))}


def _filled(net: MLP, weights: Tensor) -> MLP:
    """Return a network of the same shape with other weights."""
    copy = MLP(net.widths, dtype=torch.float64)
    torch.nn.utils.vector_to_parameters(weights.double(), copy.parameters())
    return copy


STUDY = Connectivity
