# Everything a newcomer needs: `make reproduce`, `make test`. The environment lies in .venv.
PYTHON ?= python3
BIN = .venv/bin

.PHONY: setup reproduce test docs benchmark clean
.DELETE_ON_ERROR:

setup: .venv/ready

.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "relulab needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[test]'
	touch $@

reproduce: setup
	$(BIN)/relulab reproduce || [ $$? -eq 1 ]  # 1: a claim was refuted, which is for the report to say

test: setup
	$(BIN)/ruff check --quiet src tests benchmarks docs/build.py
	$(BIN)/ruff format --quiet --check src tests benchmarks docs/build.py
	$(BIN)/python -m pytest -n 2 --dist worksteal

docs: setup
	$(BIN)/python docs/build.py site

benchmark: setup
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/pruning.py
	$(BIN)/python benchmarks/separability.py
	$(BIN)/python benchmarks/distillation.py

clean:
	rm -rf .venv report site
