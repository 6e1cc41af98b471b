"""One battery for all instruments: a case for each, which stands beside that instrument's own tests.

A file ``cases.py`` in a subject's folder ``instruments`` has a dictionary ``CASES`` of cases by the instruments' names.
Here is what a case says, what several of them are made of, and how all are found.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from relulab.lab.catalog import instruments
from relulab.nets.initial import torch_default
from relulab.nets.mlp import MLP

TEACHERS, STUDENTS, SAMPLES, LANES = 4, 6, 30, 3


@dataclass(frozen=True)
class Case:
    """What an instrument is tried on, and what it claims."""

    arguments: Callable[[torch.dtype], tuple]
    """its arguments, all floating ones of a dtype, with a leading axis of ``LANES`` lanes where it knows lanes"""
    lanes: bool = True
    """whether many networks travel together: then lanes together must equal lanes alone"""
    double: bool = False
    """whether it answers in float64 whatever comes in: solutions of a theory's equations, which are exact only there"""
    students: tuple = ()
    """the axis of students in each argument, None where there is none; of a tuple of tensors an axis each"""
    permuted: tuple | None = None
    """along which axes each part of the answer moves when students are permuted; None for a student's own number"""
    by_cpu: str = ""
    """what it uses that computes on the CPU alone: then its answer must come back to the device of its arguments"""


@cache
def cases() -> dict[str, Case]:
    """All cases by the names of their instruments."""
    found: dict[str, Case] = {}
    for path in sorted(Path(__file__).parent.glob("subjects/*/instruments/cases.py")):
        spec = importlib.util.spec_from_file_location(f"{path.parts[-3]}_cases", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        twice = set(found) & set(module.CASES)
        assert not twice, f"{', '.join(twice)} has a case in two files"
        found |= module.CASES
    return found


def missing() -> str:
    """A sentence on instruments without a case and on cases without an instrument, empty if there are none."""
    # Tests of other people's subjects may have registered instruments in this process.
    known = {name for name, one in instruments().items() if one.function.__module__.startswith("relulab.")}
    tried = set(cases())
    bare = [
        f"the instrument {name} has no case: add it to CASES in tests/subjects/<subject>/instruments/cases.py"
        for name in sorted(known - tried)
    ]
    return "; ".join([*bare, *(f"there is no instrument {name}: take its case out" for name in sorted(tried - known))])


def parts(answer: Any) -> list:
    """The tensors and numbers of an answer, out of all tuples that they are in."""
    if isinstance(answer, dict):
        return [part for one in answer.values() for part in parts(one)]
    return [part for one in answer for part in parts(one)] if isinstance(answer, tuple) else [answer]


def call(name: str, arguments: Any) -> list:
    """What an instrument answers, in parts."""
    return parts(instruments()[name].function(*arguments))


def drawn(seed: int, *shape: int, dtype: torch.dtype) -> Tensor:
    """Normal numbers, drawn in float64."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def points(dtype: torch.dtype) -> Tensor:
    """Points in R⁵, all lanes' own."""
    return torch.linspace(-1, 1, SAMPLES * 5, dtype=torch.float64).reshape(SAMPLES, 5).sin().to(dtype)


def labels(dtype: torch.dtype) -> Tensor:
    """±1 for every point."""
    return points(dtype)[:, 0].sign()


def classes(dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Points of two classes, each in a half space, with labels."""
    x, y = points(dtype), torch.arange(SAMPLES) % 2
    x[:, 0] = x[:, 0].abs() + 0.1
    return x * (2 * y - 1)[:, None].to(dtype), y


def net(dtype: torch.dtype) -> MLP:
    """Networks of two layers, a lane each."""
    return torch_default((5, STUDENTS, 3), seeds=range(LANES), dtype=dtype)
