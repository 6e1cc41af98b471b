"""Prints the tests of what has changed since the last commit: tests/a/test_b.py for src/relulab/a/b.py."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent


def tests_of(changed: list[str]) -> list[str]:
    """The test files that belong to some files, as paths from the project's folder."""
    found = []
    for name in map(Path, changed):
        if name.parts[:1] == ("tests",) and name.name.startswith("test_"):
            found.append(name)
        elif name.parts[:2] == ("src", "relulab"):
            found.append(Path("tests", *name.parts[2:-1], f"test_{name.name}"))
    return sorted({str(path) for path in found if (ROOT / path).is_file()})


def main() -> None:
    words = ["git", "-C", str(ROOT), "status", "--porcelain", "--untracked-files=all"]
    try:
        lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):  # no repository: the fastest tests alone will do
        lines = []
    print(*tests_of([line[3:].split(" -> ")[-1] for line in lines]))


if __name__ == "__main__":
    main()
