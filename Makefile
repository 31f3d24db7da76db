# Everything starts from a bare clone with python3 (3.11 or newer) and pip; each target sets up what it needs.
PYTHON ?= python3
PIP_ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: audit demo faults fuzz mutants test test-all lint bench clean
.DEFAULT_GOAL := test

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("banditplex needs Python 3.11 or newer, found " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@echo "Setting up $(VENV) (a few minutes the first time) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(READY)
	@$(BIN)/banditplex demo

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/python -m pytest -q -n 2

test-all: lint
	$(BIN)/python -m pytest -q -n 2 -m 'not download and not gpu' --hypothesis-profile=new

bench: $(READY)
	$(BIN)/python -m benchmarks

faults: $(READY)
	$(BIN)/python -m faults

audit: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) -c constraints.txt -e '.[audit]'
	$(BIN)/pip-audit --strict --requirement constraints.txt --no-deps --disable-pip

INPUTS ?= 20000
fuzz: $(READY)
	$(BIN)/python -m fuzz --inputs $(INPUTS)

JOBS ?= 2
mutants: $(READY)
	$(BIN)/python -m mutants --jobs $(JOBS)

clean:
	rm -rf $(VENV) banditplex-demo banditplex-paper .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache mutants.csv
