"""A training run in progress: its position, and the state that its next step depends on."""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from relulab.core.threads import threads, threads_for
from relulab.nets.mlp import MLP
from relulab.train.by_autograd import AnyLoss, LanesByAutograd, ModuleByAutograd, OnBatch
from relulab.train.checkpoint import Checkpoint, Saved, Slot, digest
from relulab.train.description import Undescribable, description
from relulab.train.devices import AsideRandom
from relulab.train.divergence import Divergence
from relulab.train.losses import Loss
from relulab.train.meters import Meters
from relulab.train.optimizers import Optimizer
from relulab.train.probe import Recorder
from relulab.train.schedules import Schedule, factor_at
from relulab.train.step import Step, by_hand
from relulab.train.supply import Supply, largest_product, seed_random_layers

BEAT = 1.0  # seconds between progress reports within an epoch


@runtime_checkable
class OneStep(Protocol):
    """A training step on a batch, in place.

    ``scale`` multiplies the learning rate, ``state`` returns what the next step depends on, and ``restore`` sets it.
    """

    def __call__(self, x: Tensor, y: Tensor) -> None: ...
    def scale(self, factor: float) -> None: ...
    def state(self) -> dict[str, Tensor]: ...
    def restore(self, state: dict[str, Tensor]) -> None: ...


def made_step(
    net: nn.Module, loss: AnyLoss, optimizer: Optimizer, clip: float | None, on_batch: OnBatch | None
) -> OneStep:
    """Return the step for ``net``: without autograd if possible, otherwise by autograd, with or without lanes."""
    if isinstance(net, MLP) and isinstance(loss, Loss) and by_hand(net, loss):
        return Step(net, loss, optimizer, clip, on_batch)
    make = LanesByAutograd if hasattr(net, "lanes") else ModuleByAutograd
    return make(net, loss, optimizer, clip, on_batch)


