# Everything starts from a bare clone with python3 (3.11 or newer) and pip; each target sets up what it needs.
SHELL := bash
.SHELLFLAGS := -o pipefail -c
PYTHON ?= python3
PIP_ARGS ?=
INPUTS ?= 20000
SEED ?= 0
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: audit demo docs package faults fuzz mutants test test-all pytest lint bench clean
.DEFAULT_GOAL := test

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("banditplex needs Python 3.11 or newer, found " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@echo "Setting up $(VENV), a few minutes the first time: PyTorch and the other packages in constraints.txt"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@start=$$(date +%s); \
	$(BIN)/python -m pip install --progress-bar off --disable-pip-version-check $(PIP_ARGS) -c constraints.txt -e '.[dev]' \
	| { grep --line-buffered -E '^ *Downloading|^Successfully' || true; } && \
	echo "$(VENV) was ready after $$(($$(date +%s) - start)) s."
	@touch $@

demo: $(READY)
	@$(BIN)/banditplex demo

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# lint keeps one core busy for a minute, so it runs beside the tests
test: $(READY)
	@$(MAKE) --no-print-directory --jobs 2 lint pytest

test-all: $(READY)
	@$(MAKE) --no-print-directory --jobs 2 lint pytest PYTEST_ARGS="-m 'not download and not gpu' --hypothesis-profile=new"

# worksteal: a process runs tests that stand together, so that few fixtures are made twice
pytest: $(READY)
	$(BIN)/python -m pytest -q -n 2 --dist worksteal $(PYTEST_ARGS)

bench: $(READY)
	$(BIN)/python -m benchmarks

faults: $(READY)
	$(BIN)/python -m faults --seed $(SEED) --jobs $(JOBS)

docs: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) -c constraints.txt -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html; for the search box: $(BIN)/python -m http.server --directory site"

package: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) -c constraints.txt -e '.[package]'
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*

# where no service can be reached, it says so in one line, with the reason
audit: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) -c constraints.txt -e '.[audit]' 2> /dev/null \
	|| { echo "Nothing was checked: pip-audit cannot be installed, as no package index can be reached." >&2; exit 2; }
	@log=$$($(BIN)/pip-audit --strict --requirement constraints.txt --no-deps --disable-pip 2>&1); status=$$?; \
	if [ $$status != 0 ] && grep -qE 'could not be audited|[Cc]onnect|Timeout|Max retries' <<< "$$log"; then \
	echo "Nothing was checked, as no service told what is vulnerable: $$(tail -n 1 <<< "$$log" | sed 's/.*_cli://')" >&2; exit 2; \
	fi; echo "$$log"; exit $$status

fuzz: $(READY)
	$(BIN)/python -m fuzz --inputs $(INPUTS) --seed $(SEED) --jobs $(JOBS)

mutants: $(READY)
	$(BIN)/python -m mutants --jobs $(JOBS)

clean:
	rm -rf $(VENV) site dist banditplex-demo banditplex-paper .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache mutants.csv
