"""Studies in files of a user's own: ``relulab run my_study.py``."""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from relulab.core.errors import UserError
from relulab.lab.study import Study


def study_of_file(path: Path) -> type[Study]:
    """The study that a Python file defines: its ``STUDY``, or the only study class in it.

    The file is imported under its own name, with its folder on the path, so that worker processes find it too.

    Args:
        path: A file with a subclass of ``relulab.Study``.
    """
    if not path.is_file():
        raise UserError(f"{path}: there is no such file")
    name, folder = path.stem, str(path.resolve().parent)
    if not name.isidentifier():
        raise UserError(f"{path}: a file that is imported needs a name of letters, digits and _; rename it")
    known = sys.modules.get(name)
    if known is None:
        spec = find_spec(name)
        if spec is not None and Path(spec.origin or "").resolve() != path.resolve():
            raise UserError(f"{path}: {name} is also the name of another module, {spec.origin}; rename the file")
        sys.path.insert(0, folder)
        known = _imported(name, path)
    elif Path(getattr(known, "__file__", None) or "").resolve() != path.resolve():
        raise UserError(f"{path}: {name} is also the name of another module; rename the file")
    return _study_in(known, path)


def _imported(name: str, path: Path) -> object:
    try:
        return import_module(name)
    except UserError:
        raise
    except Exception as error:
        sys.modules.pop(name, None)
        line = _line(error, path)
        raise UserError(f"{path}{line}: {type(error).__name__}: {error}") from error


def _line(error: Exception, path: Path) -> str:
    """Where in the file the error arose, as ", line 12"."""
    found = error.lineno if isinstance(error, SyntaxError) else None
    step = error.__traceback__
    while step is not None:
        if Path(step.tb_frame.f_code.co_filename).resolve() == path.resolve():
            found = step.tb_lineno
        step = step.tb_next
    return f", line {found}" if found else ""


def _study_in(module: object, path: Path) -> type[Study]:
    wanted = getattr(module, "STUDY", None)
    if wanted is not None:
        if isinstance(wanted, type) and issubclass(wanted, Study):
            return wanted
        raise UserError(f"{path}: STUDY is {wanted!r}; it should be a subclass of relulab.Study")
    found = [
        thing
        for thing in vars(module).values()
        if isinstance(thing, type) and issubclass(thing, Study) and thing.__module__ == module.__name__  # type: ignore[attr-defined]
    ]
    if len(found) != 1:
        raise UserError(f"{path} has {len(found)} studies: say which with a last line STUDY = ClassName")
    return found[0]
