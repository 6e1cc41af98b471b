"""What a seed of the study measures: a teacher on pictures, its pruned form, and students of its logits."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import xarray as xr
from scipy.stats import spearmanr
from torch import Tensor, nn

from relulab.core.seeds import Role, stream
from relulab.data.task import Points
from relulab.data.tensor_task import TensorTask
from relulab.subjects.specialization.instruments.top_down_norms import top_down_norms
from relulab.subjects.specialization.instruments.winner_ranks import winner_ranks
from relulab.subjects.specialization.studies.cifar_pictures import (
    Pictures,
    accuracy,
    picture_net,
    pictures,
    train_on_classes,
)
from relulab.subjects.specialization.tools.agreement import outputs
from relulab.subjects.specialization.tools.layer_pruning import prune_layers
from relulab.subjects.specialization.tools.module_observation import ModuleObserver
from relulab.train.fit import fit
from relulab.train.losses import MSE
from relulab.train.probe import Probe, Reading


class Arm(NamedTuple):
    """A kind of students: their width as a multiple of the pruned teacher's, and whether they have BatchNorm."""

    over: int
    norm: bool

    @property
    def name(self) -> str:
        """The kind in words."""
        return f"{self.over}×" if self.norm else f"{self.over}× without BatchNorm"


class Setup(NamedTuple):
    """The sizes of a seed; see the fields of the study."""

    channels: tuple[int, ...]
    kept: float
    drawn: Mapping[str, int]
    n_measured: int
    root: int
    teacher_epochs: int
    tuning_epochs: int
    teacher_lr: float
    momentum: float
    batch: int

    @property
    def pruned(self) -> list[int]:
        """The numbers of channels of the pruned teacher."""
        return [max(1, round(self.kept * n)) for n in self.channels]


def taught(
    seed: int, setup: Setup, arms: Sequence[Arm], looks: Sequence[int], options: Mapping[str, Any], tick: Callable
) -> xr.Dataset:
    """Train a teacher and its students, and return how the students develop.

    Args:
        seed: The seed.
        setup: The sizes.
        arms: The kinds of students.
        looks: The epochs at which students are measured.
        options: Arguments of ``fit`` for the students.
        tick: Function that is told the number of new steps.
    """
    train, held_out = pictures(seed, **setup.drawn)
    teacher, pruned = teachers(seed, setup, train, tick)
    measured = held_out.x[: setup.n_measured]
    points = Points(measured[None], outputs(pruned, measured)[None], torch.zeros(1, dtype=torch.long))
    task, observe = (
        TensorTask(train.x, outputs(pruned, train.x), seed=seed, root=setup.root),
        ModuleObserver(pruned, points),
    )
    rows = []
    for arm in arms:
        widths = [arm.over * n for n in setup.pruned]
        student = picture_net(widths, train.x.shape[-1], seed=seed, root=setup.root, norm=arm.norm)
        read = _reader(observe, held_out)
        history = fit(student, task, loss=MSE(), probes=[Probe(looks, read)], tick=tick, **options)
        rows.append(
            _of_arm(history, observe.alive, _strengths(pruned, measured), stream(setup.root, Role.CHANCE, seed))
        )
    data = xr.concat(rows, xr.Variable("arm", [arm.name for arm in arms]))
    return data.assign(teacher=accuracy(teacher, held_out), pruned=accuracy(pruned, held_out))


def teachers(seed: int, setup: Setup, train: Pictures, tick: Callable) -> tuple[nn.Module, nn.Module]:
    """Return a teacher with BatchNorm that was trained on the classes, and its pruned form, which was trained further.

    Args:
        seed: The seed.
        setup: The sizes.
        train: The training pictures.
        tick: Function that is told the number of new steps.
    """
    # The students of the seed must not start from the same weights.
    teacher = picture_net(setup.channels, train.x.shape[-1], seed=seed, root=setup.root + 1)
    fixed = {"seed": seed, "root": setup.root, "momentum": setup.momentum, "batch": setup.batch, "tick": tick}
    train_on_classes(teacher, train, epochs=setup.teacher_epochs, lr=setup.teacher_lr, **fixed)
    pruned = prune_layers(teacher, train.x, by="modulation", keep=setup.pruned).net
    pruned = pruned.to(memory_format=torch.channels_last)  # pyrefly: ignore[no-matching-overload]
    train_on_classes(pruned, train, epochs=setup.tuning_epochs, lr=setup.teacher_lr / 5, **fixed)
    return teacher, pruned


def _reader(observe: ModuleObserver, held_out: Pictures) -> Callable[[nn.Module], Reading]:
    def read(net: nn.Module) -> Reading:
        seen = observe(net)
        rho = {f"rho{l}": ((f"node{l}", f"student{l}"), rho[0]) for l, rho in enumerate(seen.rho)}
        return {**rho, "loss": ((), seen.loss[0]), "accuracy": ((), torch.tensor(accuracy(net, held_out)))}

    return read


def _strengths(net: nn.Module, x: Tensor) -> list[np.ndarray]:
    """Return the strength √E[β_jj] of every channel of each hidden layer."""
    return [norms.numpy() for norms in top_down_norms(net, x).values()]


def _of_arm(
    history: xr.Dataset, alive: Sequence[Tensor], strengths: Sequence[np.ndarray], rng: np.random.Generator
) -> xr.Dataset:
    layers = []
    for l, (of_layer, strength) in enumerate(zip(alive, strengths, strict=True)):
        rho = torch.from_numpy(history[f"rho{l}"].transpose("epoch", ...).values)
        best = rho.amax(-1)[:, of_layer[0]].numpy()
        ranks = winner_ranks(rho, rho[-1:].expand_as(rho))[:, of_layer[0]].numpy()
        rise, strong = (best - best[0])[1:].mean(0), strength[of_layer[0].numpy()]
        layers.append(
            xr.Dataset(
                {
                    "rho": ("epoch", best.mean(1)),
                    "mean_rank": ("epoch", ranks.mean(1)),
                    "order": _rank_correlation(strong, rise),
                    "order_random": _rank_correlation(rng.permutation(strong), rise),
                    "never_active": int((~of_layer).sum()),
                },
                coords={"epoch": history.epoch},
            )
        )
    data = xr.concat(layers, xr.Variable("layer", range(len(layers))))
    return data.assign(loss=history.loss, accuracy=history.accuracy)


def _rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    if len(a) < 3 or not np.ptp(a) or not np.ptp(b):
        return float("nan")
    return float(spearmanr(a, b).statistic)
