"""The command line. Each command imports what it needs when it runs, so that --help is fast."""

import errno
import gc
import os
import sys
import traceback
from typing import Annotated

import typer

from relulab.core import interrupts
from relulab.core.errors import RunStopped, UserError
from relulab.core.printable import printable, shortened
from relulab.core.progress_bar import quiet
from relulab.lab.cli import look, stored_runs, work
from relulab.lab.cli.check import add_check
from relulab.lab.cli.generated import add_measurements
from relulab.lab.cli.pipes import quiet_pipes
from relulab.lab.index.usable import COMMANDS

HELP = (
    "A laboratory for what ReLU networks learn. Studies reproduce the figures of papers, and checks test their "
    "theorems. Refer to an item by its name or by its id in the paper: SS.F7 is figure 7 of the paper SS, and S0.T6 is "
    "theorem 6 of S0. `relulab list` shows all names and ids."
)
EXIT_CODES = (
    "Exit codes: 0 = success, 1 = a claim was refuted or a check failed, 2 = wrong arguments or input files, 3 = the "
    "work could not be finished, 130 = interrupted, 141 = output pipe closed."
)

LONGEST = 10_000  # characters of an error message that are printed


def build(verb: str | None = None) -> typer.Typer:
    """Build the command line.

    Args:
        verb: The command that will be called. Measurements and the options of ``check`` are collected from many
            files, which takes time, so they are left out for other commands. None builds everything.
    """
    app = typer.Typer(
        name="relulab", help=HELP, epilog=EXIT_CODES, invoke_without_command=True, no_args_is_help=True,
        pretty_exceptions_enable=False, add_completion=True,
    )  # fmt: skip
    app.callback()(_options)
    for command in (look.list_, look.show, work.run, work.reproduce, work.report):
        app.command(command.__name__.rstrip("_"))(command)
    add_check(app, with_options=verb in (None, "check"))
    if verb not in COMMANDS or verb == "measure":
        add_measurements(app)
    for command in (stored_runs.runs_, stored_runs.watch, stored_runs.clean, look.cite, look.env):
        app.command(command.__name__.rstrip("_"))(command)
    return app


def _options(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    if version:
        from importlib.metadata import version as installed_version

        print(installed_version("relulab"))
        raise typer.Exit


def main() -> None:
    """Run the command line and exit with one of ``EXIT_CODES``."""
    gc.set_threshold(100_000, 20, 20)  # what is built at the start stays: looking for garbage in it takes a tenth of it
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that cannot show Greek letters must not stop a command
    with quiet_pipes(), quiet():  # the commands show their progress themselves
        _main()


def _main() -> None:
    completing, said = "_RELULAB_COMPLETE" in os.environ, ""
    try:
        try:
            build(None if completing else sys.argv[1] if len(sys.argv) > 1 else "")()
        finally:
            sys.stdout.flush()  # so that a closed pipe is noticed inside quiet_pipes
    except Exception as error:
        code, said = (interrupts.CODE, "interrupted") if interrupts.behind(error) else _reported(error)
        if os.environ.get("RELULAB_DEBUG"):
            traceback.print_exc()
        print(f"relulab: {_printable(said)}", file=sys.stderr)
        sys.exit(code)
    finally:
        if not completing:
            _print_problems(said)


def _reported(error: Exception) -> tuple[int, str]:
    """Return the exit code and the sentence for an error."""
    match error:
        case UserError():
            return 2, str(error)
        case RunStopped():
            return 3, str(error)
        case MemoryError():
            return 3, "there is not enough memory: use fewer points, a smaller network, or fewer processes"
        case OSError(errno=errno.ENOSPC | errno.EDQUOT | errno.EFBIG):
            return 3, f"no space left for {error.filename or 'a file'} ({error.strerror}): free some space"
        case OSError():
            return 2, f"{error.filename or 'file system'}: {error.strerror or error}"
    return 3, (
        f"internal error: {type(error).__name__}: {error}. This is a bug in relulab: set RELULAB_DEBUG=1, run the "
        "command again, and report the traceback. Finished units are kept."
    )


def _printable(said: str) -> str:
    """Return a message without what a terminal would act on, and without the rest of a very long quotation."""
    shown = printable(shortened(said[:LONGEST]))
    return f"{shown} …" if len(said) > LONGEST else shown


def _print_problems(said: str) -> None:
    """Print what the index left out during this command, unless the error message says it."""
    from relulab.lab.index import PROBLEMS

    for what, why in PROBLEMS.items():
        if what not in said:
            print(f"relulab: {_printable(f'{what} {why}')}", file=sys.stderr)
