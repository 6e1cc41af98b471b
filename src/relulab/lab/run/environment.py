"""The environment of a run: versions, machine, commit."""

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("relulab", "torch", "numpy", "scipy", "xarray", "h5netcdf", "pydantic", "matplotlib")


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def environment(device: str = "cpu") -> dict:
    """Return everything that the bits of a result may depend on.

    Args:
        device: The device that networks are trained on.
    """
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": cores(),
        "device": device,
        "commit": _commit(),
        "packages": {name: _version(name) for name in PACKAGES},
        "data": os.environ.get("RELULAB_DATA"),
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _commit() -> str | None:
    """Return the commit of relulab's checkout, with + if files were changed; None if it is not a checkout."""
    here = Path(__file__).resolve().parent
    if not any((folder / ".git").exists() for folder in here.parents):
        return None
    try:
        described = subprocess.run(
            ["git", "-C", str(here), "describe", "--always", "--dirty=+"], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return described.stdout.strip() or None
