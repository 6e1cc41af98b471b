"""The command line. Everything heavy is imported by the verb that needs it, so that help answers at once."""

import os
import sys
import traceback
from typing import Annotated

import typer

from relulab.core.errors import RunStopped, UserError
from relulab.lab.cli import look, stored_runs, work
from relulab.lab.cli.check import add_check
from relulab.lab.cli.generated import add_measurements
from relulab.lab.cli.pipes import quiet_pipes

HELP = (
    "A laboratory for what ReLU networks learn: figures of the papers as studies, their theorems as checks. "
    "Things go by name or by an id of the papers' items: SS.F7 is figure 7 of SS, S0.T6 theorem 6 of S0."
)


def build(verb: str | None = None) -> typer.Typer:
    """The command line, or as much of it as a call of one verb needs: options of checks are read from all theorems."""
    app = typer.Typer(
        name="relulab", help=HELP, invoke_without_command=True, no_args_is_help=True, pretty_exceptions_enable=False,
        add_completion=True,
    )  # fmt: skip
    app.callback()(_options)
    for command in (look.list_, look.show, work.run, work.reproduce, work.report):
        app.command(command.__name__.rstrip("_"))(command)
    add_check(app, whole=verb in (None, "check"))
    add_measurements(app)
    for command in (stored_runs.runs_, stored_runs.watch, stored_runs.clean, look.cite, look.env):
        app.command(command.__name__.rstrip("_"))(command)
    return app


def _options(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    if version:
        from importlib.metadata import version as of

        print(of("relulab"))
        raise typer.Exit


def main() -> None:
    """Exit codes: 0 done, 1 a claim or check failed, 2 usage, 3 it could not be finished, 130 interrupted, 141 nobody
    reads on."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters is no reason to fail
    with quiet_pipes():
        _main()


def _main() -> None:
    try:
        try:
            completing = "_RELULAB_COMPLETE" in os.environ
            build(None if completing else sys.argv[1] if len(sys.argv) > 1 else "")()
        finally:
            sys.stdout.flush()  # a short answer is written only here
    except UserError as error:
        print(f"relulab: {error}", file=sys.stderr)
        sys.exit(2)
    except RunStopped as error:
        print(f"relulab: {error}", file=sys.stderr)
        sys.exit(3)
    except OSError as error:
        print(f"relulab: {error.filename or 'file system'}: {error.strerror or error}", file=sys.stderr)
        sys.exit(2)
    except Exception as error:
        if os.environ.get("RELULAB_DEBUG"):
            traceback.print_exc()
        print(
            f"relulab: internal error, {type(error).__name__}: {error}. This is our fault: run it again with "
            "RELULAB_DEBUG=1 for the traceback and report it; finished units are kept.",
            file=sys.stderr,
        )
        sys.exit(3)
