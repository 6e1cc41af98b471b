"""Checkpoints: the state of a training run on disk, so that it can resume after a kill with bitwise equal results.

A checkpoint is a safetensors file. Its tensors are the parameters and buffers of the network, the state of the
optimizer and of the random generators, and the values recorded by probes. Its metadata is JSON: the position, a
description of the training run, and a checksum. It is written under a temporary name and then renamed, so that a kill
during writing leaves the previous checkpoint intact.
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

FORMAT = 3
"""Version of the file format. Files with another version are ignored."""
SECONDS = 60.0
"""Shortest time in seconds between two checkpoints of a training run."""


@dataclass
class Checkpoint:
    """Where a computation saves the state of its training runs: the first one in ``path``, later ones next to it.

    Training runs are numbered in the order in which they start, so the computation must start them in the same order
    each time. A training run that took longer than ``seconds`` also saves its final state: if the computation is
    repeated, this state is read instead of training again. Shorter runs save nothing and are repeated. The files are
    not deleted automatically.

    Args:
        path: File of the first training run; the second one uses ``path`` with ``.2`` appended, and so on.
        seconds: Shortest time in seconds between two checkpoints; 0 saves after every step.
        key: Description of the computation. Files of other computations, or with other settings, are ignored.
        on_resume: Function that is called when a training run resumes, with a dictionary of its number ("training"),
            "epoch", "step" and the number of "seed_steps" done before.
    """

    path: Path
    seconds: float = SECONDS
    key: str = ""
    on_resume: Callable[[dict[str, int]], None] | None = None
    calls: int = field(default=0, init=False)

    def training(self, about: Callable[[], str]) -> "Slot":
        """Return the slot of the next training run.

        Args:
            about: Function that returns a description of the training run, different for every other run.
        """
        self.calls += 1
        path = Path(self.path)
        slot_path = path if self.calls == 1 else path.with_name(f"{path.name}.{self.calls}")
        return Slot(slot_path, self.seconds, lambda: f"{FORMAT} {self.key} {self.calls} {about()}", self)


class Saved(NamedTuple):
    """The contents of a checkpoint file."""

    tensors: dict[str, Tensor]
    notes: dict[str, Any]

    def part(self, name: str) -> dict[str, Tensor]:
        """Return the tensors of one part, such as ``net``, by their names in this part."""
        return {key.removeprefix(f"{name}/"): t for key, t in self.tensors.items() if key.startswith(f"{name}/")}


class Slot:
    """The checkpoint file of one training run."""

    def __init__(self, path: Path, seconds: float, about: Callable[[], str], checkpoint: Checkpoint):
        self.path, self.seconds, self.checkpoint = path, seconds, checkpoint
        self.number = checkpoint.calls
        self._about, self._checksum = about, ""
        self.written = time.monotonic()

    @property
    def about(self) -> str:
        """A checksum of the description of the training run, computed on first use because it depends on all data."""
        self._checksum = self._checksum or hashlib.sha256(self._about().encode()).hexdigest()
        return self._checksum

    def due(self, now: float) -> bool:
        """Whether it is time for the next checkpoint."""
        return now - self.written >= self.seconds

    def read(self) -> Saved | None:
        """Read the saved state; return None if there is none, or if it is damaged or from another training run."""
        if self.path.is_symlink() or not self.path.is_file():
            return None
        try:
            with safe_open(self.path, framework="pt") as file:
                metadata = file.metadata() or {}
                tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 - not a dict
            notes = json.loads(metadata["notes"])
            intact = metadata["sha256"] == _digest(metadata["notes"], tensors)
            return Saved(tensors, notes) if intact and notes["about"] == self.about else None
        except (OSError, ValueError, KeyError, TypeError, SafetensorError):
            return None

    def write(self, parts: Mapping[str, Mapping[str, Tensor]], notes: Mapping[str, Any]) -> None:
        """Save a state. If the disk is full, the checkpoint is skipped and training continues.

        Args:
            parts: Tensors by part and name.
            notes: Other values, as JSON.
        """
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
        """Report that training resumes at this position."""
        if self.checkpoint.on_resume:
            position = {"training": self.number, "epoch": epoch, "step": step, "seed_steps": seed_steps}
            self.checkpoint.on_resume(position)


def digest(tensors: Iterable[Tensor]) -> str:
    """Return a checksum of data types, shapes and values."""
    checksum = hashlib.sha256()
    for tensor in tensors:
        checksum.update(f"{tensor.dtype} {tuple(tensor.shape)}".encode())
        checksum.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return checksum.hexdigest()


def _digest(text: str, tensors: Mapping[str, Tensor]) -> str:
    names = sorted(tensors)
    return hashlib.sha256(f"{text} {names} {digest(tensors[name] for name in names)}".encode()).hexdigest()
