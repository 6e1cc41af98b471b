"""The arguments of ``fit`` as a user gives them: converted where the meaning is clear, and refused otherwise."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from relulab.core.errors import UserError
from relulab.core.numbers import tensor
from relulab.core.value_words import shortened
from relulab.data.task import TrainingTask
from relulab.data.tensor_task import TensorTask
from relulab.train.checkpoint import Checkpoint
from relulab.train.losses import Loss


def given_task(net: nn.Module, task: Any) -> TrainingTask:
    """Return a task, or a pair of inputs and targets as a task; NumPy's real numbers get the data type of the network.

    Args:
        net: The network.
        task: A task, or a pair of tensors or NumPy arrays.
    """
    if not isinstance(net, nn.Module):
        raise UserError(f"expected a torch.nn.Module to train, got {type(net).__name__}: pass the network first")
    if isinstance(task, TrainingTask):
        return task
    if not isinstance(task, tuple | list) or len(task) != 2:
        given = f"{len(task)} values" if isinstance(task, tuple | list) else type(task).__name__
        raise UserError(
            f"expected a task, or a pair of inputs and targets, got {given}: pass (X, Y), TensorTask(X, Y) or, for "
            "labeled data, LabeledTask([data], seeds=[0])"
        )
    dtype = next((p.dtype for p in net.parameters() if p.is_floating_point()), None)
    X, Y = (
        tensor(name, part).to(dtype) if isinstance(part, np.ndarray) and part.dtype.kind == "f" else part
        for name, part in zip(("inputs", "targets"), task, strict=True)
    )
    return TensorTask(X, Y)


def check_loss(loss: Any) -> None:
    """Refuse what cannot be called as a loss.

    Args:
        loss: None, a ``Loss``, or a function of outputs and targets.
    """
    # A class has the methods of its objects, so it would pass as a loss.
    if isinstance(loss, type) or not (loss is None or isinstance(loss, Loss) or callable(loss)):
        remedy = f"add parentheses, {loss.__name__}()" if isinstance(loss, type) else "pass one of these"
        if isinstance(loss, str):
            remedy = f"did you mean {_named_loss(loss)}?"
        raise UserError(
            "expected a loss such as relulab.MSE() or torch.nn.MSELoss(), or a function loss(outputs, targets), got "
            f"{shortened(loss)}: {remedy}"
        )


def _named_loss(name: str) -> str:
    """Return the loss that a name such as "mse" or "cross_entropy" means most likely."""
    letters = name.lower().replace("_", "").replace("-", "").replace(" ", "")
    names = {"crossentropy": "CrossEntropy", "ce": "CrossEntropy", "nll": "CrossEntropy", "logistic": "Logistic",
             "bce": "Logistic", "mse": "MSE", "squared": "MSE"}  # fmt: skip
    return f"relulab.{next((loss for known, loss in names.items() if known in letters), 'MSE')}()"


def given_checkpoint(checkpoint: Checkpoint | str | Path | None) -> Checkpoint | None:
    """Return where to save the training, after checking that files can be written there.

    Args:
        checkpoint: The argument of ``fit``.
    """
    if checkpoint is None:
        return None
    checkpoint = Checkpoint(Path(checkpoint)) if isinstance(checkpoint, str | Path) else checkpoint
    path = Path(checkpoint.path)
    if path.is_dir():
        raise UserError(f"expected a file for the checkpoint, got the folder {path}: give the name of a file in it")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        problem = "is not writable" if path.parent.is_dir() else "does not exist"
        raise UserError(
            f"expected a checkpoint in a folder for writing, got {path}, whose folder {problem}: create the folder, or "
            "choose another one"
        )
    return checkpoint
