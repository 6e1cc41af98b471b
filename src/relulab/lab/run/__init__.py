"""Running studies: the runner, the store of runs, and the engines."""
