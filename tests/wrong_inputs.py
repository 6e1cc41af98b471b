"""Calls every public function of relulab with wrong arguments, in a process without the checks of types of the tests.

Each argument of a valid call is replaced in turn by each of the wrong values, one argument is left out, and an unknown
one is added. Every call must succeed, or raise a ``UserError`` of one line that names the function or the argument.
Prints a JSON document with the number of calls, everything that went wrong, and the answers of the valid calls as text.

    python tests/wrong_inputs.py [NAME …]
"""

import inspect
import json
import re
import signal
import sys
import tempfile
import warnings
from collections import Counter
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from valid_calls import NOT_CALLED, calls, of_files, public

from relulab.core.signatures import Arguments

SECONDS = 10  # the longest call
WRONG: dict[str, Any] = {
    "None": None,
    "0": 0,
    "4": 4,
    "-1": -1,
    "2.5": 2.5,
    "NaN": float("nan"),
    "an integer of NumPy": np.int64(4),
    "a number of NumPy": np.float32(2.5),
    "a text": "text",
    "bytes": b"bytes",
    "an empty list": [],
    "a list of texts": ["a", "b"],
    "a list of None": [None],
    "an empty dictionary": {},
    "an object": object(),
    "a class": torch.Tensor,
    "a function": lambda: None,
    "a module": nn.ReLU(),
    "a tensor without axes": torch.tensor(1.0),
    "a tensor of five axes": torch.ones(1, 1, 2, 1, 2),
    "an integer tensor": torch.ones(2, 2, dtype=torch.int64),
    "a complex tensor": torch.ones(2, 2, dtype=torch.complex64),
    "an empty tensor": torch.ones(0),
    "an empty matrix": torch.ones(0, 2),
    "a tensor of NaN": torch.full((3, 2), torch.nan),
    "an array of objects": np.array([None, "a"], dtype=object),
    "an array of texts": np.array(["a", "b"]),
}
MEANT_ONLY_IF_ANNOTATED = (
    "a text", "bytes", "a list of None", "an empty dictionary", "an object", "a class", "a function", "a module",
    "a complex tensor", "an array of objects",
)  # fmt: skip


class TooLong(BaseException):
    """A call takes too long."""


def too_long(*_: Any) -> None:
    raise TooLong


def made(name: str, function: Any, arguments: dict[str, Any]) -> Any:
    """Make one call and return its answer."""
    given = dict(arguments)
    if "self" in given:
        thing = given.pop("self")
        function = thing if name == "Study" else getattr(thing, name.rpartition(".")[2])
    parameters = inspect.signature(function).parameters
    rest = [key for key, p in parameters.items() if p.kind is p.VAR_POSITIONAL and key in given]  # *key
    first = [given.pop(key) for key in list(parameters) if rest and key in given]
    answer = function(*first, **given)
    return list(answer) if inspect.isgenerator(answer) else answer


def outcome(name: str, function: Any, arguments: dict[str, Any]) -> tuple[str, str]:
    """Return the name of the error, or "accepted", and its message."""
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        made(name, function, arguments)
    except (Exception, TooLong) as error:
        return type(error).__name__, str(error)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return "accepted", ""


def problem(name: str, key: str, kind: str, message: str) -> str:
    """Return what is wrong with an outcome, or an empty text."""
    if kind == "accepted":
        return ""
    if kind != "UserError":
        return "raw error"
    if "\n" in message:
        return "several lines"
    names = [key, *name.split("."), "tiny"]
    named = any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", message) for word in names)
    return "" if named else "neither the function nor the argument is named"


def arguments_of(name: str, function: Any) -> Arguments:
    """Return what relulab knows about the arguments of a function or class."""
    if not inspect.isclass(function):
        return Arguments(function, name, function)
    return Arguments(function.__new__ if issubclass(function, tuple) else function.__init__, name, function, 1)


def walk(wanted: list[str]) -> dict[str, Any]:
    """Make all calls."""
    functions, valid = public(), calls()
    names = [name for name in functions if name not in NOT_CALLED and (not wanted or name in wanted)]
    counts: Counter[str] = Counter()
    problems, silent, reprs = [], [], {}

    def tried(name: str, key: str, label: str, arguments: dict[str, Any]) -> bool:
        kind, message = outcome(name, functions[name], arguments)
        counts[kind] += 1
        if found := problem(name, key, kind, message):
            problems.append([name, key, label, found, kind, message])
        return kind == "accepted"

    for name in names:
        right = valid[name]()
        answer = made(name, functions[name], right)
        if type(answer).__module__.startswith("relulab."):
            reprs[name] = repr(answer)
        tried(name, "unheard_of", "an unknown argument", {**right, "unheard_of": 1})
        if right and "self" not in right:
            tried(name, next(iter(right)), "a missing argument", dict(list(right.items())[1:]))
        known = arguments_of(name, functions[name])
        for key in ["root"] if name == "Study" else [key for key in known.parameters if key not in ("self", "cls")]:
            for label, value in WRONG.items():
                accepted = tried(name, key, label, {**right, key: value})
                if accepted and label in MEANT_ONLY_IF_ANNOTATED and not known.kinds[key].exact(value):
                    silent.append([name, key, label])
    return {
        "functions": len(names), "values": len(WRONG), "calls": sum(counts.values()), "outcomes": dict(counts),
        "problems": problems, "silent": silent, "reprs": reprs,
    }  # fmt: skip


def main() -> None:
    signal.signal(signal.SIGALRM, too_long)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        of_files(Path(folder))
        print(json.dumps(walk(sys.argv[1:])))


if __name__ == "__main__":
    main()
