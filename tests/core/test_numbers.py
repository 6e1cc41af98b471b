"""Conversion of user input to tensors of one floating-point type."""

import numpy as np
import pytest
import torch

from relulab.core.errors import UserError
from relulab.core.numbers import tensor, tensors

SINGLE, DOUBLE = torch.float32, torch.float64


@pytest.mark.parametrize(("given", "dtype"), [
    ((torch.ones(2), torch.ones(2)), SINGLE),
    ((torch.ones(2), torch.ones(2, dtype=DOUBLE)), DOUBLE),
    ((np.ones(2, dtype=np.float32), torch.ones(2)), SINGLE),
    ((np.ones(2), torch.ones(2)), DOUBLE),
    (([1.0, 2.0], torch.ones(2)), DOUBLE),
    (([1, 2], torch.ones(2)), SINGLE),
    (([1, 2], [True, False]), DOUBLE),
    ((torch.arange(2), np.arange(2)), DOUBLE),
])  # fmt: skip
def test_the_widest_floating_type_wins(given, dtype):
    converted = tensors(**dict(zip("ab", given, strict=True)))
    assert [t.dtype for t in converted] == [dtype, dtype]
    assert [t.tolist() for t in converted] == [torch.as_tensor(x).tolist() for x in given]


def test_a_tensor_is_returned_unchanged():
    x = torch.ones(2, requires_grad=True)
    assert tensor("x", x) is x and tensors(x=x)[0].requires_grad


def test_reversed_and_read_only_arrays_are_accepted():
    x = np.arange(6.0).reshape(3, 2)
    assert tensor("x", x[::-1]).tolist() == x[::-1].tolist()
    x.setflags(write=False)
    assert tensor("x", x).tolist() == x.tolist()
    assert tensor("x", [torch.ones(2), torch.zeros(2)]).tolist() == [[1, 1], [0, 0]]


@pytest.mark.parametrize("given", [[[1.0], [1.0, 2.0]], ["a", "b"], [None, 1.0], np.array([1j]), torch.ones(2) * 1j])
def test_the_error_names_the_argument_that_is_not_numeric(given):
    with pytest.raises(UserError, match=r"^weights must be real numbers"):
        tensors(weights=given, X=[1.0])
