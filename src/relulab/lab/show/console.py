"""The terminal: results go to stdout, progress and messages to stderr."""

from rich.console import Console

console = Console()
errors = Console(stderr=True)
