"""Studies as researchers write them in scripts and notebooks, for tests: the text of a script, and cells."""

import linecache
import sys
from types import ModuleType

DEFINED = '''
import enum
import functools
from typing import ClassVar

import torch
import xarray as xr

import relulab as rl
from relulab.lab.show.figure import panels

print("the top level runs")
SCALE = 2.0


class Kind(enum.Enum):
    EVEN = 0
    ODD = 1


@functools.lru_cache
def doubled(x):
    return 2 * x


def scaled(x):
    return SCALE * doubled(x)


class Base(rl.Study):
    """Numbers."""

    seeds: int = 4
    presets: ClassVar = {"smoke": {"seeds": 3}, "quick": {}}

    @functools.cached_property
    def offset(self):
        return 0.25

    def units(self):
        return [rl.Unit(f"seed{i}", {"seed": i, "kind": Kind(i % 2)}, 1, 1.0) for i in range(self.seeds)]

    def measure(self, unit, tick):
        tick(1)
        x = scaled(float(unit.values["seed"])) + self.offset + (unit.values["kind"] is Kind.ODD) / 8
        bits = torch.ones(1).element_size()
        data = {"x": ("seed", [x]), "bits": ("seed", [bits])}
        return xr.Dataset(data, coords={"seed": [unit.values["seed"]]})

    def figures(self, result):
        return {"x": panels(1, 1)[0]}

    def claims(self, result):
        return [rl.claim("XX.F1", "The numbers are positive", result.x.values, ">", 0.0)]


class Mine(Base):
    """Numbers of mine."""

    name: ClassVar = "mine"
    ids: ClassVar = ("XX.F1",)
    title: ClassVar = "Mine"
    source: ClassVar = "a script"

    def measure(self, unit, tick):
        return super().measure(unit, tick)
'''
"""The definition of a study that uses much of its script: a base class, functions, an enum, caches, global values."""

NUMBERS = [0.25, 4.375, 8.25]  # for seeds 0, 1, 2


class Session:
    """An interactive session, as a notebook has it: a module ``__main__`` without a file, filled cell by cell."""

    def __init__(self, monkeypatch):
        self.module, self.count = ModuleType("__main__"), 0
        monkeypatch.setitem(sys.modules, "__main__", self.module)

    def cell(self, text: str) -> None:
        """Run a cell; its lines are known as they are in IPython."""
        self.count += 1
        name = f"<ipython-input-{self.count}-0123456789ab>"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        exec(compile(text, name, "exec"), vars(self.module))

    def __getattr__(self, name: str):
        return getattr(self.module, name)
