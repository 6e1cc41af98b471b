"""Errors in code from outside relulab, such as a user's study: the message names the user's file and line."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from relulab.core.errors import OwnCodeError, RunStopped, UserError
from relulab.lab.own_code import OwnCode, code_of
from relulab.lab.own_files import files_of, shown_path

OWN_SENTENCE = (UserError, RunStopped, OSError, MemoryError)
"""Errors that are reported by a sentence of their own, wherever they occur."""
LONGEST = 300  # characters of an error message that are quoted


@contextmanager
def blamed(module: str, doing: str) -> Iterator[None]:
    """Turn an error in a module from outside relulab into an OwnCodeError with the file and the line in it.

    Args:
        module: The name of the module whose code runs in the block.
        doing: What the code does, for the message, such as "in units()".
    """
    try:
        yield
    except OWN_SENTENCE:
        raise
    except (Exception, SystemExit) as error:
        if not outside(module):
            raise
        raise OwnCodeError(f"{_place(error, module)}: {described(error)} ({doing}): correct the code there") from error


def outside(module: str) -> bool:
    """Whether a module is not a part of relulab."""
    return module.partition(".")[0] != "relulab"


def described(error: BaseException) -> str:
    """Return the type and the message of an error on one line."""
    if isinstance(error, SystemExit):
        return f"the code calls sys.exit({error.code!r})"
    message = " ".join(str(error).split())
    message = message if len(message) <= LONGEST else f"{message[:LONGEST]} …"
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def expected(what: str, wanted: type | tuple[type, ...], got: Any) -> None:
    """Raise a UserError if a value that a user's code returned is of another type.

    Args:
        what: What was returned, such as "half-active: measure()".
        wanted: The type.
        got: The value.
    """
    if not isinstance(got, wanted):
        names = " or ".join(kind.__name__ for kind in (wanted if isinstance(wanted, tuple) else (wanted,)))
        raise UserError(f"{what}: expected a value of type {names}, got one of type {type(got).__name__}")


def _place(error: BaseException, module: str) -> str:
    """Return the last place in the user's code where the error passed, as "my_study.py, line 12"."""
    files, folder = _files(module)
    place = ""
    step = error.__traceback__
    while step is not None:
        name, file = step.tb_frame.f_code.co_filename, Path(step.tb_frame.f_code.co_filename)
        inside = file in files or (folder is not None and file.is_relative_to(folder))
        if inside or step.tb_frame.f_globals.get("__name__") == module:
            place = f"{_shown(name)}, line {step.tb_lineno}"
        step = step.tb_next
    if isinstance(error, SyntaxError) and error.filename and not place:
        place = f"{_shown(error.filename)}, line {error.lineno}"
    return place or shown_path(next(iter(files), Path(module)))


def _shown(name: str) -> str:
    """Return the name of a file as the user would type it, and a name for what is no file: a cell of a notebook."""
    names = {"<stdin>": "the standard input", "<string>": "the code after python -c"}
    cell = re.search(r"ipython-input-(\d+)", name)
    if cell or "ipykernel_" in name:
        return f"cell {cell[1]}" if cell else "a cell of the notebook"
    return names.get(name) or shown_path(Path(name))


def _files(module: str) -> tuple[set[Path], Path | None]:
    """Return the files that a module outside any package consists of, or the folder of its package."""
    code, loaded = code_of(module), sys.modules.get(module)
    file = getattr(loaded, "__file__", None)
    if code is None and file and not getattr(loaded, "__package__", None):
        with suppress(OSError):
            code = OwnCode(Path(file).absolute(), files_of(Path(file).absolute()))
    if code is not None:
        return {code.path.parent / name for name in (code.path.name, *code.files)}, None
    files = {Path(file)} if file else set()
    try:
        spec = find_spec(module.partition(".")[0])
    except (ValueError, ImportError):
        spec = None
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return files, Path(folders[0]) if folders else None
