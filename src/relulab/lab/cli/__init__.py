"""The command line. Everything heavy is imported by the verb that needs it, so that help answers at once."""

import os
import sys
import traceback

import typer

from relulab.errors import UserError
from relulab.lab.cli import look, work

app = typer.Typer(
    name="relulab",
    help="A laboratory for what ReLU networks learn: studies, theorems and instruments from five research documents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
)
for verb in (look.list_, look.show, work.run, work.reproduce, work.report, work.check, look.env):
    app.command(verb.__name__.rstrip("_"))(verb)


def main() -> None:
    """Exit codes: 0 done, 1 a claim or check failed, 2 usage, 3 a fault of ours, 130 interrupted."""
    try:
        app()
    except UserError as error:
        print(f"relulab: {error}", file=sys.stderr)
        sys.exit(2)
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
