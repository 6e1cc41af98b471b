"""Studies from a user's own Python files: ``relulab run my_study.py``."""

from pathlib import Path
from types import ModuleType

from relulab.core.errors import UserError
from relulab.lab.outside_code import blamed
from relulab.lab.own_code import OwnCode
from relulab.lab.own_files import check_file, check_name, files_of
from relulab.lab.study import Study, check_study


def study_of_file(path: Path) -> type[Study]:
    """Return the study that a Python file defines: its ``STUDY``, or the only study class in it.

    The file and the modules in its folder that it imports are read once. What was read is hashed, and this code runs
    here and in worker processes. Data files are not part of the hash: if you change one, choose another ``--runs``.

    Args:
        path: A file with a subclass of ``relulab.Study``.
    """
    check_file(path)
    place = path.absolute()
    check_name(place)
    code = OwnCode(place, files_of(place, refuse=True))
    with blamed(f"{code.package}.{path.stem}", "when the file is imported"):
        module = code.load()
    study = _study_in(module, path)
    check_study(study)
    return study


def _study_in(module: ModuleType, path: Path) -> type[Study]:
    """Return the study that an imported module defines."""
    named = getattr(module, "STUDY", None)
    if named is not None:
        if isinstance(named, type) and issubclass(named, Study):
            return named
        raise UserError(f"{path}: expected STUDY to be a subclass of relulab.Study, got {named!r}")
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Study) and value.__module__ == module.__name__
    ]
    if len(classes) != 1:
        raise UserError(f"expected one study in {path}, found {len(classes)}: add a last line STUDY = ClassName")
    return classes[0]
