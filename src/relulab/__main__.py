"""The command ``relulab``, also as ``python -m relulab``."""

from relulab.core import interrupts


def main() -> None:
    """Load the command line and run it. Ctrl-C ends it with exit code 130, whenever it comes."""
    interrupts.handled(interrupts.end_at_once)
    from relulab.lab.cli import main as command_line

    interrupts.handled(interrupts.interrupt)
    command_line()


if __name__ == "__main__":
    main()
