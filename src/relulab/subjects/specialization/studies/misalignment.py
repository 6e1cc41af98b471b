"""S0 theorem 5 by numbers: the distance of teacher nodes from their students versus the remaining gradient."""

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
from relulab.lab.control import Control
from relulab.lab.show.figure import BLUE, GRAY, legend, panels, shades
from relulab.lab.study import Tick, Unit, blocks
from relulab.lab.trained_study import TrainedStudy
from relulab.nets.initial import small_normal
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.studies.shuffled import shuffled
from relulab.subjects.specialization.studies.two_layer_students import STEP, step_flops
from relulab.subjects.specialization.terms import GRADIENT, PAIR
from relulab.subjects.specialization.tools.creases import gradient_at
from relulab.subjects.specialization.tools.nodes import lowest
from relulab.subjects.specialization.tools.teacher import teacher
from relulab.train.fit import fit
from relulab.train.probe import Probe, Reading

DELTA = 0.5  # δ of the theorem's exponent 1 − δ
SNAPSHOTS = 24  # number of measurement times, before equal ones are merged
CHUNK = 5000  # points per evaluation of the gradient


class Misalignment(TrainedStudy):
    """Does the distance of a teacher node from its nearest student fall together with the gradient?

    Theorem 5 of S0 bounds this distance by any power of ε below 1, divided by |α_kj|, where ε is the largest gradient.
    It assumes infinitely many points, so SGD gets new points every epoch. The study estimates ε by the largest |g_1|
    over held-out points and hidden nodes, and compares it with the alignment error of every teacher node during
    training. Both fall with time, so that the error of one student also follows the gradient of another. Therefore the
    seeds are compared with each other at the same time.
    """

    name: ClassVar = "misalignment"
    ids: ClassVar = ("S0.T5.sim",)
    title: ClassVar = "Misalignment versus the gradient bound"
    source: ClassVar = "S0 theorem 5"
    symbols: ClassVar = {"ε": "largest entry of the gradient g_1 over points and nodes", **GRADIENT, **PAIR}
    presets: ClassVar = {
        "smoke": {"d": 6, "m": 3, "over": 2, "n_train": 500, "n_held_out": 500, "seeds": 2, "epochs": 3, "steps": 200},
        "quick": {"seeds": 8, "epochs": 100},
    }
    captions: ClassVar = {
        "misalignment": "Alignment error of every teacher node versus the largest gradient ε (left) and versus ε "
        "divided by the largest |α_kj| of any student k (right), which takes the strength of node j into account. One "
        "symbol per node, seed and measurement time, from strong nodes (dark; triangles up for the strongest) to weak "
        "nodes (light; triangles down for the weakest). The error falls about as fast as the dashed line of slope 1, "
        "and on the left weak nodes have larger errors. Tests theorem 5 of S0, which has no figure.",
        "same-time": "The same at equal times: the alignment error of the worst node versus the largest gradient ε, "
        "both relative to their geometric means over all seeds at that time; one symbol per seed and time of the "
        "second half of training on a logarithmic scale. On the dashed line, the error is proportional to ε.",
    }

    d: PositiveInt = 10
    """input dimension"""
    C: PositiveInt = 5
    """number of outputs"""
    m: PositiveInt = 5
    """number of hidden nodes of the teacher"""
    over: PositiveInt = 5
    """student width, as a multiple of the teacher width"""
    polarity: NonNegativeFloat = 1
    """polarity p: the strength of teacher node j is proportional to 1/j^p"""
    seeds: PositiveInt = 32
    """number of seeds"""
    epochs: PositiveInt = 400
    """number of training epochs, each with new points"""
    steps: PositiveInt = 1000
    """SGD steps per epoch"""
    batch: PositiveInt = 16
    """points per step"""
    n_train: PositiveInt = 10_000
    """number of training points per epoch"""
    n_held_out: PositiveInt = 20_000
    """number of held-out points on which the gradient is measured"""
    sigma: PositiveFloat = 1.5
    """standard deviation of the inputs"""

    def units(self) -> list[Unit]:
        units = []
        for seeds in blocks(self.seeds, 4):
            steps = len(seeds) * self.epochs * self.steps
            flops = steps * step_flops(self.batch, self.d, self.over * self.m, self.C) + STEP * self.epochs * self.steps
            units.append(Unit(f"seeds{seeds[0]}-{seeds[-1]}", {"seeds": seeds}, steps, flops))
        return units

    @property
    def looks(self) -> list[int]:
        """Epochs at which students are measured, evenly spaced on a logarithmic scale."""
        return sorted({round(e) for e in np.geomspace(1, self.epochs, SNAPSHOTS)})

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        seeds = unit.values["seeds"]
        star = teacher((self.d, self.m, self.C), seeds=seeds, polarity=self.polarity, root=self.root)
        task = Task(
            star, Gaussian(self.d, self.sigma), seeds=seeds, n_train=self.n_train, n_held_out=self.n_held_out,
            fresh=True, root=self.root, dtype=torch.float64,
        )  # fmt: skip
        student = small_normal((self.d, self.over * self.m, self.C), seeds, root=self.root, dtype=torch.float64)
        points = task.held_out()

        def read(net: MLP) -> Reading:
            by_lane = [_look(star.lane(i), net.lane(i), points.of_lane(i)[0]) for i in range(len(seeds))]
            dims = {"gradient": ("seed",), "epsilon": ("seed", "node"), "alpha": ("seed", "node")}
            columns = zip(*by_lane, strict=True)
            return {name: (dims[name], torch.stack(column)) for name, column in zip(dims, columns, strict=True)}

        data = fit(
            student, task, epochs=self.epochs, steps=self.steps, batch=self.batch, tick=tick, **self.training(),
            probes=[Probe(self.looks, read)],
        ).rename(lane="seed")  # fmt: skip
        data["strength"] = (("seed", "node"), star.W[1].data.norm(dim=-1).numpy())
        return data.assign_coords(seed=list(seeds), node=range(1, self.m + 1))

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        figure, axes = panels(1, 2, width=3.2, height=2.8, sharey=True)
        rank = result.strength.copy(data=result.strength.values.argsort(-1).argsort(-1))  # 0 is the weakest node
        colors = shades(self.m)
        for ax, level, label in (
            (axes[0, 0], result.gradient + 0 * result.alpha, "largest gradient ε"),
            (axes[0, 1], result.gradient / result.alpha, r"ε divided by the largest $|\alpha_{kj}|$"),
        ):
            for r in reversed(range(self.m)):
                x, y = (a.where(rank == r).values.ravel() for a in (level, result.epsilon))
                node, marker = {self.m - 1: ("strongest node", "^"), 0: ("weakest node", "v")}.get(r, (None, "."))
                ax.plot(x, y, marker, label=node, color=colors[self.m - 1 - r], ms=3, alpha=0.6)
            ends = np.nanquantile(level.values, [0.02, 0.98])
            factor = np.exp(float((np.log(result.epsilon) - np.log(level)).mean()))
            ax.plot(ends, ends * factor, "--", color=GRAY, label="slope 1")
            ax.set(xscale="log", yscale="log", xlabel=label)
        axes[0, 0].set_ylabel("alignment error of teacher node")
        legend(figure, axes[0, 0])
        return {"misalignment": figure} | ({"same-time": self._same_time(result)} if self.seeds > 1 else {})

    def _same_time(self, result: xr.Dataset) -> Figure:
        figure, axes = panels(1, 1, width=3.6, height=2.8)
        ax, (gradient, worst) = axes[0, 0], self._apart(result)
        ax.plot(np.exp(gradient).ravel(), np.exp(worst).ravel(), "o", ms=3, alpha=0.6, color=BLUE, label="seeds")
        ends = np.exp([np.nanmin(gradient), np.nanmax(gradient)])
        ax.plot(ends, ends, "--", color=GRAY, label="slope 1")
        ax.set(xscale="log", yscale="log", xlabel="largest gradient ε, relative to the mean of its time")
        ax.set_ylabel("error of the worst node, relative")
        legend(figure, ax)
        return figure

    def controls(self, result: xr.Dataset) -> list[Control]:
        other = result.assign(gradient=result.gradient.roll(seed=1))
        return [
            Control("the gradients of another seed", ("S0.T5.slope",), other),
            Control("strengths assigned to the nodes at random", ("S0.T5.weak",),
                    shuffled(result, "node", "strength", root=self.root)),
        ]  # fmt: skip

    def claims(self, result: xr.Dataset) -> list[Claim]:
        claims = [self._slope(result)] if self.seeds > 1 else []
        if self.m > 1:
            epsilon = result.epsilon.transpose("seed", "epoch", "node").values
            ranks = rank_correlation(np.broadcast_to(result.strength.values[:, None], epsilon.shape), epsilon)
            claims.append(
                claim(
                    "S0.T5.weak",
                    "At the same gradient, weak nodes are farther from their students than strong nodes",
                    ranks.mean(1),
                    "<",
                    0,
                    within=(-1, 1),
                    statistic="rank correlation between strength and alignment error over the nodes of a teacher, mean "
                    "over training",
                )
            )
        return claims

    def _apart(self, result: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
        """Return the logs of the largest gradient and of the worst error, (seed, epoch), minus their means over seeds.

        The second half of training on a logarithmic time scale is used.
        """
        late = result.sel(epoch=result.epoch >= self.epochs**0.5)
        logs = np.log(late.gradient), np.log(late.epsilon.max("node", skipna=False))
        gradient, worst = (x.transpose("seed", "epoch").values for x in logs)
        return gradient - gradient.mean(0), worst - worst.mean(0)

    def _over_time(self, result: xr.Dataset, shift: int) -> float:
        """Return the mean slope over time, with the gradient of the seed that is ``shift`` places before."""
        late = result.sel(epoch=result.epoch >= self.epochs**0.5)
        worst = late.epsilon.max("node", skipna=False).transpose("seed", "epoch").values
        gradient = np.roll(late.gradient.transpose("seed", "epoch").values, shift, axis=0)
        return float(np.mean([power(g, e, fewest=3) for g, e in zip(gradient, worst, strict=True)]))

    def _slope(self, result: xr.Dataset) -> Claim:
        gradient, worst = self._apart(result)
        over_time = [self._over_time(result, shift) for shift in (0, 1)]
        return claim(
            "S0.T5.slope",
            f"At the same time, the alignment error grows at least as the power {1 - DELTA:g} of the largest gradient",
            (gradient * worst).sum(1) / (gradient**2).sum(1),
            ">",
            1 - DELTA,
            note=f"The theorem has all powers below 1; the power {1 - DELTA:g} was chosen after a first run. Over "
            f"time, the slope is {over_time[0]:.2f} for the student's own gradient and {over_time[1]:.2f} for that of "
            "another seed, which shows only that both fall.",
            statistic="slope of the log of the alignment error of the worst node against the log of the largest "
            "gradient, both minus their means over the seeds at the same time, over the second half of training on a "
            "logarithmic time scale",
        )


@torch.no_grad()
def _look(star: MLP, net: MLP, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return max |g_1| over the points and, per teacher node, the least alignment error and max_k |α_kj|."""
    largest = max(gradient_at(star, net, part)[0].abs().max() for part in x.split(CHUNK))
    epsilon = alignment(lowest(star), lowest(net), either_side=True).amin(1)
    return largest, epsilon, (star.W[1].data[0] @ net.W[1].data[0].T).abs().amax(1)


STUDY = Misalignment
