# Everything a newcomer needs: `make reproduce`, `make test`. The environment lies in .venv.
PYTHON ?= python3
BIN = .venv/bin

# Tests and studies start many processes, which must not compile the package each time.
export PYTHONDONTWRITEBYTECODE =

.PHONY: setup reproduce check test style docs results benchmark wheel lock sbom audit clean
.DELETE_ON_ERROR:

setup: .venv/ready

# Every file that is installed must have a checksum in the locks, and none is built here: see docs/security.md.
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check
LOCKED = $(INSTALL) --require-hashes --only-binary :all:

.venv/ready: pyproject.toml supply/installer.txt supply/cpu.txt supply/requirements.txt supply/cuda.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11, 5))' || { echo "make needs Python 3.11.5 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv .venv
	$(LOCKED) --requirement supply/installer.txt
	@$(LOCKED) --no-deps --requirement supply/cpu.txt 2>/dev/null || echo "no PyTorch without CUDA here: the one of the public index is installed"
	$(LOCKED) --requirement supply/requirements.txt --constraint supply/cuda.txt
	$(INSTALL) --no-deps --no-build-isolation --editable .
	touch $@

reproduce: setup
	$(BIN)/relulab reproduce || [ $$? -eq 1 ]  # 1: a claim was refuted, which is for the report to say

# The fastest tests, and the tests of what has changed since the last commit.
FAST = tests/core tests/io tests/nets tests/data tests/train tests/test_house.py tests/test_instruments.py \
	tests/lab/index tests/lab/test_claim.py tests/lab/test_theorem.py tests/lab/test_study.py \
	--ignore tests/io/test_fuzz_weights.py --ignore tests/lab/index/test_broken_plug_ins.py

check: style
	$(BIN)/python -m pytest -q -n 2 --dist worksteal $(FAST) $$($(BIN)/python tests/changed.py)

test: style
	$(BIN)/python -m pytest -n 2 --dist worksteal

style: setup
	$(BIN)/ruff check --quiet src tests benchmarks docs supply
	$(BIN)/ruff format --quiet --check src tests benchmarks docs supply
	$(BIN)/pyrefly check --summary=none

docs: setup
	$(BIN)/python docs/build/site.py site

# What the docs and the README show of runs: from the stored ones, the largest preset of each study.
results: reproduce
	$(BIN)/python docs/build/collect.py runs

benchmark: setup
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/depth.py
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/pruning.py
	$(BIN)/python benchmarks/separability.py
	$(BIN)/python benchmarks/distillation.py
	$(BIN)/python benchmarks/many_units.py

# A wheel that installs alone, in dist/.
wheel: setup
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

# The locks again, after a change of dependencies; CONTRIBUTING.md says how to take newer versions.
lock: setup
	$(BIN)/python supply/lock.py

# The software bill of materials of this environment, in dist/.
sbom: setup
	$(BIN)/python supply/sbom.py dist

# Known vulnerabilities of the locked packages, where the network allows it.
audit: setup
	$(BIN)/python supply/audit.py

clean:
	rm -rf .venv report site dist
