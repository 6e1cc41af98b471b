"""Makes the lock files from pyproject.toml, with the checksums of all files that the public index has.

    python supply/lock.py [OPTIONS OF uv pip compile]

Versions stay as they are while they fit. ``--upgrade`` takes the newest, ``--upgrade-package NAME`` only for one.
"""

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from installed import declared
from locked import CPU, CUDA, HERE, INSTALLER, REQUIREMENTS, TOOLS, read
from throwaway import tools

CONSTRAINTS = HERE.parent / "constraints.txt"
PYTHON = "3.11.5"  # the oldest for which all packages have files
INPUTS = {
    INSTALLER: ["pip"],
    REQUIREMENTS: [*declared("test"), "editables"],  # hatchling needs editables for an editable installation
    TOOLS: ["uv", "pip-audit"],
}
# PyTorch's own builds without CUDA are not on the public index. The one that CI uses: Linux, x86-64, Python 3.11.
# It needs a file of its own: pip prefers files of an index whose checksums match, so it would take the build with CUDA.
CPU_BUILDS = {"2.13.0": "6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b"}
HEADINGS = {
    INSTALLER: "The pip that installs everything else.",
    CPU: "PyTorch without CUDA. It is installed first where pip finds it, and is otherwise not needed.",
    REQUIREMENTS: "All packages of the development environment.",
    CUDA: "What PyTorch from the public index needs on Linux. Constraints only: builds without CUDA need none of it.",
    TOOLS: "The tools that make and check the locks. They get an environment of their own.",
}
ENTRY = re.compile(r"^([a-z0-9.-]+)==(\S+).*\n(?: .*\n)+", re.MULTILINE)


def main() -> None:
    with tools() as commands:
        for path, requirements in INPUTS.items():
            before = "".join(old.read_text() for old in (path, CUDA) if old.exists())
            after = compiled(commands / "uv", requirements, before, sys.argv[1:])
            for place, content in split(path, after).items():
                place.write_text(f"# {HEADINGS[place]} Made by supply/lock.py: do not edit.\n{content}")
    CONSTRAINTS.write_text(constraints())


def constraints() -> str:
    """The locked versions without checksums, for ``pip install --constraint`` into an environment of one's own."""
    entries = read(REQUIREMENTS).values()
    pins = (f"{one.name}=={one.version}{f' ; {one.marker}' if one.marker else ''}" for one in entries)
    return "\n".join(["# The locked versions without checksums. Made by supply/lock.py: do not edit.", *pins, ""])


def compiled(uv: Path, requirements: list[str], before: str, options: list[str]) -> str:
    """Resolve requirements for all platforms; versions of the lock before are preferred."""
    with TemporaryDirectory() as folder:
        asked, output = Path(folder) / "asked.in", Path(folder) / "lock.txt"
        asked.write_text("\n".join(requirements))
        output.write_text(before)
        words = ["--quiet", "--universal", "--generate-hashes", "--no-header", "--no-annotate", "--no-config"]
        words += ["--python-version", PYTHON, "--output-file", output, *options]
        subprocess.run([uv, "pip", "compile", *words, asked], check=True, cwd=HERE)
        return output.read_text()


def split(path: Path, text: str) -> dict[Path, str]:
    """Divide a lock: the packages of CUDA go to a file of their own, and so does PyTorch's build without CUDA."""
    if path != REQUIREMENTS:
        return {path: text}
    content = {path: "", CUDA: "", CPU: ""}
    for match in ENTRY.finditer(text):
        name, version, entry = match[1], match[2], match[0]
        if name == "torch" and version in CPU_BUILDS:
            content[CPU] = f"torch=={version}+cpu \\\n    --hash=sha256:{CPU_BUILDS[version]}\n"
        content[CUDA if re.match(r"cuda-|nvidia-|triton$", name) else path] += entry
    return content


if __name__ == "__main__":
    main()
