"""What a user brings for linear distillation: points, and a linear teacher as weights or as its soft labels."""

from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
from pydantic import model_validator
from torch import Tensor

from relulab.core.errors import UserError
from relulab.io.linear_teacher import read_linear_teacher, with_ones
from relulab.io.tables import read_features
from relulab.lab.input import Input
from relulab.subjects.distillation.tools.transfer import from_labels

Array = Tensor | np.ndarray


class Brought(NamedTuple):
    """Points (n, d), the teacher's weights (d,), and whether the last of those is a bias."""

    X: Array
    w_star: Array
    bias: bool


class LinearTeacher(Input):
    """Points and a linear teacher: a file of its weights, or a column with its soft labels."""

    title: ClassVar = "points and a linear teacher"

    data: Path
    """Points, one a row: .npy, .npz, .safetensors, .csv, .tsv, .parquet; all columns."""
    teacher: Path | None = None
    """Weights of a linear teacher: .npy, .npz, .safetensors, .pt."""
    label: str | None = None
    """Instead of the weights: column or array with the teacher's soft labels."""

    @model_validator(mode="after")
    def _one_teacher(self) -> "LinearTeacher":
        if (self.teacher is None) == (self.label is None):
            given = "neither --teacher nor --label" if self.teacher is None else "both --teacher and --label"
            raise UserError(f"{given}: one is needed, a file of weights or a column with the teacher's soft labels")
        return self

    def load(self) -> tuple[Array, Array]:
        """The points and the teacher's weights."""
        return self.brought()[:2]

    def brought(self) -> Brought:
        """The points as the teacher sees them, with a column of ones where it has a bias."""
        X, y = read_features(self.data, self.label)
        if self.teacher is not None:
            w = read_linear_teacher(self.teacher, X.shape[1])
            return Brought(with_ones(X, w), w, len(w) > X.shape[1])
        if y is None or y.dtype.kind not in "fiub":
            raise UserError(
                f"{self.data}: {self.label} has words, numbers between 0 and 1 were expected, the teacher's soft labels"
            )
        try:
            return Brought(*from_labels(X, y), False)
        except UserError as error:
            try:  # perhaps a teacher with a bias
                return Brought(*from_labels(np.column_stack([X, np.ones(len(X))]), y), True)
            except UserError:
                raise error from None
