"""Tensors and arrays as a task: the same numbers in any form. Wrong lengths are in tests/train/test_mistakes.py."""

import numpy as np
import pytest
import torch

from relulab import UserError
from relulab.data.tensor_task import TensorTask

X, Y = torch.randn(37, 4), torch.randn(37, 4)


def test_targets_stay_with_their_inputs():
    for x, y in TensorTask(X, 2 * X, seeds=[0, 1]).train().of_lane(1), TensorTask(X, 2 * X).train().of_lane(0):
        assert torch.equal(y, 2 * x)


@pytest.mark.parametrize("change", [lambda a: a, lambda a: a[::-1][::-1], lambda a: a.astype(np.float64)])
def test_arrays_are_converted(change):
    task = TensorTask(change(X.numpy()), change(Y.numpy()))
    assert torch.equal(task.train().X[0].float(), X) and torch.equal(task.train().Y[0].float(), Y)
    frozen = X.numpy().copy()
    frozen.setflags(write=False)
    assert torch.equal(TensorTask(frozen, np.arange(37) % 3).train().X[0], X)
    assert TensorTask(frozen, np.arange(37) % 3).classes == 3


def test_what_is_trained_itself_is_no_data():
    with pytest.raises(UserError, match="got targets with requires_grad=True"):
        TensorTask(X, Y.clone().requires_grad_())
