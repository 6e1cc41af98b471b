"""The input for linear distillation: points, and a linear teacher given by its weights or its soft labels."""

from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
from pydantic import model_validator
from torch import Tensor

from relulab.core.errors import UserError
from relulab.io.linear_teacher import linear_inputs, read_linear_teacher, with_ones
from relulab.lab.inputs.with_data import WithData
from relulab.subjects.distillation.tools.transfer import from_labels

Array = Tensor | np.ndarray


class Brought(NamedTuple):
    """Points (n, d), the teacher's weights (d,), and whether the last weight is a bias."""

    X: Array
    w_star: Array
    bias: bool


class LinearTeacher(WithData):
    """Points and a linear teacher, given by a file of weights or a column of soft labels."""

    title: ClassVar = "points and a linear teacher"

    teacher: Path | None = None
    """Weights of the linear teacher: .npy, .npz, .safetensors or .pt."""
    label: str | None = None
    """Column or array with the teacher's soft labels, instead of --teacher."""

    @model_validator(mode="after")
    def _one_teacher(self) -> "LinearTeacher":
        if (self.teacher is None) == (self.label is None):
            given = "neither" if self.teacher is None else "both"
            raise UserError(
                f"expected either --teacher or --label, got {given}: give a file of weights or a column of soft labels"
            )
        return self

    def load(self) -> tuple[Array, Array]:
        """Load the points and the teacher's weights."""
        return self.brought()[:2]

    def brought(self) -> Brought:
        """Load the points and the teacher; a teacher with a bias gets points with a column of ones."""
        inputs = None if self.teacher is None else linear_inputs(self.teacher)
        data = self.read(inputs=inputs, with_labels=self.label is not None, as_rows=True)
        X, y = data.points.double().numpy(), data.labels
        if self.teacher is not None:
            w = read_linear_teacher(self.teacher, X.shape[1])
            return Brought(with_ones(X, w), w, len(w) > X.shape[1])
        if y is None or y.dtype.kind not in "fiub":
            raise UserError(f"{self.data}: expected soft labels between 0 and 1 in {self.label}, got text")
        try:
            return Brought(*from_labels(X, y), False)
        except UserError as error:
            try:  # the teacher may have a bias
                return Brought(*from_labels(np.column_stack([X, np.ones(len(X))]), y), True)
            except UserError:
                raise error from None
