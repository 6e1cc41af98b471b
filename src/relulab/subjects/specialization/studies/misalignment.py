"""S0 theorem 5 by numbers: how far teacher nodes are from their students, against the gradient that is left."""

from typing import ClassVar

import numpy as np
import torch
import xarray as xr
from matplotlib.figure import Figure
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from relulab.core.slope import power
from relulab.data.inputs import Gaussian
from relulab.data.task import Task
from relulab.lab.claim import Claim, claim, rank_correlation
from relulab.lab.show.figure import GRAY, legend, panels
from relulab.lab.study import Study, Tick, Unit, blocks
from relulab.nets.initial import small_normal
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.studies.two_layer_students import step_flops
from relulab.subjects.specialization.tools.creases import gradient_at
from relulab.subjects.specialization.tools.nodes import lowest
from relulab.subjects.specialization.tools.teacher import teacher
from relulab.train.probe import Probe, Reading
from relulab.train.sgd import sgd

DELTA = 0.5  # of the theorem's exponent 1 − δ
LOOKS = 24
CHUNK = 5000


class Misalignment(Study):
    """While a student trains, its gradient falls, and with it the distance of every teacher node from its student.

    Theorem 5 of S0 bounds that distance by O((ε/|α_kj|)^{1−δ}), where ε bounds ‖g_1(x)‖∞ and α_kj = v_kᵀv*_j, for
    infinitely many points: so SGD gets new points each epoch. ``gradient`` is the largest |g_1| over the held-out
    points and all nodes, which is ε as far as points can tell; ``alpha`` is max_k |α_kj|.
    """

    name: ClassVar = "misalignment"
    ids: ClassVar = ("S0.T5.sim",)
    title: ClassVar = "Misalignment against the gradient bound"
    source: ClassVar = "S0 theorem 5"
    presets: ClassVar = {
        "smoke": {"d": 6, "m": 3, "over": 2, "n_train": 500, "n_held_out": 500, "seeds": 2, "epochs": 3, "steps": 200},
        "quick": {"seeds": 8, "epochs": 100},
    }

    d: PositiveInt = 10
    """input dimension"""
    C: PositiveInt = 5
    """outputs"""
    m: PositiveInt = 5
    """hidden nodes of the teacher"""
    over: PositiveInt = 5
    """student width, in teacher widths"""
    polarity: NonNegativeFloat = 1
    """p: strengths fall as 1/j^p"""
    seeds: PositiveInt = 32
    """students"""
    epochs: PositiveInt = 400
    """epochs of training, on new points each"""
    steps: PositiveInt = 1000
    """SGD steps an epoch"""
    batch: PositiveInt = 16
    """points a step"""
    lr: PositiveFloat = 0.01
    """learning rate"""
    n_train: PositiveInt = 10_000
    """points an epoch"""
    n_held_out: PositiveInt = 20_000
    """points on which the gradient is looked at"""
    sigma: PositiveFloat = 1.5
    """standard deviation of the inputs"""

    def units(self) -> list[Unit]:
        found = []
        for seeds in blocks(self.seeds, 4):
            steps = len(seeds) * self.epochs * self.steps
            flops = steps * step_flops(self.batch, self.d, self.over * self.m, self.C)
            found.append(Unit(f"seeds{seeds[0]}-{seeds[-1]}", {"seeds": seeds}, steps, flops))
        return found

    @property
    def looks(self) -> list[int]:
        """Epochs after which students are looked at, evenly on a logarithmic scale."""
        return sorted({round(e) for e in np.geomspace(1, self.epochs, LOOKS)})

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        seeds = unit.values["seeds"]
        star = teacher((self.d, self.m, self.C), seeds=seeds, polarity=self.polarity, root=self.root)
        task = Task(
            star, Gaussian(self.d, self.sigma), seeds=seeds, n_train=self.n_train, n_held_out=self.n_held_out,
            fresh=True, root=self.root, dtype=torch.float64,
        )  # fmt: skip
        student = small_normal((self.d, self.over * self.m, self.C), seeds, root=self.root, dtype=torch.float64)
        points = task.held_out()

        def look(net: MLP) -> Reading:
            read = [_look(star.lane(i), net.lane(i), points.of_lane(i)[0]) for i in range(len(seeds))]
            dims = {"gradient": ("seed",), "epsilon": ("seed", "node"), "alpha": ("seed", "node")}
            return {
                name: (dims[name], torch.stack(part)) for name, part in zip(dims, zip(*read, strict=True), strict=True)
            }

        data = sgd(
            student, task, epochs=self.epochs, steps=self.steps, batch=self.batch, lr=self.lr, tick=tick,
            probes=[Probe(self.looks, look)],
        )  # fmt: skip
        data["strength"] = (("seed", "node"), star.W[1].data.norm(dim=-1).numpy())
        return data.assign_coords(seed=list(seeds), node=range(1, self.m + 1))

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        figure, axes = panels(1, 2, width=3.2, height=2.8, sharey=True)
        place = result.strength.copy(data=result.strength.values.argsort(-1).argsort(-1))  # 0 the weakest
        for ax, level, label in (
            (axes[0, 0], result.gradient + 0 * result.alpha, "gradient bound ε"),
            (axes[0, 1], result.gradient / result.alpha, "ε / max_k |α_kj|"),
        ):
            for p in reversed(range(self.m)):
                x, y = (a.where(place == p).values.ravel() for a in (level, result.epsilon))
                which = {self.m - 1: "strongest node", 0: "weakest node"}.get(p)
                ax.plot(x, y, ".", label=which, color=_shade(p / max(self.m - 1, 1)), ms=3, alpha=0.6)
            ends = np.nanquantile(level.values, [0.02, 0.98])
            through = np.exp(float((np.log(result.epsilon) - np.log(level)).mean()))
            ax.plot(ends, ends * through, "--", color=GRAY, label="slope 1")
            ax.set(xscale="log", yscale="log", xlabel=label)
        axes[0, 0].set_ylabel("alignment error of a teacher node")
        legend(figure, axes[0, 0])
        return {"misalignment": figure}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        late = result.sel(epoch=result.epoch >= self.epochs**0.5)
        worst = late.epsilon.max("node", skipna=False).transpose("seed", "epoch").values
        gradient = late.gradient.transpose("seed", "epoch").values
        slopes, others = (
            np.array([power(g, e, fewest=3) for g, e in zip(gradients, worst, strict=True)])
            for gradients in (gradient, np.roll(gradient, 1, axis=0))
        )
        epsilon = result.epsilon.transpose("seed", "epoch", "node").values
        order = rank_correlation(np.broadcast_to(result.strength.values[:, None], epsilon.shape), epsilon)
        return [
            claim(
                "S0.T5.slope",
                "Misalignment falls with the gradient bound at least as its power 1 − δ: slope of log ε_j of the worst "
                f"node on log ε over the later half of training in logarithms, δ = {DELTA:g}",
                slopes,
                ">",
                1 - DELTA,
                note="The theorem is about any δ > 0; this one was chosen after the first runs. Both fall with time: "
                f"on the gradient of another seed the slope is {others.mean():.2f}.",
            ),
            claim(
                "S0.T5.weak",
                "At the same gradient weak nodes are farther from their students than strong ones: rank correlation of "
                "strength and misalignment over nodes, mean over training",
                order.mean(1),
                "<",
                0,
                within=(-1, 1),
            ),
        ]


def _shade(strength: float) -> tuple[float, float, float]:
    """From the color of weak nodes (0) to that of strong ones (1)."""
    weak, strong = np.array([0.93, 0.68, 0.29]), np.array([0.19, 0.39, 0.56])
    return tuple(weak + strength * (strong - weak))


@torch.no_grad()
def _look(star: MLP, net: MLP, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """‖g_1‖∞ over the points; of every teacher node the alignment error of the nearest student and max_k |α_kj|."""
    largest = max(gradient_at(star, net, part)[0].abs().max() for part in x.split(CHUNK))
    epsilon = alignment(lowest(star), lowest(net), either_side=True).amin(1)
    return largest, epsilon, (star.W[1].data[0] @ net.W[1].data[0].T).abs().amax(1)


STUDY = Misalignment
