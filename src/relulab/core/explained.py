"""Public functions whose mistakes in arguments are explained in one sentence.

Before a call, arguments that cannot be meant are refused, such as a text for a sequence of seeds. If a call fails with
an error of Python, NumPy or PyTorch, the arguments are compared with their annotations, and the one at fault is named.
An error of a user's own function, and an error that no argument explains, is passed on unchanged.
"""

import functools
import re
import sys
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any, TypeVar

from relulab.core.errors import OwnCodeError, RunStopped, UserError
from relulab.core.installed import installed
from relulab.core.signatures import Arguments

F = TypeVar("F", bound=Callable)
T = TypeVar("T")
OWN_SENTENCE = (RunStopped, OSError, MemoryError, ImportError, Warning)
"""errors that explain themselves"""
CHECKERS = ("jaxtyping", "beartype")  # packages that wrap functions in tests
FORWARD = ("forward", "layers")
MARK = "__explained__"


def checks_itself(*names: str) -> Callable[[T], T]:
    """Return a decorator for a function or class that checks these arguments itself, with better sentences.

    Args:
        names: The names of the arguments.
    """
    return functools.partial(_marked, "__checks_itself__", frozenset(names))


def may_be_nan(*names: str) -> Callable[[T], T]:
    """Return a decorator for a function or class in which NaN is a meaningful value of these numbers.

    Args:
        names: The names of the arguments.
    """
    return functools.partial(_marked, "__may_be_nan__", frozenset(names))


def _marked(attribute: str, names: frozenset[str], thing: T) -> T:
    setattr(thing, attribute, names)
    return thing


def explained(thing: Any) -> Any:
    """Return a public function that explains mistakes in its arguments; a class is changed in place and returned.

    Args:
        thing: A function or a class. Anything else is returned as it is.
    """
    if isinstance(thing, FunctionType):
        return thing if hasattr(thing, MARK) else _wrapped(thing, thing.__name__, thing)
    if isinstance(thing, type) and MARK not in vars(thing):
        setattr(thing, MARK, True)
        _explain_class(thing)
    return thing


def explained_methods(cls: type) -> list[str]:
    """Return the names of the methods of a class that are explained: public ones that describe their arguments.

    The forward pass of a network is left out, since it is called in every training step.

    Args:
        cls: A public class.
    """
    functions = {name: getattr(member, "__func__", member) for name, member in vars(cls).items()}
    return [
        name
        for name, function in functions.items()
        if isinstance(function, FunctionType)
        and (not name.startswith("_") or name == "__call__")
        and name not in FORWARD
        and not getattr(function, "__isabstractmethod__", False)
        and "Args:" in (function.__doc__ or "")
    ]


def _explain_class(cls: type) -> None:
    own = dict(vars(cls))
    if issubclass(cls, tuple):
        cls.__new__ = _wrapped(cls.__new__, cls.__name__, cls)
    elif issubclass(cls, BaseException) or hasattr(cls, "model_fields"):
        pass  # errors take any text, and Pydantic checks its fields
    elif isinstance(own.get("__init__"), FunctionType):
        cls.__init__ = _wrapped(own["__init__"], cls.__name__, cls)
    elif cls.__init__ is object.__init__ and cls.__new__ is object.__new__:
        cls.__init__ = _wrapped(_nothing, cls.__name__, cls)
    for name in explained_methods(cls):
        kind = type(own[name]) if isinstance(own[name], (classmethod, staticmethod)) else None
        function = getattr(own[name], "__func__", own[name])
        shown = cls.__name__ if name == "__call__" else f"{cls.__name__}.{name}"
        wrapped = _wrapped(function, shown, function, bound=kind is not staticmethod)
        setattr(cls, name, kind(wrapped) if kind else wrapped)


def _nothing(self: Any) -> None:
    """Initialize an object without arguments."""


def _wrapped(function: Any, name: str, documented: Any, bound: bool | None = None) -> Any:
    """Return a function that checks and explains its arguments.

    Args:
        function: The function.
        name: Its name in messages.
        documented: Whose docstring describes the arguments, and which may check some of them itself.
        bound: Whether the first argument is the object or class; by default it is for functions of a class.
    """
    known: Arguments | None = None
    skipped = int(documented is not function if bound is None else bound)

    @functools.wraps(function)
    def call(*args, **kwargs):
        nonlocal known
        if known is None:  # on the first call, since annotations may refer to what is defined later
            known = Arguments(function, name, documented, skipped)
        wrong = known.refused(args, kwargs)
        if wrong is not None:
            raise UserError(wrong)
        try:
            return function(*args, **kwargs)
        except UserError as error:
            if not (isinstance(error, OwnCodeError) or _passes(error, sys._getframe())):
                _name(error, name)
            raise
        except OWN_SENTENCE:
            raise
        except Exception as error:
            sentence = None if _passes(error, sys._getframe()) else known.explanation(args, kwargs)
            if sentence is None:
                raise
            raise UserError(sentence) from error

    setattr(call, MARK, True)
    return call


def _name(error: UserError, name: str) -> None:
    """Put the name of the function before the message of an error that does not mention it."""
    if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", str(error)):
        error.args = (f"{name}: {error}",)


def _passes(error: Exception, frame: FrameType) -> bool:
    """Whether an error is passed on: it was raised in a user's own code, or the function was called by relulab."""
    caller: FrameType | None = frame.f_back
    while caller is not None and _top(caller) in CHECKERS:
        caller = caller.f_back
    if type(error).__name__ == "OutOfMemoryError" or (caller is not None and _top(caller) == "relulab"):
        return True
    step = error.__traceback__
    while step is not None:
        if step.tb_frame is not frame and _is_own(step.tb_frame):
            return True
        step = step.tb_next
    return False


def _top(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _is_own(frame: FrameType) -> bool:
    """Whether code belongs to a user, and not to Python, relulab or an installed package."""
    top = _top(frame)
    return top == "__main__" or not (top in ("", "builtins") or top.startswith("namedtuple_") or installed(top))
