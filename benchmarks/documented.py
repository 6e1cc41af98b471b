"""Prints which share of relulab's public functions is annotated, has an `Args:` section and has an example.

python benchmarks/documented.py [--missing]
"""

import argparse
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import relulab
from relulab.lab.index import subjects


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public function, and every public class by what makes it, with its name as a user writes it."""
    doors = {"relulab": relulab} | {f"relulab.{name}": getattr(relulab, name) for name in subjects()}
    for door, module in doors.items():
        for name in dir(module):
            thing = getattr(module, name)
            if callable(thing):
                yield f"{door}.{name}", thing


def annotated(thing: Callable[..., Any]) -> bool:
    """Whether all arguments, and the answer of a function, have a type."""
    parameters = inspect.signature(thing).parameters.values()
    types = all(p.annotation is not p.empty for p in parameters)
    return types and (
        inspect.isclass(thing) or inspect.signature(thing).return_annotation is not inspect.Signature.empty
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--missing", action="store_true", help="also print what lacks which")
    missing = parser.parse_args().missing
    things = list(public())
    functions = {name: thing for name, thing in things if not inspect.isclass(thing)}
    docs = {name: inspect.getdoc(thing) or "" for name, thing in things}
    shares = {
        "annotated": [name for name, thing in functions.items() if annotated(thing)],
        "with Args:": [name for name in functions if "Args:" in docs[name]],
        "with an example": [name for name in functions if ">>>" in docs[name]],
    }
    print(f"{len(things)} public names, {len(functions)} of them functions")
    for what, found in shares.items():
        print(f"{what}: {len(found)} of {len(functions)}, {len(found) / len(functions):.0%}")
        if missing:
            print("  lacking:", ", ".join(name for name in functions if name not in found) or "none")


if __name__ == "__main__":
    main()
