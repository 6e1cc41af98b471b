"""Studies from a user's own Python files: ``relulab run my_study.py``."""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from relulab.core.errors import UserError
from relulab.lab.study import Study


def study_of_file(path: Path) -> type[Study]:
    """Return the study that a Python file defines: its ``STUDY``, or the only study class in it.

    The file is imported under its own name, with its folder on the path, so that worker processes find it.

    Args:
        path: A file with a subclass of ``relulab.Study``.
    """
    if not path.is_file():
        raise UserError(f"no such file: {path}")
    name, folder = path.stem, str(path.resolve().parent)
    if not name.isidentifier():
        raise UserError(f"{path} cannot be imported: rename it to a name of letters, digits and _")
    known = sys.modules.get(name)
    if known is None:
        spec = find_spec(name)
        if spec is not None and Path(spec.origin or "").resolve() != path.resolve():
            raise UserError(f"{path} has the name of another module, {spec.origin}: rename the file")
        sys.path.insert(0, folder)
        known = _imported(name, path)
    elif Path(getattr(known, "__file__", None) or "").resolve() != path.resolve():
        raise UserError(f"{path} has the name of another module, {name}: rename the file")
    return _study_in(known, path)


def _imported(name: str, path: Path) -> object:
    try:
        return import_module(name)
    except UserError:
        raise
    except Exception as error:
        sys.modules.pop(name, None)
        raise UserError(f"{path}{_line(error, path)}: {type(error).__name__}: {error}") from error


def _line(error: Exception, path: Path) -> str:
    """Return where in the file the error occurred, as ", line 12", or "" if unknown."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    step = error.__traceback__
    while step is not None:
        if Path(step.tb_frame.f_code.co_filename).resolve() == path.resolve():
            line = step.tb_lineno
        step = step.tb_next
    return f", line {line}" if line else ""


def _study_in(module: object, path: Path) -> type[Study]:
    """Return the study that an imported module defines."""
    named = getattr(module, "STUDY", None)
    if named is not None:
        if isinstance(named, type) and issubclass(named, Study):
            return named
        raise UserError(f"{path}: expected STUDY to be a subclass of relulab.Study, got {named!r}")
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Study) and value.__module__ == module.__name__  # type: ignore[attr-defined]
    ]
    if len(classes) != 1:
        raise UserError(f"expected one study in {path}, found {len(classes)}: add a last line STUDY = ClassName")
    return classes[0]
