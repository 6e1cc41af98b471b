"""LM section 3.3: after training, most eigenvalues of the Hessian are near zero, and un-specialized nodes are why."""

from typing import Annotated, ClassVar

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge, Gt, Lt
from jaxtyping import Float64
from matplotlib.figure import Figure
from pydantic import PositiveFloat, PositiveInt
from torch import Tensor

from relulab.data.inputs import Gaussian
from relulab.data.task import Task
from relulab.lab.claim import Claim
from relulab.lab.control import Control
from relulab.lab.show.figure import BLUE, GRAY, RED, legend, panels
from relulab.lab.study import Tick, Unit, blocks
from relulab.lab.trained_study import TrainedStudy
from relulab.nets.initial import torch_default
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.correlation import correlation
from relulab.subjects.specialization.studies.shuffled import before_training, shuffled
from relulab.subjects.specialization.studies.statements import Statement, claimed
from relulab.subjects.specialization.studies.two_layer_students import Correlation, step_flops
from relulab.subjects.specialization.tools.hessian_product import HessianProduct
from relulab.subjects.specialization.tools.luck_teacher import luck_teacher
from relulab.train.fit import fit
from relulab.train.probe import Probe, Reading

FLOOR = 1e-12  # smaller eigenvalues and curvatures are drawn here, relative to the largest eigenvalue


