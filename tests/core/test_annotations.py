"""What annotations accept before a call and after a failure, and how they are called."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import numpy as np
import pandas as pd
import pytest
import torch
from jaxtyping import Float, Float64, Int, Shaped
from torch import Tensor, nn

from relulab.core.annotations import kind_of
from relulab.core.numbers import Numbers
from relulab.data.inputs import Gaussian, Inputs


class Pair(NamedTuple):
    """Two matrices."""

    a: Float[Tensor, "n d"]
    b: Float[Tensor, "n d"]


KINDS = {
    # annotation: its words, what is exact, what is accepted as well, what is refused
    "int": (int, "an integer", [3, np.int8(3), np.array(3), torch.tensor(3), True], [3.0], [2.5, "3", None, int]),
    "float": (float, "a number", [0.5, 2, np.float32(1)], [torch.tensor(0.5), np.array([2])], ["1", 1j, np.nan, None]),
    "bool": (bool, "True or False", [True, np.False_], [0, 1], [2, "yes", None, 1.0]),
    "str": (str, "a string", ["a"], [], [b"a", 3, None, Path("a")]),
    "path": (Path | str, "a path", ["a", Path("a")], [], [b"a", 3, None]),
    "none": (float | None, "a number or None", [None, 0.5], [], ["a", np.nan]),
    "any": (Any, "anything", [None, object()], [], []),
    "integers": (
        Sequence[int], "a sequence of integers", [[1, 2], (3,), range(2), np.arange(2), {1, 2}, []], [[1.0]],
        ["12", b"12", 4, {}, [1, "a"], np.eye(2), [0.5], nn.Sequential(), iter([1])],
    ),
    "numbers": (
        float | Sequence[float], "a number or a sequence of numbers", [1.0, [1, 2.5], np.ones(2)], [torch.ones(2)],
        ["1", [None], Tensor],
    ),
    "pair": (tuple[float, float], "a tuple of a number and a number", [(1, 2), [1, 2]], [], [(1,), (1, "a"), 3]),
    "tuple": (tuple[str, ...], "a sequence of strings", [("a",), []], [], ["ab", ("a", 1)]),
    "literal": (Literal["<", ">"], "'<' or '>'", ["<"], [], ["<=", None, 0]),
    "annotated": (Annotated[int, "seed"], "an integer", [1], [2.0], ["a"]),
    "module": (nn.Module, "a torch.nn.Module", [nn.ReLU()], [], [nn.ReLU, 3, None]),
    "dtype": (torch.dtype, "a data type such as torch.float64", [torch.float32], [], [float, "float32", np.float32]),
    "mapping": (Mapping[str, int], "a dictionary", [{}], [], [[], None]),
    "protocol": (Inputs, "Inputs", [Gaussian(2)], [], [Gaussian, 3, None]),
    "tensor": (Tensor | np.ndarray, "a tensor or an array", [torch.ones(2), np.ones(2)], [[1.0], [[1, 2]]],
               ["a", None, 3.0, ["a"], np.array(["a"]), torch.ones(2, dtype=torch.complex64), {}, nn.ReLU()]),
    "any numbers": (Numbers, "numbers (a tensor, an array or lists)", [torch.ones(2), [1], 3.0, ["a"],
                    pd.DataFrame([[1.0]])], [], ["a", b"a", None, {}, nn.ReLU(), Tensor]),
    "matrix": (Float[Tensor, "n d"], "a floating-point tensor of shape (n, d)", [torch.ones(2, 3)],
               [torch.ones(2, 3, dtype=int), np.ones((2, 3)), [[1.0]]], [torch.ones(3), 3.0, "a", None, Tensor]),
    "lanes": (Float64[Tensor, "*lane d"], "a float64 tensor of shape (…, d)", [torch.ones(4, 2, 3).double()],
              [torch.ones(3)], [torch.tensor(1.0)]),
    "rows": (Int[Tensor, " M"], "an integer tensor of shape (M,)", [torch.arange(3)], [torch.ones(3)],
             [torch.ones(3, 1)]),
    "both": (Shaped[Tensor | np.ndarray, "N *x"], "a tensor or array of shape (N, …)", [torch.ones(3), np.ones((2, 3))],
             [[1]], [torch.tensor(1.0), None]),
    "named tuple": (Pair, "a Pair", [Pair(torch.eye(2), torch.eye(2))], [Pair(torch.ones(2), torch.eye(2))],
                    [(torch.eye(2), torch.eye(2)), nn.ReLU()]),
    "function": (Callable[[int], float], "a function of one argument", [abs, lambda t: t, print], [],
                 [lambda: 0, lambda a, b: 0, 3, None, Gaussian, nn.ReLU()]),
    "loss": (Callable[[Any, Tensor], Tensor], "a function of two arguments", [nn.MSELoss(), lambda f, y: f], [],
             [nn.ReLU(), nn.MSELoss]),
    "class": (type[int], "a class", [int], [], [3]),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_kind(name):
    annotation, words, exact, accepted, refused = KINDS[name]
    kind = kind_of(annotation)
    assert kind.words == words
    assert all(kind.accepts(value) and kind.exact(value) for value in exact)
    assert all(kind.accepts(value) and not kind.exact(value) for value in accepted)
    assert not any(kind.accepts(value) for value in refused)


def test_the_annotations_of_public_functions_are_understood():
    """An annotation of an unknown form would accept everything."""
    from valid_calls import public

    from relulab.core.kinds import ANYTHING
    from relulab.core.signatures import Arguments

    unknown = set()
    for name, function in public().items():
        if inspect.isfunction(function):
            known = Arguments(function, name, function)
            keys = [key for key, kind in known.kinds.items() if kind is ANYTHING and key != "self"]
            unknown |= {f"{name} {key}" for key in keys} - {"panels options"}  # options of Matplotlib
    assert not unknown


def test_a_type_variable_is_checked_by_its_bound():
    bound, free = TypeVar("bound", bound=nn.Module), TypeVar("free")
    assert kind_of(bound).accepts(nn.ReLU()) and not kind_of(bound).accepts(None)
    assert kind_of(bound).words == kind_of(nn.Module).words and kind_of(free).accepts(None)
