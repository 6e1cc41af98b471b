"""Which modules belong to Python, to relulab or to installed packages, and which are a user's own."""

import functools
import sys
import sysconfig
from pathlib import PurePath

INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
"""folders of Python and of installed packages"""
SITES = {"site-packages", "dist-packages"}  # names of such folders, also of the user and of the system


@functools.cache
def installed(name: str | None) -> bool:
    """Whether a module belongs to Python, to relulab or to an installed package.

    Args:
        name: The name of the module.

    >>> installed("json.decoder"), installed("relulab.core"), installed("my_study")
    (True, True, False)
    """
    top = (name or "").partition(".")[0]
    if top == "__main__":  # wherever it lies, it may be edited
        return False
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    in_a_site = file.startswith(INSTALLED) or not SITES.isdisjoint(PurePath(file).parts)
    return top == "relulab" or top in sys.stdlib_module_names or in_a_site
