"""An environment for the tools that make and check locks. It is removed at the end: relulab does not need them."""

import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from locked import INSTALLER, TOOLS


@contextmanager
def tools() -> Iterator[Path]:
    """Install the locked tools in a temporary environment; gives the folder of its commands."""
    with TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        commands = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin")
        for lock in (INSTALLER, TOOLS):
            options = ["-qq", "--disable-pip-version-check", "--require-hashes", "--only-binary", ":all:"]
            subprocess.run([commands / "python", "-m", "pip", "install", *options, "-r", lock], check=True, timeout=600)
        yield commands
