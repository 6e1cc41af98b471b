"""Checkpoints: where a training is, on disk, so that one of hours goes on after a kill and ends with the same bits.

A checkpoint is a safetensors file. Its tensors are the network's parameters and buffers, the optimizer's state, the
random generators and what probes have read; its metadata is JSON: the position, what training it belongs to, and a
checksum of all of it. It is written under another name and renamed, so a kill leaves the one before.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from relulab.core.files import atomic

FORMAT = 1
"""Counts changes of what is in a file; another one is ignored."""
SECONDS = 60.0
"""Between two checkpoints of a training, at least."""


@dataclass
class Checkpoint:
    """Where one piece of work keeps the state of its trainings: the first one in ``path``, later ones beside it.

    Trainings are numbered in the order in which they begin, so the work must begin them in the same order each time.
    One that is over, and took longer than ``seconds``, leaves its end: when the work is done again, it is read, not
    computed. Shorter ones leave nothing and are computed again. Whoever gave the path removes the files.

    Args:
        path: the file of the first training; the second one has ``path`` with ``.2`` added.
        seconds: how long to train between two checkpoints, at least; 0 writes one after every step.
        key: what the work is; a file of other work, or of a training with other settings, is ignored.
        on_resume: told of a training that goes on: its number, epoch, step and seed-steps done before.
    """

    path: Path
    seconds: float = SECONDS
    key: str = ""
    on_resume: Callable[[dict[str, int]], None] | None = None
    calls: int = field(default=0, init=False)

    def training(self, about: Callable[[], str]) -> "Slot":
        """The place of the next training, which ``about`` describes in a text that no other training has."""
        self.calls += 1
        path = Path(self.path)
        place = path if self.calls == 1 else path.with_name(f"{path.name}.{self.calls}")
        return Slot(place, self.seconds, lambda: f"{FORMAT} {self.key} {self.calls} {about()}", self)


class Saved(NamedTuple):
    """What a file holds."""

    tensors: dict[str, Tensor]
    notes: dict[str, Any]

    def part(self, name: str) -> dict[str, Tensor]:
        """The tensors of one part, such as ``net``, by their names in it."""
        return {key.removeprefix(f"{name}/"): t for key, t in self.tensors.items() if key.startswith(f"{name}/")}


class Slot:
    """The file of one training."""

    def __init__(self, path: Path, seconds: float, about: Callable[[], str], checkpoint: Checkpoint):
        self.path, self.seconds, self.checkpoint = path, seconds, checkpoint
        self.number = checkpoint.calls
        self._about, self._said = about, ""
        self.written = time.monotonic()

    @property
    def about(self) -> str:
        """What training this is; made when first needed, since it takes a look at all the data."""
        self._said = self._said or hashlib.sha256(self._about().encode()).hexdigest()
        return self._said

    def due(self, now: float) -> bool:
        return now - self.written >= self.seconds

    def read(self) -> Saved | None:
        """What was saved; None when there is nothing, or it is damaged, or of another training."""
        if not self.path.is_file():
            return None
        try:
            with safe_open(self.path, framework="pt") as file:
                metadata = file.metadata() or {}
                tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 - it is no dict
            notes = json.loads(metadata["notes"])
            whole = metadata["sha256"] == _digest(metadata["notes"], tensors)
            return Saved(tensors, notes) if whole and notes["about"] == self.about else None
        except (OSError, ValueError, KeyError, TypeError, SafetensorError):
            return None

    def write(self, parts: Mapping[str, Mapping[str, Tensor]], notes: Mapping[str, Any]) -> None:
        """Saves a state. A disk that is full costs the checkpoint, not the training."""
        tensors = {
            f"{part}/{key}": tensor.detach().cpu().contiguous().clone()
            for part, content in parts.items()
            for key, tensor in content.items()
        }
        text = json.dumps({**notes, "about": self.about})
        content = save(tensors, {"notes": text, "sha256": _digest(text, tensors)})
        with suppress(OSError), atomic(self.path) as part:
            part.write_bytes(content)
        self.written = time.monotonic()

    def resumed(self, epoch: int, step: int, seed_steps: int) -> None:
        if self.checkpoint.on_resume:
            said = {"training": self.number, "epoch": epoch, "step": step, "seed_steps": seed_steps}
            self.checkpoint.on_resume(said)


def digest(tensors: Iterable[Tensor]) -> str:
    """A checksum of types, shapes and values."""
    found = hashlib.sha256()
    for tensor in tensors:
        found.update(f"{tensor.dtype} {tuple(tensor.shape)}".encode())
        found.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return found.hexdigest()


def _digest(text: str, tensors: Mapping[str, Tensor]) -> str:
    names = sorted(tensors)
    return hashlib.sha256(f"{text} {names} {digest(tensors[name] for name in names)}".encode()).hexdigest()
