"""LM figures 6 and 18: the biases of BatchNorm in trained networks, layer by layer."""

from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from relulab.core.seeds import Role, stream
from relulab.lab.claim import Claim
from relulab.lab.control import Control
from relulab.lab.study import Study, Tick, Unit
from relulab.subjects.specialization.studies.batch_norm_biases import claims, drawing
from relulab.subjects.specialization.studies.batch_norm_biases.measures import HOW, dataset, saved_networks


class BatchNormBiases(Study):
    """Are most biases of BatchNorm negative in trained networks, above all in the upper layers?

    BatchNorm makes the inputs of a unit have mean zero, so a unit with a negative bias is active on less than half of
    all samples, if they are distributed symmetrically. LM takes this as evidence that the nodes of trained networks
    overlap little. The study reads all networks in the folder nets, finds the biases by structure, and counts the
    negative ones in every layer. Each network has claims of its own.
    """

    name: ClassVar = "batch-norm-biases"
    ids: ClassVar = ("LM.F6",)
    title: ClassVar = "Biases of BatchNorm in trained networks"
    source: ClassVar = "LM section 4.1, figures 6 and 18"
    needs: ClassVar = f"networks with BatchNorm: {HOW}"
    remarks: ClassVar = (
        "LM shows VGG11, 13, 16 and 19 with BatchNorm, trained on ImageNet, without numbers. Any networks will do "
        "here. In VGG, every BatchNorm is followed by a ReLU. In a residual network, the last BatchNorm of a block is "
        "followed by an addition, and some networks have BatchNorm after the ReLU: a negative bias then says nothing "
        "on how often a unit is active. Claims count all layers; notes give the share by place. Exact intervals treat "
        "the units of a network as independent, which they are not, because they were trained together. The interval "
        "of a rank correlation is that of Bonett and Wright, and treats layers as independent."
    )
    captions: ClassVar = {
        "histograms": "Histograms of the biases of BatchNorm, one panel per layer. Rows are networks; the lowest layer "
        "is the first one. Some layers of every network are shown, evenly spaced. Blue hatched bars are negative "
        "biases, gold bars positive ones, and the vertical line is zero; the horizontal axis is the bias, the vertical "
        "axis the number of units. Answers figures 6 and 18 of LM.",
        "shares": "Share of negative biases by layer, from the lowest to the uppermost; one panel per network. "
        "Symbols are the places of BatchNorm: circles (blue) before a ReLU, squares (orange-red) before an addition, "
        "triangles (green) after a ReLU, diamonds (gold) elsewhere or unknown. Thin vertical lines are exact 95% "
        "intervals; the dotted gray line is one half. Gray crosses are the mean share of samples at which the ReLU "
        "behind BatchNorm is active if its inputs are normal. Complements figures 6 and 18 of LM.",
    }
    symbols: ClassVar = {"c_1": "bias of BatchNorm"}
    presets: ClassVar = {"smoke": {}, "quick": {}}

    files: tuple[str, ...] = ()
    """names of the files in the folder nets to use; all if none is given"""

    def ready(self) -> None:
        saved_networks(self.files)

    def units(self) -> list[Unit]:
        return [Unit("all", {}, seed_steps=1)]

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        result = dataset(saved_networks(self.files))
        tick(1)
        return result

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        return {"histograms": drawing.histograms(result), "shares": drawing.shares(result)}

    def claims(self, result: xr.Dataset) -> list[Claim]:
        return claims.claims_of(result)

    def controls(self, result: xr.Dataset) -> list[Control]:
        return [
            Control("biases with signs drawn at random", ("LM.F6.majority-*",), self._signs(result)),
            Control("biases assigned to the layers at random", ("LM.F6.upper-*",), self._layers(result)),
        ]

    def _signs(self, result: xr.Dataset) -> xr.Dataset:
        rng = stream(self.root, Role.CHANCE, 0)
        return result.assign(c_1=abs(result.c_1) * rng.choice((-1.0, 1.0), result.c_1.shape))

    def _layers(self, result: xr.Dataset) -> xr.Dataset:
        """Permute the biases of every network."""
        c_1 = result.c_1.copy(deep=True)
        for i, biases in enumerate(c_1.values):
            here = ~np.isnan(biases)
            biases[here] = stream(self.root, Role.CHANCE, 1, i).permutation(biases[here])
        return result.assign(c_1=c_1)


STUDY = BatchNormBiases
