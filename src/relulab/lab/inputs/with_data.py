"""What all inputs with a data file have in common: its options, its reader, and what was assumed when it was read."""

from dataclasses import replace
from math import prod
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from pydantic import PrivateAttr

from relulab.core.errors import UserError
from relulab.lab.input import Input

if TYPE_CHECKING:
    from collections.abc import Collection

    from torch import Tensor, nn

    from relulab.io.data_file import Data


class WithData(Input):
    """An input with points in a data file, and options that select columns and rows of it."""

    data: Path
    """Data file: .csv, .tsv, .txt or .npy (each also .gz), .parquet, .npz, .safetensors, .pt, .pth or idx."""
    label: str | None = None
    """Column or array of labels, by name or number (0: first, -1: last). Default: y, label, target or class."""
    drop: str | None = None
    """Columns to leave out, by name or number, separated by commas."""
    classes: str | None = None
    """Use only points with these labels, separated by commas. Of two classes, the first is −1 and the second +1."""
    drop_missing: bool = False
    """Leave out rows with missing values."""

    _loaded: "Data | None" = PrivateAttr(default=None)

    def read(
        self, *, inputs: "Collection[int] | None" = None, with_labels: bool = False, as_rows: bool = False
    ) -> "Data":
        """Read the data file.

        Args:
            inputs: How many inputs there may be. None if that is not known.
            with_labels: Whether labels are needed.
            as_rows: Whether to flatten images to rows.
        """
        from relulab.io.data_file import read_selected
        from relulab.io.selection import Selection

        selection = Selection.of(self.label, self.drop, self.classes, self.drop_missing)
        self._loaded = read_selected(self.data, selection, inputs=inputs, with_labels=with_labels, as_rows=as_rows)
        for text in self._loaded.notes:
            self.note(text)
        return self._loaded

    def points_for(self, *nets: "nn.Module") -> "Tensor":
        """Read the points and check that they fit the networks. Rows are reshaped for networks that take images.

        Args:
            nets: The networks. A fully connected one needs one row per point.
        """
        from relulab.io.points import check_count
        from relulab.nets.mlp import MLP

        shapes = {_input_shape(net) for net in nets}
        shape = shapes.pop() if len(shapes) == 1 else None
        inputs = None if shape is None else prod(shape)
        data = self.read(inputs=None if inputs is None else {inputs}, as_rows=shape is not None and len(shape) == 1)
        if data.points.dim() > 2 and any(isinstance(net, MLP) for net in nets):
            raise UserError(
                f"{self.data}: expected points of shape (points, inputs) for a fully connected network, got "
                f"{tuple(data.points.shape)}: reshape them first"
            )
        if inputs is not None:
            check_count(self.data, data.points, inputs)
        if shape is None or len(shape) == 1 or data.points.dim() > 2:
            return data.points
        self._loaded = replace(data, points=data.points.reshape(-1, *shape))
        self.note(f"rows of {inputs} numbers were read as images of shape {shape}")
        return self._loaded.points

    def class_numbers(self, outputs: int) -> "Tensor | None":
        """Return the labels as numbers of outputs, from 0; None if there are none, or if they are other values.

        Args:
            outputs: Number of outputs of the networks. For a single one, labels are 0 and 1, or −1 and 1.
        """
        import numpy as np
        import torch

        labels = self.loaded.labels
        if labels is None:
            return None
        possible = [range(outputs)] if outputs > 1 else [(0, 1), (-1, 1)]
        if labels.dtype.kind not in "iubf" or not any(np.isin(labels, list(some)).all() for some in possible):
            self.note(f"the labels are not numbers of the {outputs} outputs, from 0, so no accuracy was computed")
            return None
        return torch.from_numpy(labels.astype(np.int64))

    @property
    def loaded(self) -> "Data":
        """The points, the labels or None, and the notes of the data file. It is read if that has not been done yet."""
        if self._loaded is None:
            self.load()
        if self._loaded is None:
            raise TypeError(f"{type(self).__name__}.load() does not read the data file: call self.points_for(…) in it")
        return self._loaded

    def data_words(self) -> str:
        """Return the data file and its options as they are written on the command line."""
        options = {"label": self.label, "drop": self.drop, "classes": self.classes}
        words = [f"--{name} {quote(value)}" for name, value in options.items() if value is not None]
        return " ".join([quote(str(self.data)), *words, *(["--drop-missing"] if self.drop_missing else [])])


def _input_shape(net: "nn.Module") -> tuple[int, ...] | None:
    """Return the shape of one point that a network takes; None if that is not known."""
    from relulab.nets.mlp import MLP

    if isinstance(net, MLP):
        return (net.widths[0],)
    sizes = tuple(getattr(net, "sizes", ())[1:])  # of an exported program
    return sizes if sizes and None not in sizes else None
