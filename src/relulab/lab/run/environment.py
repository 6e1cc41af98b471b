"""The environment of a unit: versions, processor, commit; and how the environments of a run differ."""

import json
import os
import platform
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("relulab", "torch", "numpy", "scipy", "xarray", "h5netcdf", "pydantic", "matplotlib")


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def environment(device: str = "cpu") -> dict[str, Any]:
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
    }


def differences(now: Mapping[str, Any], then: Mapping[str, Any]) -> list[str]:
    """Return in what two environments differ that numbers may depend on, in words.

    Args:
        now: An environment.
        then: An earlier one.
    """
    flat = [
        {name: one.get(name) for name in ("processor", "device")}
        | {"Python": one.get("python"), "commit": one.get("commit")} | dict(one.get("packages") or {})
        for one in (now, then)
    ]  # fmt: skip
    return [
        f"{name} {flat[0].get(name)} instead of {flat[1].get(name)}"
        for name in dict.fromkeys([*flat[0], *flat[1]])
        if flat[0].get(name) != flat[1].get(name)
    ]


def together(environments: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the contents of env.json: the environment of most units, and under ``others`` those of other units.

    Args:
        environments: The environment of each unit.
    """
    counts = Counter(json.dumps(one, sort_keys=True) for one in environments)
    (most, *others) = ({**json.loads(text), "units": units} for text, units in counts.most_common())
    return {**most, "others": others}


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