class FlatMinima(TrainedStudy):
    """Are most eigenvalues of the Hessian of a trained student near zero, because un-specialized nodes do nothing?

    LM explains flat minima by theorem 5: the fan-out of nodes that follow no teacher node goes to zero, and then their
    input weights can be changed without changing the outputs. Here all eigenvalues of the Hessian of two-layer students
    are computed on held-out points, before and after training, and the curvature along the input weights of every node.
    """

    name: ClassVar = "flat-minima"
    ids: ClassVar = ("LM.X.flat",)
    title: ClassVar = "Flat minima and un-specialized nodes"
    source: ClassVar = "LM sections 1 and 3.3"
    remarks: ClassVar = (
        "LM has no figure for this. The threshold for “near zero”, one thousandth of the largest eigenvalue, is ours. "
        "The Hessian is that of half the squared error, summed over outputs, on average over the held-out points."
    )
    symbols: ClassVar = {"λ": "an eigenvalue of the Hessian"}
    presets: ClassVar = {
        "smoke": {"d": 4, "m": 3, "C": 3, "over": 3, "seeds": 2, "epochs": 1, "steps": 300, "n_held_out": 200},
        "quick": {"seeds": 8, "epochs": 6},
    }
    captions: ClassVar = {
        "spectrum": "Left: absolute values of all eigenvalues of the Hessian relative to the largest one, in "
        "ascending order, before (dashed) and after training (solid), one line per seed. Eigenvalues below the dotted "
        "line count as near zero. Right: mean curvature along the input weights of every student node after training, "
        "relative to the largest eigenvalue, versus its best correlation with a teacher node, one dot per node; those "
        "right of the dotted line are specialized. Our picture of what LM says on flat minima.",
    }

    d: PositiveInt = 10
    """input dimension"""
    C: PositiveInt = 5
    """number of outputs"""
    m: PositiveInt = 5
    """number of hidden nodes of the teacher"""
    over: PositiveInt = 5
    """student width, as a multiple of the teacher width"""
    seeds: PositiveInt = 16
    """number of seeds: teachers with a student each"""
    epochs: PositiveInt = 20
    """number of training epochs"""
    steps: PositiveInt = 1000
    """SGD steps per epoch"""
    batch: PositiveInt = 16
    """points per step"""
    lr: PositiveFloat = 0.1
    """learning rate"""
    n_train: PositiveInt = 10_000
    """number of training points"""
    n_held_out: Annotated[int, Ge(2)] = 2000
    """number of held-out points, for the Hessian and correlations"""
    sigma: PositiveFloat = 1
    """standard deviation of the inputs"""
    near: Annotated[float, Gt(0), Lt(1)] = 1e-3
    """largest absolute value, relative to the largest eigenvalue, that counts as near zero"""
    threshold: Correlation = 0.95
    """correlation above which a student node counts as specialized"""

    def units(self) -> list[Unit]:
        n, units = self.over * self.m, []
        size = self.d * n + n + n * self.C + self.C
        for seeds in blocks(self.seeds, 4):
            steps = len(seeds) * self.epochs * self.steps
            # twice a product of the Hessian with every unit vector, each as costly as some passes over the points
            hessian = 2.0 * len(seeds) * size * 20 * self.n_held_out * size
            flops = 10 * steps * step_flops(self.batch, self.d, n, self.C) + hessian
            units.append(Unit(f"seeds{seeds[0]}-{seeds[-1]}", {"seeds": seeds}, steps, flops))
        return units

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        seeds = unit.values["seeds"]
        star = luck_teacher((self.d, self.m, self.C), seeds=seeds, root=self.root)
        task = Task(
            star, Gaussian(self.d, self.sigma), seeds=seeds, n_train=self.n_train, n_held_out=self.n_held_out,
            root=self.root,
        )  # fmt: skip
        student, points = torch_default((self.d, self.over * self.m, self.C), seeds, root=self.root), task.held_out()

        def read(net: MLP) -> Reading:
            rows = [self._one(star.lane(i), net.lane(i), points.of_lane(i)[0]) for i in range(len(seeds))]
            dims = {"eigenvalue": ("index",), "curvature": ("node",), "rho": ("node",), "flat": ("node",), "loss": ()}
            return {name: (("lane", *dims[name]), torch.stack([row[name] for row in rows])) for name in dims}

        data = fit(
            student, task, epochs=self.epochs, steps=self.steps, batch=self.batch, tick=tick, **self.training(),
            probes=[Probe((0, self.epochs), read)],
        )  # fmt: skip
        return data.rename(lane="seed").assign_coords(seed=list(seeds))

    def _one(self, star: MLP, student: MLP, x: Tensor) -> dict[str, Tensor]:
        """Measure one student."""
        net, x = student.double(), x.double()
        with torch.no_grad():
            f_star, f = star.layers(x), net.layers(x)
            loss = (f_star[-1] - f[-1]).square().mean()
            rho = correlation(f_star[0][0], f[0][0]).amax(0)
        nodes = self.over * self.m
        if not loss.isfinite():
            missing = torch.full((nodes,), torch.nan)
            size = sum(p.numel() for p in net.parameters())
            return {"eigenvalue": torch.full((size,), torch.nan), "curvature": missing, "rho": missing,
                    "flat": missing, "loss": loss}  # fmt: skip
        H = HessianProduct(net, x, f_star[-1][0]).matrix()
        values, vectors = np.linalg.eigh(H)
        near = np.abs(values) <= self.near * np.abs(values).max()
        found = {
            "eigenvalue": values, "curvature": self._of_nodes(np.diag(H)) / (self.d + 1),
            "flat": self._of_nodes((vectors[:, near] ** 2).sum(1)) / max(near.sum(), 1),
        }  # fmt: skip
        return {name: torch.from_numpy(value) for name, value in found.items()} | {"rho": rho, "loss": loss}

    def _of_nodes(self, values: Float64[np.ndarray, " P"]) -> Float64[np.ndarray, " node"]:
        """Add up values of parameters over the input weights and the bias of every node."""
        n = self.over * self.m
        first, biases = self.d * n, self.d * n + n * self.C
        return values[:first].reshape(self.d, n).sum(0) + values[biases : biases + n]

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        figure, axes = panels(1, 2, width=3.4, height=2.7)
        left, right = axes[0]
        largest = np.abs(result.eigenvalue).max("index")
        for epoch, color, line, name in (
            (0, GRAY, "--", "before training"),
            (self.epochs, BLUE, "-", "after training"),
        ):
            sizes = (np.abs(result.eigenvalue) / largest).sel(epoch=epoch).transpose("seed", "index").values
            for i, row in enumerate(np.sort(sizes, axis=1)):
                share = np.linspace(0, 1, len(row))
                left.plot(share, np.maximum(row, FLOOR), line, color=color, lw=0.9, label=None if i else name)
        left.axhline(self.near, color=RED, ls=":", lw=1, label="near zero")
        left.set(yscale="log", xlabel="share of all eigenvalues", ylabel="|λ|, relative to the largest")
        last = result.sel(epoch=self.epochs)
        curvature = (np.abs(last.curvature) / largest.sel(epoch=self.epochs)).transpose("seed", "node").values
        right.plot(
            last.rho.transpose("seed", "node").values.ravel(), np.maximum(curvature, FLOOR).ravel(), "o", ms=2.5,
            color=BLUE,
        )  # fmt: skip
        right.axvline(self.threshold, color=RED, ls=":", lw=1)
        right.set(yscale="log", xlabel="best correlation of the node", ylabel="curvature along its input weights")
        legend(figure, left)
        return {"spectrum": figure}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        last = result.sel(epoch=self.epochs)
        size = np.abs(last.eigenvalue)
        share = (size <= self.near * size.max("index")).mean("index").where(last.loss.notnull())
        specialized = last.rho > self.threshold
        curvature = np.log10(np.maximum(np.abs(last.curvature), FLOOR * size.max("index")))
        gap = curvature.where(~specialized).mean("node") - curvature.where(specialized).mean("node")
        flat = last.flat.where(~specialized, 0).sum("node") / last.flat.sum("node")
        share_of_nodes = (~specialized).mean("node")
        both = (specialized.any("node") & ~specialized.all("node")).values
        statements = [
            Statement(
                "LM.X.flat.most", "After training, most eigenvalues of the Hessian are near zero", share.values, ">",
                0.5, within=(0, 1), statistic=f"share of eigenvalues with |λ| up to {self.near:g} times the largest",
            ),
            Statement(
                "LM.X.flat.nodes", "The loss hardly bends along the input weights of un-specialized nodes", gap.values,
                "<", statistic="log₁₀ of the curvature along the input weights of a node, difference un-specialized − "
                "specialized nodes", among=both,
            ),
            Statement(
                "LM.X.flat.why", "Flat directions belong to un-specialized nodes", (flat / share_of_nodes).values, ">",
                1, within=(0, np.inf), statistic="share of un-specialized nodes in the part of the near-zero "
                "eigenvectors that lies in input weights, divided by their share of all nodes", among=both,
            ),
        ]  # fmt: skip
        return claimed(statements, ~np.isfinite(last.loss.values))

    def controls(self, result: xr.Dataset) -> list[Control]:
        return [
            Control("students before training", ("LM.X.flat.most",), before_training(result)),
            Control(
                "correlations assigned to the nodes at random", ("LM.X.flat.nodes", "LM.X.flat.why"),
                shuffled(result, "node", "rho", root=self.root),
            ),
        ]  # fmt: skip


STUDY = FlatMinima
