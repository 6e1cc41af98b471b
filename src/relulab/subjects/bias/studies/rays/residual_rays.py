"""IB figure 2: a four-layer residual network trained by SGD on orthogonally separable data."""

from typing import Annotated, ClassVar

import torch
import xarray as xr
from annotated_types import Ge
from matplotlib.figure import Figure

from relulab.lab.claim import Claim
from relulab.lab.show.figure import legend, panels
from relulab.nets.initial import residual_default
from relulab.nets.mlp import MLP
from relulab.nets.residual import Residual
from relulab.subjects.bias.studies.rays.claims import aligned, beyond_means, rank_two
from relulab.subjects.bias.studies.rays.drawing import correlations, history, projected, singular_values
from relulab.subjects.bias.studies.rays.rays import Rays, cosines


class ResidualRays(Rays):
    """Do the weight matrices of a deeper network have rank two, and does its first layer find max-margin directions?

    Data and training are those of figure 1. The network is the residual network of eq. 30 with four layers, which is
    outside the scope of theorem 1.
    """

    name: ClassVar = "residual-rays"
    ids: ClassVar = ("IB.F2",)
    title: ClassVar = "Two rays of neurons in every layer of a residual network"
    source: ClassVar = "IB section 5.2, figure 2"
    captions: ClassVar = {
        "rays": "Top: the ten largest singular values of each weight matrix W_l after training, by rank, as dots for "
        "all seeds; the dotted line is the largest singular value before training. In every matrix, only two are "
        "clearly above it. Bottom: the neurons of one network in the plane of the top two singular directions of each "
        "matrix; circles have a positive and triangles a negative output weight. Top right: histogram of the cosines "
        "of first-layer neurons with the closer max-margin direction, all seeds; the dotted line is 0.9. Answers "
        "figure 2 of IB.",
        "history": "Mean training loss (left), and share of first-layer neurons with a cosine above 0.9 with the "
        "closer max-margin direction (right), over epochs; one line per seed. Not in the paper.",
    }
    presets: ClassVar = {
        "smoke": {"seeds": 2, "epochs": 5, "width": 20, "n": 100},
        "quick": {"seeds": 8, "lanes": 4},
    }
    depth: Annotated[int, Ge(3)] = 4
    """number of layers"""

    def start(self, seeds: tuple[int, ...]) -> Residual:
        widths = (self.d, self.width, 1)
        return residual_default(widths, seeds, depth=self.depth, factor=self.factor, root=self.root)

    def correlations(self, net: MLP | Residual, w: torch.Tensor) -> torch.Tensor:
        """Cosines with the closer of w₊ and w₋, as in figure 2, since neurons have no single output weight."""
        return cosines(net, w).amax(2)

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        layers = result.layer.values.tolist()
        figure, axes = panels(2, len(layers) + 1, width=2.4, height=2.4)
        for k, layer in enumerate(layers):
            singular_values(axes[0, k], result, layer)
            projected(axes[1, k], result, layer)
        correlations(axes[0, -1], result)
        axes[1, -1].axis("off")
        legend(figure, axes[1, 0])
        return {"rays": figure, "history": history(result)}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        says, direction = (
            "Most first-layer neurons align with a max-margin direction",
            "the closer max-margin direction",
        )
        ranks = [c for layer in result.layer.values.tolist() for c in rank_two("IB.F2", result, layer)]
        found = [aligned("IB.F2.aligned", says, direction, result), beyond_means("IB.F2.beyond-means", result)]
        return [*found, *ranks]


STUDY = ResidualRays
