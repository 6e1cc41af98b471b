"""Studies and units as bytes for worker processes, which cannot import what is defined in a script or a notebook.

Classes and functions of the module ``__main__`` are sent with their code and the values that they use, so a worker does
not run the script again. Everything else is sent by name and imported by the worker. The worker then compares its code
with that of the run.
"""

import functools
from functools import cache
from importlib import import_module
from io import BytesIO
from operator import attrgetter
from types import FunctionType
from typing import Any, NamedTuple

import cloudpickle

from relulab.core.errors import UserError
from relulab.lab.live_code import MAIN, Incomparable, set_torch, torch_settings
from relulab.lab.outside_code import described, outside
from relulab.lab.own_code import OwnCode, code_of
from relulab.lab.study import Study, place_of

_Cached = type(functools.lru_cache(lambda: None))


class OtherCode(UserError):
    """A worker has other code than the process that named the run."""


class NotSent(UserError):
    """A study that cannot be sent to another process."""


class Parcel(NamedTuple):
    """A study for a worker: its bytes, the hash in the name of its run, and the settings of PyTorch in the script."""

    content: bytes
    run_hash: str
    settings: dict[str, Any] | None


def packed_study(study: Study, run_hash: str) -> Parcel:
    """Return a study as it is sent to workers; raise ``NotSent`` if it refers to something that cannot be sent.

    Args:
        study: The study.
        run_hash: The hash in the name of the run.
    """
    content = packed(study, f"{place_of(study)}: the class {type(study).__name__} uses")
    from_script = outside(type(study).__module__) and not study.own_code
    return Parcel(content, run_hash, torch_settings() if from_script else None)


@cache
def unpacked_study(content: bytes, run_hash: str) -> Study:
    """Return the study of a parcel; raise ``OtherCode`` if this process has other code than the run.

    Args:
        content: The bytes of the study.
        run_hash: The hash in the name of the run.
    """
    try:
        study = unpacked(content)
    except UserError:
        raise
    except Exception as error:
        raise OtherCode(
            f"a worker cannot load the study ({described(error)}): install what it imports where the worker runs"
        ) from error
    try:
        same = study.hash == run_hash
    except Incomparable:  # the run has a name of its own, and its code has just arrived
        same = True
    if not same:
        raise OtherCode(
            f"{study.name}: a worker found other code than the run was started with, because a file was edited or the "
            "worker has another version: run the same command again, in a notebook after a restart of the kernel"
        )
    return study


def opened(parcel: Parcel) -> Study:
    """Return the study of a parcel in a worker, with the settings of the script.

    Args:
        parcel: What ``packed_study`` returned.
    """
    if parcel.settings is not None:
        set_torch(parcel.settings)
    return unpacked_study(parcel.content, parcel.run_hash)


def packed(value: Any, who: str) -> bytes:
    """Return a value as bytes that another process can load; raise ``NotSent`` if it refers to what has no such form.

    Args:
        value: The value.
        who: The beginning of the error message, such as "script.py: the class Mine uses".
    """
    content = BytesIO()
    try:
        _Pickler(content).dump(value)
    except Exception as error:  # any code of the value may run here
        problem = f"{who} a value that cannot be sent to another process ({described(error)})"
        raise NotSent(f"{problem}: create it in measure()") from error
    return content.getvalue()


def unpacked(content: bytes) -> Any:
    """Return the value that another process of this run has packed."""
    return cloudpickle.loads(content)


class _Pickler(cloudpickle.CloudPickler):
    """Also sends code from a user's file, cached properties, and functions with a cache, but not what they cached."""

    def reducer_override(self, obj: Any) -> Any:
        named = isinstance(obj, type | FunctionType) and "<" not in obj.__qualname__  # not local, no lambda
        if named and (code := code_of(obj.__module__ or "")):
            return _of_file, (code, obj.__module__, obj.__qualname__)
        if type(obj) is functools.cached_property:
            return _cached_property, (obj.func, obj.attrname)
        if type(obj) is _Cached and obj.__module__ == MAIN:
            return _cached_function, (obj.__wrapped__, obj.cache_parameters())
        return super().reducer_override(obj)


def _of_file(code: OwnCode, module: str, name: str) -> Any:
    """Return a class or function of a user's file, which is loaded from the code that was sent."""
    code.load()
    return attrgetter(name)(import_module(module))


def _cached_property(function: Any, name: str | None) -> Any:
    made = functools.cached_property(function)
    made.attrname = name
    return made


def _cached_function(function: Any, parameters: dict[str, Any]) -> Any:
    return functools.lru_cache(**parameters)(function)