@dataclass
class Training:
    """Training of ``net`` in epochs ``first`` to ``last`` − 1, resumed from its checkpoint if there is one."""

    net: nn.Module
    step: OneStep
    supply: Supply
    recorder: Recorder
    meters: Meters | None
    divergence: Divergence
    first: int
    last: int
    schedule: Schedule | None
    home: torch.device
    checkpoint: Checkpoint | None
    settings: Mapping[str, Any]
    tick: Callable[[int], Any]
    epoch: int = field(default=0, init=False)
    done: int = field(default=0, init=False)  # number of finished steps of the current epoch
    reported: int = field(default=0, init=False)  # number of steps of all epochs that were reported to tick

    def __post_init__(self) -> None:
        self.lanes, self.steps = int(getattr(self.net, "lanes", 1)), self.supply.steps
        self.epoch, self.by_step = self.first, getattr(self.schedule, "by", "epoch") == "step"
        self._just_saved = self._saved_once = False
        self.slot, self.last_report = self._slot(), time.monotonic()
        self.aside, self.threads = AsideRandom(self.supply.device), torch.get_num_threads()

    def run(self) -> None:
        """Train from the current position to the end."""
        saved = self.slot.read() if self.slot else None
        if saved:
            self._restore(saved)
        else:
            self._look("epoch", self.first)
            self._look("step", self.first * self.steps)
        begun = time.monotonic()
        with threads_for(largest_product(self.net, self.supply)) as self.threads:
            while self.epoch < self.last:
                self._one_epoch()
            self.divergence.check(self.last * self.steps)
        self.divergence.tell()
        # Save the end of a long training run, so that it need not be repeated with the computation it is part of.
        if self.slot and not self._just_saved and (time.monotonic() - begun >= self.slot.seconds or self._saved_once):
            self._save()

    def _one_epoch(self) -> None:
        epoch = self.epoch
        if not self.done:
            self.supply.begin(epoch)
            if not isinstance(self.step, Step):
                seed_random_layers(self.supply.task, epoch, self.supply.device)
        if self.schedule is not None:
            self.step.scale(factor_at(self.schedule, epoch, epoch * self.steps + self.done))
        for x, y in self.supply.feed(epoch, self.done):
            if self.by_step:
                self.step.scale(factor_at(self.schedule, epoch, epoch * self.steps + self.done))
            self.step(x, y)
            self.done += 1
            if self.done % self.divergence.every == 0:
                self.divergence.glance(epoch * self.steps + self.done)
            if self.recorder.due["step"]:
                self._look("step", epoch * self.steps + self.done)
            self._pause(time.monotonic())
        self.epoch, self.done = epoch + 1, 0
        self.divergence.after_epoch(self.epoch * self.steps)
        if self.meters:
            self.recorder.keep("epoch", self.epoch, self.meters.read())
        self._look("epoch", self.epoch)
        self._report()
        if self.slot and self.slot.due(time.monotonic()):
            self._save()

    def _pause(self, now: float) -> None:
        """Report progress and save a checkpoint after a step, if they are due."""
        if now - self.last_report > BEAT:
            self._report()
            self.last_report = now
        # Generators of other devices are not saved, so that training can resume only at the start of an epoch there.
        if self.slot and self.done < self.steps and self.supply.device.type == "cpu" and self.slot.due(now):
            self._save()
        else:
            self._just_saved = False

    def _look(self, dim: str, at: int) -> None:
        if at in self.recorder.due[dim]:
            moved = self.home != self.supply.device
            # A probe may be much larger than a training step, so it gets all threads that the user allowed.
            with self.aside(), threads(self.threads):
                self.recorder.look(deepcopy(self.net).to(self.home) if moved else self.net, dim, at)

    def _report(self) -> None:
        done = (self.epoch - self.first) * self.steps + self.done
        if done > self.reported:
            self.tick(self.lanes * (done - self.reported))
            self.reported = done

    def _slot(self) -> Slot | None:
        if self.checkpoint is None or self.first == self.last:
            return None
        # Described before training, because functions of the user may change what they refer to.
        settings = self._described()

        def about() -> str:
            points = self.supply.points(self.first)
            return f"{settings} {digest((points.X, points.Y))} torch {torch.__version__}"

        slot = self.checkpoint.training(about)
        return slot if settings else None

    def _described(self) -> str:
        """Return the settings, the network and the task as text, or an empty text if they cannot be described."""
        task, names, found = self.supply.task, [name for name, _ in self._tensors()], []
        ours = type(task).__module__.startswith("relulab.")
        kind = (type(task), task.seeds, task.root, getattr(task, "fresh", None)) if ours else task
        for name, value in {**self.settings, "net": (names, self.net), "task": kind}.items():
            try:
                found.append(f"{name} {description(value)}")
            except Undescribable as error:
                warnings.warn(
                    f"training uses no checkpoint, because {name} contains something that cannot be compared with a "
                    f"later call, {error}: use functions of plain values and tensors",
                    stacklevel=2,
                )
                return ""
        return " ".join(found)

    def _tensors(self) -> Iterator[tuple[str, Tensor]]:
        return chain(self.net.named_parameters(), self.net.named_buffers())

    def _save(self) -> None:
        assert self.slot is not None
        parts = {
            "net": dict(self._tensors()),
            "step": self.step.state(),
            "supply": self.supply.state(),
            "recorder": self.recorder.state(),
            "meters": self.meters.state() if self.meters else {},
            "divergence": self.divergence.state(),
            "torch": {"generator": torch.get_rng_state(), "aside": self.aside.state},
        }
        self.slot.write(parts, {"epoch": self.epoch, "done": self.done, "recorder": self.recorder.notes()})
        self._just_saved = self._saved_once = True

    @torch.no_grad()
    def _restore(self, saved: Saved) -> None:
        assert self.slot is not None
        parameters = saved.part("net")
        for name, tensor in self._tensors():
            tensor.copy_(parameters[name])
        self.step.restore(saved.part("step"))
        self.supply.restore(saved.part("supply"))
        self.recorder.restore(saved.part("recorder"), saved.notes["recorder"])
        if self.meters:
            self.meters.restore(saved.part("meters"))
        self.divergence.restore(saved.part("divergence"))
        torch.set_rng_state(saved.part("torch")["generator"])
        self.aside.state = saved.part("torch")["aside"]
        self.epoch, self.done = saved.notes["epoch"], saved.notes["done"]
        self._just_saved = self._saved_once = True
        self._report()
        self.slot.resumed(self.epoch, self.done, self.lanes * self.reported)
