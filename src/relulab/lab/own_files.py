"""The files that a Python file consists of: itself, and the modules in its folder that it imports."""

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from relulab.core.errors import UserError


def files_of(path: Path, refuse: bool = False) -> dict[str, bytes]:
    """Return the contents of a file and of the modules beside it that it imports, directly or through each other.

    Args:
        path: The absolute path of the file.
        refuse: Whether a module beside it that has the name of an installed module is an error. Otherwise it is left
            out, because Python has imported the installed one.
    """
    files: dict[str, bytes] = {}
    unread = [path]
    while unread:
        file = unread.pop()
        name = file.relative_to(path.parent).as_posix()
        if name not in files:
            files[name] = file.read_bytes()
            for top in sorted(_imported_names(files[name])):
                unread += _beside(path.parent, top, refuse)
    return files


def check_file(path: Path) -> None:
    """Raise a UserError if there is no such file, or if it cannot be imported."""
    if not path.is_file():
        raise UserError(f"no such file: {path}")
    if not path.stem.isidentifier():
        raise UserError(f"{path} cannot be imported: rename it to a name of letters, digits and _")


def check_name(path: Path) -> None:
    """Raise a UserError if a Python file has the name of a module that lies elsewhere."""
    if other := _elsewhere(path.stem, path.parent):
        raise UserError(f"{shown_path(path)} has the name of another module, {other}: rename the file")


def shown_path(path: Path) -> str:
    """Return a path as the user would type it: relative to the current folder if it lies there."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _imported_names(content: bytes) -> set[str]:
    """Return the first parts of the names of all modules that a source imports, also inside functions."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError):  # reported when it is compiled
        return set()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def _beside(folder: Path, name: str, refuse: bool) -> Iterator[Path]:
    """Yield the files of a module or package in a folder; of a package all files, because they import each other."""
    package, file = folder / name, folder / f"{name}.py"
    regular = (package / "__init__.py").is_file()
    if name == "relulab" or not (file.is_file() or package.is_dir()):
        return
    if _elsewhere(name, folder):
        if refuse and (regular or file.is_file()):
            check_name(package if regular else file)
        return
    if file.is_file() and not regular:
        yield file
    else:
        yield from sorted(path for path in package.rglob("*.py") if path.is_file())


def _elsewhere(name: str, folder: Path) -> str:
    """Return where Python finds a module, if that is not in the folder; "" if it is, or if there is none."""
    try:
        spec = find_spec(name)
    except (ValueError, ImportError):  # such as __main__, which has no spec
        return name
    if spec is None:
        return ""
    places = [spec.origin] if spec.has_location and spec.origin else list(spec.submodule_search_locations or ())
    inside = any(Path(place).resolve().is_relative_to(folder.resolve()) for place in places)
    return "" if inside else (places[0] if places else name)
