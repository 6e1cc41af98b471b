"""Asks the public database for known vulnerabilities of the locked packages, with pip-audit.

    python supply/audit.py

Ends with 1 if there are any. Without the network, it says so and ends with 0.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from locked import CUDA, INSTALLER, REQUIREMENTS, TOOLS
from throwaway import tools

LOCKS = (INSTALLER, REQUIREMENTS, CUDA, TOOLS)


def main() -> None:
    try:
        with tools() as commands:
            packages = [package for lock in LOCKS for package in audited(commands / "pip-audit", lock)]
    except (subprocess.SubprocessError, json.JSONDecodeError):
        packages = []
    known = vulnerabilities(packages)
    print(summary(packages), *known, sep="\n")
    sys.exit(bool(known))


def audited(command: Path, lock: Path) -> list[dict[str, Any]]:
    """Audit one lock; gives each package with its vulnerabilities, or the reason that it was skipped."""
    words = [command, "--require-hashes", "--disable-pip", "--progress-spinner", "off", "--format", "json", "-r", lock]
    output = subprocess.run(words, capture_output=True, text=True, timeout=300).stdout  # ends with 1 if it finds some
    return json.loads(output)["dependencies"]


def vulnerabilities(packages: list[dict[str, Any]]) -> list[str]:
    """Say what is known of the packages that were audited, one line per vulnerability."""
    return [
        f"{package['name']} {package['version']}: {one['id']}, fixed in {' '.join(one['fix_versions']) or 'no version'}"
        for package in packages
        for one in package.get("vulns", [])
    ]


def summary(packages: list[dict[str, Any]]) -> str:
    """Say how many packages were audited."""
    answered = sum("skip_reason" not in package for package in packages)
    if not answered:
        return "No package was audited: the database of vulnerabilities cannot be reached from here."
    known = len(vulnerabilities(packages))
    return f"{answered} of {len(packages)} locked packages were audited: {known} known vulnerabilities."


if __name__ == "__main__":
    main()
