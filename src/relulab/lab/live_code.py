"""The code of a study in a script, a notebook or another module that Python itself has imported.

Such code may exist in this process only: a cell of a notebook has no file, and a file may have been edited since it was
imported. So a run is named after what is in memory: the class of the study, and all functions and values that it uses
(``relulab.train.description``).
"""

import builtins
import hashlib
import sys
import time
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from relulab.core.errors import UserError
from relulab.core.installed import installed
from relulab.lab.own_files import files_of, shown_path
from relulab.train.description import Undescribable, description

MAIN = "__main__"
START = time.time()
"""When this module was imported. Code that has changed since then may differ from what this process has imported."""


class Incomparable(UserError):
    """Code that refers to a value that cannot be compared with that of another process, such as an open file."""


def live_digests(cls: type) -> list[str]:
    """Return checksums of the code of a class that is not in relulab.

    Args:
        cls: The class of a study.

    Raises:
        Incomparable: If it cannot be compared with the code in another process.
    """
    top = cls.__module__.partition(".")[0]
    if top == "relulab":  # its studies have a version
        return []
    folder = getattr(sys.modules.get(top), "__path__", None)
    if installed(top) and folder:
        return [package_code(Path(next(iter(folder)))).digest]
    try:
        return [description((cls, torch_settings()))]
    except Undescribable as reason:
        raise Incomparable(
            f"{source_of(cls)}: the class {cls.__name__} uses a value that cannot be compared with a later one, "
            f"{reason}: make it a field, or create it in measure()"
        ) from None


class PackageCode(NamedTuple):
    """A checksum of all Python files of a package, and the time of the last change."""

    digest: str
    changed: float


@cache
def package_code(folder: Path) -> PackageCode:
    """Return the state of the Python files in a folder when it is first asked for.

    Args:
        folder: The folder of a package.
    """
    content, changed = hashlib.sha256(), 0.0
    for path in sorted(folder.rglob("*.py")):
        about = path.stat()
        changed = max(changed, about.st_mtime)
        content.update(f"{path.relative_to(folder).as_posix()}\0{about.st_size}\0".encode())
        content.update(path.read_bytes())
    return PackageCode(content.hexdigest(), changed)


def torch_settings() -> dict[str, Any]:
    """Return the settings of PyTorch that results depend on and that a script has changed."""
    if "torch" not in sys.modules:
        return {}
    import torch

    settings = {
        "dtype": (torch.get_default_dtype(), torch.float32),
        "matmul": (torch.get_float32_matmul_precision(), "highest"),
        "deterministic": (torch.are_deterministic_algorithms_enabled(), False),
    }
    return {name: value for name, (value, default) in settings.items() if value != default}


def set_torch(settings: dict[str, Any]) -> None:
    """Apply the settings that ``torch_settings`` returned in another process.

    Args:
        settings: The settings.
    """
    import torch

    torch.set_default_dtype(settings.get("dtype", torch.float32))
    torch.set_float32_matmul_precision(settings.get("matmul", "highest"))
    torch.use_deterministic_algorithms(settings.get("deterministic", False))


def source_of(cls: type) -> str:
    """Return where a class is defined, for messages: a file, "the notebook", or the name of its package.

    Args:
        cls: A class.
    """
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    if file and (cls.__module__ == MAIN or not getattr(module, "__package__", None)):
        return shown_path(Path(file).absolute())
    if cls.__module__ != MAIN:
        return cls.__module__
    if hasattr(builtins, "__IPYTHON__"):
        return "the notebook"
    return "the code after python -c" if sys.argv[:1] == ["-c"] else "the standard input"


def files_beside(module_name: str) -> list[Path]:
    """Return the files of the single modules that a module uses and that are not installed; imported ones come first.

    Args:
        module_name: The name of a module in no package, or of ``__main__``, which is left out itself.
    """
    module = sys.modules[module_name]
    used = [module] if getattr(module, "__file__", None) else [
        sys.modules[name]
        for value in vars(module).values()
        if (name := getattr(value, "__name__" if isinstance(value, ModuleType) else "__module__", None)) in sys.modules
        and "." not in name and not installed(name)
    ]  # fmt: skip
    files: dict[Path, None] = {}
    for each in used:
        path = Path(each.__file__).absolute() if getattr(each, "__file__", None) else None
        if path and path.is_file() and path.suffix == ".py" and not getattr(each, "__package__", None):
            files |= dict.fromkeys(path.parent / name for name in files_of(path) if "/" not in name)
    main = getattr(sys.modules[MAIN], "__file__", None)
    return [path for path in reversed(files) if not main or path != Path(main).absolute()]
