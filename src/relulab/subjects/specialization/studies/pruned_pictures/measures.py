"""What a seed of the study measures: a network on pictures, pruned by every criterion and trained further."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from torch import nn

from relulab.nets.multiply_adds import multiply_adds
from relulab.subjects.specialization.studies.cifar_pictures import (
    Pictures,
    accuracy,
    picture_net,
    pictures,
    train_on_classes,
)
from relulab.subjects.specialization.tools.layer_pruning import PrunedLayers, prune_layers
from relulab.subjects.specialization.tools.removal import Criterion

STAGES = ("pruned", "refitted", "tuned")
"""directly after pruning, with the weights fitted again that read the kept channels, and after further training"""


class Setup(NamedTuple):
    """The sizes of a seed; see the fields of the study."""

    channels: tuple[int, ...]
    drawn: Mapping[str, int]
    n_fit: int
    keep_macs: float
    epochs: int
    tuning_epochs: int
    lr: float
    tuning_lr: float
    momentum: float
    batch: int


def pruned_by(seed: int, setup: Setup, criteria: Sequence[Criterion], tick: Callable[[int], object]) -> xr.Dataset:
    """Train a network on the classes of pictures, prune it by each criterion, and return the accuracies.

    Args:
        seed: The seed.
        setup: The sizes.
        criteria: The criteria.
        tick: Function that is told the number of new steps.
    """
    train, held_out = pictures(seed, **setup.drawn)
    root = setup.drawn["root"]

    def train_further(net: nn.Module, epochs: int, lr: float) -> None:
        train_on_classes(
            net, train, seed=seed, root=root, epochs=epochs, lr=lr, momentum=setup.momentum, batch=setup.batch,
            tick=tick,
        )  # fmt: skip

    net = picture_net(setup.channels, train.x.shape[-1], seed=seed, root=root)
    train_further(net, setup.epochs, setup.lr)
    rows = []
    for by in criteria:
        plain, refitted = (_pruned(net, train, by, seed, setup, refit=refit) for refit in (False, True))
        found = [accuracy(plain.net, held_out), accuracy(refitted.net, held_out)]
        train_further(refitted.net, setup.tuning_epochs, setup.tuning_lr)
        found.append(accuracy(refitted.net, held_out))
        rows.append(_row(found, refitted))
    data = xr.concat(rows, xr.Variable("by", list(criteria)))
    macs = sum(multiply_adds(net, train.x.shape[1:]).values())
    return data.assign(whole=accuracy(net, held_out), multiply_adds=macs)


def _pruned(net: nn.Module, train: Pictures, by: Criterion, seed: int, setup: Setup, *, refit: bool) -> PrunedLayers:
    x = train.x[: setup.n_fit]
    return prune_layers(net, x, by=by, keep_macs=setup.keep_macs, refit=refit, seed=seed)


def _row(accuracies: Sequence[float], pruned: PrunedLayers) -> xr.Dataset:
    before, after = (sum(counts) for counts in zip(*pruned.layers.values(), strict=True))
    widths = np.array(pruned.size.widths)
    return xr.Dataset(
        {"accuracy": ("stage", list(accuracies)), "kept": after / before, "width": ("layer", widths)},
        coords={"stage": list(STAGES), "layer": range(len(widths))},
    )
