"""Looks at what is installed: the packages that relulab needs, and whether their files are as they were installed."""

import base64
import hashlib
import tomllib
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from locked import Locked
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent


def declared(*extras: str) -> list[str]:
    """List what pyproject.toml requires: the dependencies, those of some extras, and the build backend."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    optional = project["project"]["optional-dependencies"]
    found = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    waiting = list(extras)
    for extra in waiting:
        for requirement in map(Requirement, optional[extra]):
            if requirement.name == project["project"]["name"]:
                waiting += sorted(requirement.extras)
            else:
                found.append(str(requirement))
    return found


def needs(requirement: Requirement) -> list[Requirement]:
    """List what an installed package requires on this machine, with the extras that are asked for."""
    extras = ["", *requirement.extras]
    wanted = map(Requirement, distribution(requirement.name).requires or [])
    return [one for one in wanted if not one.marker or any(one.marker.evaluate({"extra": extra}) for extra in extras)]


def closure(requirements: Iterable[str]) -> dict[str, Distribution]:
    """Find the installed packages that some requirements need, directly or through others."""
    waiting, seen, found = [Requirement(text) for text in requirements], set(), {}
    for requirement in waiting:
        name = canonicalize_name(requirement.name)
        if (name, *sorted(requirement.extras)) not in seen:
            seen.add((name, *sorted(requirement.extras)))
            found[name] = distribution(requirement.name)
            waiting += needs(requirement)
    return found


def differences(lock: Mapping[str, Locked], requirements: Iterable[str]) -> list[str]:
    """Say where the installed packages differ from a lock, one sentence each."""
    try:
        found = closure(requirements)
    except PackageNotFoundError as missing:
        return [f"{missing.name} is not installed"]
    said = [f"{name} {there.version} is installed, but not locked" for name, there in found.items() if name not in lock]
    for name in found.keys() & lock.keys():
        if not lock[name].allows(found[name].version):
            said.append(f"{name} {found[name].version} is installed, but {lock[name].version} is locked")
    return sorted(said)


def altered(there: Distribution) -> list[str]:
    """List the files of a package that differ from the checksums in its RECORD, or are gone."""
    said = []
    for file in there.files or []:
        if file.hash is None:
            continue
        path = Path(str(file.locate()))
        if not path.is_file():
            said.append(f"{file} is gone")
            continue
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, file.hash.mode).digest()
        if base64.urlsafe_b64encode(digest).decode().rstrip("=") != file.hash.value:
            said.append(f"{file} has changed")
    return said
