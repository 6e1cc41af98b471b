"""LM theorem 3 by numbers: how far the norms of weights before BatchNorm drift under gradient descent."""

from typing import Annotated, ClassVar

import numpy as np
import xarray as xr
from annotated_types import Ge, Len
from matplotlib.figure import Figure
from pydantic import AfterValidator, PositiveFloat, PositiveInt

from relulab.lab.claim import Claim
from relulab.lab.control import Control
from relulab.lab.study import Study, Tick, Unit, distinct
from relulab.subjects.specialization.studies.conserved_norms import claims, drawing
from relulab.subjects.specialization.studies.conserved_norms.measures import NETWORKS, Network, arms, followed, problem

CALLS, UNIT, IMAGE = {1: 1.0e7, 3: 1.8e7}, 320.0, 5e4
"""what a step of a small network costs in Python, a unit per point, and an eighth of an image: flops in that time"""


class ConservedNorms(Study):
    """Does BatchNorm conserve the norms of the weights before it, and what spoils this?

    Networks are trained on all points by gradient descent in float64, over a fixed time with smaller and smaller steps.
    The drift is the mean over hidden nodes of the relative change of ‖w_j‖. The theorem is about gradient flow, so the
    drift must vanish with the step size η, at first order. There are networks with one and with three hidden layers and
    with two convolutions, with BatchNorm before or after the ReLU and without it. They learn the outputs of a random
    network. Four changes spoil the theorem: the bias is left out of w_j, ε is not 0, weight decay, and stored
    statistics.
    """

    name: ClassVar = "conserved-norms"
    ids: ClassVar = ("LM.T3.drift",)
    title: ClassVar = "BatchNorm conserves the norms of weights"
    source: ClassVar = "LM theorem 3, sections 3.1 and 8.3, figure 15"
    remarks: ClassVar = (
        "LM proves the theorem for gradient flow and has no experiment on it. PyTorch refuses ε = 0, so ε is 1e-300. "
        "Gradient descent with η adds η² times the squared norm of the gradient to ‖w_j‖² in every step, because both "
        "are orthogonal. The drift that follows from this is drawn as well; it agrees up to rounding errors."
    )
    captions: ClassVar = {
        "drift": "Mean relative change of ‖w_j‖ over a fixed time of gradient descent, against the step size η. Panels "
        "are networks. BatchNorm before the ReLU (blue, circles), after the ReLU (orange-red, dashed, squares) and no "
        "BatchNorm (green, dash-dotted, triangles); bands are 95% intervals of the mean over seeds. Black crosses are "
        "the change that follows from orthogonal gradients; the dotted gray line is proportional to η. Not in the "
        "paper, which has a proof and no experiment.",
        "spoiled": "The same change against the step size η if one hypothesis is missing: BatchNorm before the ReLU "
        "with all hypotheses (blue, circles), the bias left out of w_j with BatchNorm after the ReLU (orange-red, "
        "dashed, squares), a large ε (green, dash-dotted, triangles), weight decay (gold, dotted, diamonds) and stored "
        "statistics (purple, downward triangles), all three with BatchNorm before the ReLU. Bands are 95% intervals. "
        "The change then remains, however small η is. Not in the paper.",
    }
    symbols: ClassVar = {
        "η": "step size of gradient descent",
        "w_j": "input weights of hidden node j, for a convolution a filter; with its bias if there is no BatchNorm, or "
        "if a ReLU lies between them and BatchNorm",
        "ε": "a small number that BatchNorm adds to the variance",
        "d": "number of inputs",
    }
    presets: ClassVar = {
        "smoke": {"seeds": 2, "steps": (8, 16), "points": 64, "width": 6},
        "quick": {"seeds": 8, "steps": (64, 128, 256, 512)},
    }

    seeds: PositiveInt = 32
    """number of seeds, each with its own teacher, points and start"""
    steps: Annotated[tuple[PositiveInt, ...], Len(min_length=2), AfterValidator(distinct)] = (64, 128, 256, 512, 1024)
    """numbers of steps in which the time is divided"""
    time: PositiveFloat = 1.0
    """time of gradient descent: step size times number of steps"""
    points: Annotated[int, Ge(16)] = 200
    """number of points of fully connected networks; there is an eighth as many images"""
    d: PositiveInt = 10
    """number of inputs of fully connected networks; images have 8×8 pixels"""
    width: PositiveInt = 20
    """width of hidden layers; convolutions have 6 and 8 filters"""
    outputs: PositiveInt = 5
    """number of outputs"""
    epsilon: PositiveFloat = 0.1
    """ε of BatchNorm where it is not 0"""
    weight_decay: PositiveFloat = 0.1
    """weight decay where there is some: this multiple of the weights is added to the gradient"""

    def units(self) -> list[Unit]:
        cases = [(network, seed) for seed in range(self.seeds) for network in NETWORKS]
        count = len(arms(self.epsilon, self.weight_decay)) * sum(self.steps)
        return [
            Unit(f"{network.replace(' ', '-')}-seed{seed}", {"network": network, "seed": seed}, count,
                 count * self._step_flops(network))
            for network, seed in cases
        ]  # fmt: skip

    def _step_flops(self, network: Network) -> float:
        """Flops of a step with its gradient, with what Python and elementwise operations cost in the same time."""
        if network == "two convolutions":
            return CALLS[1] + IMAGE * self.points
        hidden = 1 if network == "one hidden layer" else 3
        products = self.width * (self.d + self.outputs + (hidden - 1) * self.width)
        return CALLS[hidden] + self.points * (6.0 * products + UNIT * hidden * self.width)

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        network, seed = unit.values["network"], unit.values["seed"]
        start, x, y = problem(network, self.d, self.width, self.outputs, self.points, seed, self.root)
        named = arms(self.epsilon, self.weight_decay)
        rows = []
        for arm in named.values():
            net, runs = start(arm.order), []
            for steps in self.steps:
                runs.append(followed(net, arm, x, y, self.time, steps))
                tick(steps)
            rows.append(runs)
        values = {
            name: (("seed", "network", "arm", "steps"), np.array([[[[run[name] for run in runs] for runs in rows]]]))
            for name in rows[0][0]
        }
        return xr.Dataset(
            values, coords={"seed": [seed], "network": [network], "arm": list(named), "steps": list(self.steps)}
        )

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        return {
            "drift": drawing.drift(result, self.time),
            "spoiled": drawing.spoiled(result, self.time, self.epsilon, self.weight_decay),
        }

    def claims(self, result: xr.Dataset) -> list[Claim]:
        return claims.claims_of(result, self.time, self.epsilon, self.weight_decay)

    def controls(self, result: xr.Dataset) -> list[Control]:
        return claims.controls_of(result)


STUDY = ConservedNorms
