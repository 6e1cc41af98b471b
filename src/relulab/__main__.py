"""The command ``relulab``, also as ``python -m relulab``."""

from relulab.core import interrupts


def main() -> None:
    """Load the command line and run it. Ctrl-C ends it with exit code 130, whenever it comes."""
    interrupts.handled(interrupts.end_at_once)
    import atexit
    import sys

    atexit.register(interrupts.handled, interrupts.IGNORED)  # runs last; from then on Python would die by Ctrl-C
    from relulab.lab.cli import main as command_line

    try:
        interrupts.handled(interrupts.interrupt)
        command_line()
    except KeyboardInterrupt:  # outside the part of the command line that handles it
        sys.exit(interrupts.CODE)
    finally:
        interrupts.settle()
        interrupts.handled(interrupts.leave)
        interrupts.forget_in_python()


if __name__ == "__main__":
    main()
