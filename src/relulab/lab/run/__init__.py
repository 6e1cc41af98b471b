"""How a study is run: the runner, the store of runs and the engines."""
