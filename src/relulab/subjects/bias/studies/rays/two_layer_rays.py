"""IB figure 1: a two-layer network trained by SGD on orthogonally separable data."""

from typing import ClassVar

import torch
import xarray as xr
from matplotlib.figure import Figure

from relulab.lab.claim import Claim
from relulab.lab.show.figure import legend, panels
from relulab.lab.trained_study import Slope
from relulab.nets.initial import torch_default
from relulab.nets.mlp import MLP
from relulab.nets.residual import Residual
from relulab.subjects.bias.studies.rays.claims import aligned, beyond_means, rank_two
from relulab.subjects.bias.studies.rays.drawing import correlations, history, projected, singular_values
from relulab.subjects.bias.studies.rays.rays import Rays, cosines


class TwoLayerRays(Rays):
    """Do the neurons of a two-layer ReLU network align with the max-margin directions of the two classes?

    The data are 500 points in opposite orthants of R²⁰. A network with 100 neurons is trained by SGD from small
    weights. This violates two conditions of theorem 1: training is not gradient flow, and the start is not balanced.
    """

    name: ClassVar = "two-layer-rays"
    ids: ClassVar = ("IB.F1",)
    title: ClassVar = "Two rays of neurons in a two-layer network"
    source: ClassVar = "IB section 5.1, figure 1"
    captions: ClassVar = {
        "rays": "Left: the ten largest singular values of the first-layer weights W₁ after training, by rank, as dots "
        "for all seeds; the dotted line is the largest singular value before training. Only two are clearly above it. "
        "Middle: the neurons of one network in the plane of the top two singular directions lie on two rays; circles "
        "have a positive and triangles a negative output weight. Right: histogram of the cosines of neurons with their "
        "max-margin directions, all seeds; most are above 0.9 (dotted line). Answers figure 1 of IB.",
        "history": "Mean training loss (left), and share of neurons with a cosine above 0.9 with their max-margin "
        "direction (right), over epochs; one line per seed. Not in the paper.",
    }
    presets: ClassVar = {
        "smoke": {"seeds": 2, "epochs": 5, "width": 20, "n": 100},
        "quick": {"seeds": 16},
    }

    slope: Slope = 0
    """slope of the leaky ReLU for negative inputs; 0 is a plain ReLU"""

    def start(self, seeds: tuple[int, ...]) -> MLP:
        widths = (self.d, self.width, 1)
        return torch_default(widths, seeds, factor=self.factor, root=self.root, bias=False, slope=self.slope)

    def correlations(self, net: MLP | Residual, w: torch.Tensor) -> torch.Tensor:
        """Cosines with w₊ for neurons with a_j > 0, and with w₋ for the others."""
        both = cosines(net, w)
        return torch.where(net.W[1].data[..., 0] > 0, both[..., 0], both[..., 1])

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        figure, axes = panels(1, 3, width=2.8, height=2.6)
        singular_values(axes[0, 0], result, 1)
        projected(axes[0, 1], result, 1)
        correlations(axes[0, 2], result)
        legend(figure, axes[0, 1])
        return {"rays": figure, "history": history(result)}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        says = "Most neurons align with the max-margin direction of their sign"
        direction = "the max-margin direction of their sign"
        found = [aligned("IB.F1.aligned", says, direction, result), beyond_means("IB.F1.beyond-means", result)]
        return [*found, *rank_two("IB.F1", result, 1)]


STUDY = TwoLayerRays
