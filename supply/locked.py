"""Reads lock files: which version of each package may be installed, and which files it may come from."""

import re
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

HERE = Path(__file__).parent
INSTALLER, CPU, REQUIREMENTS, CUDA, TOOLS = (
    HERE / f"{name}.txt" for name in ("installer", "cpu", "requirements", "cuda", "tools")
)
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True)
class Locked:
    """One entry of a lock: a package, its version, and the checksums of its files."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]

    def allows(self, version: str) -> bool:
        """Whether an installed version is this one. A local build such as 2.13.0+cpu counts as 2.13.0."""
        return Version(version).public == Version(self.version).public


class BadLock(ValueError):
    """A line of a lock that would let an unchecked file in."""


def read(*paths: Path) -> dict[str, Locked]:
    """Read the entries of some lock files by name; raises BadLock if one of them is not pinned and hashed."""
    found: dict[str, Locked] = {}
    for path in paths:
        for entry in map(parsed, lines(path.read_text())):
            if entry.name in found:
                raise BadLock(f"{entry.name} is locked twice")
            found[entry.name] = entry
    return found


def lines(text: str) -> list[str]:
    """Split the text of a lock into entries: without comments, continued lines joined."""
    kept = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return [line.strip() for line in kept.replace("\\\n", " ").splitlines() if line.strip()]


def parsed(line: str) -> Locked:
    """Parse one entry, ``name==version ; marker --hash=sha256:…``."""
    words, *options = re.split(r"\s(?=--)", line)
    hashes = [match[1] for option in options if (match := HASH.fullmatch(option.strip()))]
    try:
        requirement = Requirement(words)
    except InvalidRequirement as error:
        raise BadLock(f"not a package with a version: {line}") from error
    pins = list(requirement.specifier)
    if requirement.url or len(pins) != 1 or pins[0].operator != "==" or "*" in pins[0].version:
        raise BadLock(f"{requirement.name} is not pinned with ==")
    if not hashes or len(hashes) != len(options):
        raise BadLock(f"{requirement.name} has no sha256 checksum, or another option")
    name, marker = canonicalize_name(requirement.name), str(requirement.marker or "")
    return Locked(name, pins[0].version, marker, tuple(hashes))
