"""Public functions explain mistakes in their arguments, and pass on every other error."""

import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

import relulab as rl
from relulab.core.explained import checks_itself, explained, explained_methods, may_be_nan
from relulab.train.description import description

PREAMBLE = """
from collections.abc import Callable, Sequence
from jaxtyping import Float
from torch import Tensor
"""


def function(code: str, name: str = "f"):
    """A function as if it were defined in relulab, so that its frames do not count as a user's."""
    namespace = {"__name__": "relulab.made_up"}
    exec(PREAMBLE + code, namespace)
    return explained(namespace[name])


SUM = '''
def f(x: Float[Tensor, "n d"], w: Float[Tensor, "d"], *, scale: float = 1.0):
    """Add.

    Args:
        x: Points, (n, d). One row each.
        w: Weights, (d,).
        scale: The factor.
    """
    return scale * (x.mean(0) + w)
'''


def refusal(call) -> str:
    with pytest.raises(rl.UserError) as error:
        call()
    assert "\n" not in str(error.value)
    return str(error.value)


def test_an_argument_that_cannot_be_meant_is_refused_before_the_call():
    f = function(SUM)
    x, w = torch.ones(2, 3), torch.ones(3)
    assert f(x, w).tolist() == [2, 2, 2]
    assert refusal(lambda: f("text", w)) == (
        "f: expected x to be a floating-point tensor of shape (n, d), got 'text' (str): points, (n, d)"
    )
    assert refusal(lambda: f(x, w=None)).endswith("got None: weights, (d,)")
    assert "got a float32 tensor of shape (2, 3, 1)" in refusal(lambda: f(x[..., None], w))
    assert "expected scale to be a number, got nan (float): the factor" in refusal(lambda: f(x, w, scale=np.nan))


def test_a_failure_is_explained_by_the_argument_at_fault():
    f = function(SUM)
    with pytest.raises(rl.UserError, match=r"expected x to be .*, got \[\[1.0\]\] \(list\): points") as error:
        f([[1.0]], torch.ones(1))
    assert isinstance(error.value.__cause__, AttributeError)
    both = "expected x and w to have the same d, got x of shape (2, 3) and w of shape (4,)"
    assert both in refusal(lambda: f(torch.ones(2, 3), torch.ones(4)))


@pytest.mark.parametrize(
    ("arguments", "options", "says"),
    [
        ((), {}, r"f needs x and w: x is a floating-point tensor of shape (n, d), points, (n, d)"),
        ((torch.ones(2, 3),), {"v": 1}, "f has no argument 'v': choose from x, w, scale"),
        ((torch.ones(2, 3),), {"scal": 1}, "f has no argument 'scal': did you mean 'scale'?"),
        ((torch.ones(2, 3), torch.ones(3), 2.0), {}, "f takes at most 2 arguments by position (x, w), got 3: write"),
        ((torch.ones(2, 3),), {"x": torch.ones(2, 3)}, "f got x twice, by position and by name"),
    ],
)
def test_missing_unknown_and_repeated_arguments(arguments, options, says):
    assert says in refusal(lambda: function(SUM)(*arguments, **options))


def test_an_error_that_no_argument_explains_is_passed_on():
    f = function("def f(x: int):\n    return [][x]")
    with pytest.raises(IndexError, match="list index out of range"):
        f(3)
    assert "expected x to be an integer, got 3.0 (float)" in refusal(lambda: f(3.0))


def test_errors_with_a_sentence_of_their_own_are_passed_on():
    f = function("def f(x: int, kind):\n    raise kind('a reason')")
    for kind in (rl.RunStopped, OSError, MemoryError, ImportError, UserWarning, KeyboardInterrupt):
        with pytest.raises(kind, match="a reason"):
            f(3.0, kind)
    assert refusal(lambda: f(3.0, rl.UserError)) == "f: a reason"


def test_an_error_in_a_users_function_is_passed_on():
    f = function("def f(x: Float[Tensor, 'n'], g: Callable[[float], float]):\n    return g(1.0)")

    def g(number):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as error:
        f([1.0], g)
    assert [entry.name for entry in error.traceback][-1] == "g"
    assert "a function of one argument, got the function <lambda>(a, b)" in refusal(lambda: f([1.0], lambda a, b: 1))


def test_an_error_in_a_loss_or_a_probe_is_passed_on():
    X = torch.randn(8, 2)

    def broken(*_):
        raise LookupError("mine")

    for options in ({"loss": broken}, {"probes": [rl.Probe([0], broken)]}, {"tick": broken}, {"schedule": broken}):
        with pytest.raises(LookupError, match="mine"):
            rl.fit(nn.Linear(2, 1), (X, X[:, :1]), epochs=1, **options)


def test_a_call_by_relulab_itself_is_not_explained():
    code = "def g(x: int):\n    return x.nothing\ndef f(x: int):\n    return g(2.0)"
    namespace = {"__name__": "relulab.made_up"}
    exec(code, namespace)
    namespace["g"] = explained(namespace["g"])
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        explained(namespace["f"])(1)


def test_functions_keep_their_name_signature_and_docstring():
    raw = rl.small_normal.__wrapped__
    assert (rl.small_normal.__name__, rl.small_normal.__doc__) == (raw.__name__, raw.__doc__)
    assert inspect.signature(rl.small_normal) == inspect.signature(raw)
    assert list(inspect.signature(rl.MLP).parameters) == ["widths", "lanes", "bias", "slope", "dtype"]
    assert explained(rl.small_normal) is rl.small_normal and explained(3) == 3


def test_functions_and_objects_can_be_pickled():
    for thing in (rl.small_normal, rl.specialization.alignment, rl.MLP, rl.SGD(0.5), rl.Gaussian(3, 1.5)):
        again = pickle.loads(pickle.dumps(thing))
        assert again is thing if callable(thing) else again == thing
    data = rl.labeled([[1.0, 2.0], [-1.0, 0.0]], [0, 1])
    assert torch.equal(pickle.loads(pickle.dumps(data)).X, data.X)


def test_a_function_has_the_same_description_with_and_without_explanations():
    assert description(rl.small_normal) == description(rl.small_normal.__wrapped__)


def test_public_classes_can_be_subclassed():
    class Own(rl.MLP):
        def __init__(self, width: int):
            super().__init__((2, width, 1))

    assert isinstance(Own(3), rl.MLP) and Own(3).widths == (2, 3, 1)
    assert "MLP: expected widths to be a sequence of integers" in refusal(lambda: Own("a"))


def test_a_class_may_check_arguments_itself():
    @checks_itself("a")
    @may_be_nan("b")
    class Own:
        def __init__(self, a: int, b: float, c: float):
            self.all = a, b, c

        def twice(self, n: int) -> int:
            """Double.

            Args:
                n: A number.
            """
            return 2 * n

    assert explained(Own)("text", np.nan, 1.0).all[0] == "text"
    assert "Own: expected c to be a number, got nan" in refusal(lambda: Own(1, 1.0, np.nan))
    assert "Own: expected b to be a number, got 'x'" in refusal(lambda: Own(1, "x", 1.0))
    assert explained_methods(Own) == ["twice"] and Own(1, 1.0, 1.0).twice(2) == 4
    assert "Own.twice: expected n to be an integer, got 'x' (str): a number" in refusal(
        lambda: Own(1, 1.0, 1.0).twice("x")
    )


def test_importing_relulab_imports_neither_torch_nor_the_explanations():
    code = (
        "import sys, relulab; print('torch' in sys.modules, 'relulab.core.explained' in sys.modules);"
        "relulab.UserError; print('torch' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.stdout.split() == ["False", "False", "False"], answer.stderr
