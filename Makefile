# `make run` and `make test` are all that a fresh clone needs: python3 (3.10 to 3.13), make and a package index.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
SOAK   ?= 3600

.PHONY: help run test lint types contracts bench soak versions docs screenshots install clean

help:            ## show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:[^#]*## /\t/' | expand -t 14

run: $(VENV)/.installed            ## open the app
	@$(BIN)/tfslowtop $(ARGS)

test: $(VENV)/.installed-dev       ## run the tests
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder $(ARGS)

lint: $(VENV)/.installed-dev       ## style, types and who imports whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(VENV)/.installed-dev      ## measure ourselves; prints ratios with their controls
	@for bench in benchmarks/bench_*.py; do echo "== $$bench"; $(BIN)/python $$bench || exit 1; done

soak: $(VENV)/.installed-dev       ## watch long, large and broken programs for SOAK seconds (an hour)
	$(BIN)/python benchmarks/soak.py --seconds $(SOAK) $(ARGS)

versions: $(VENV)/.installed-dev   ## try older TensorFlow and Keras 2, in environments in .versions/ (some GB)
	$(BIN)/python tests/corpus/versions.py $(ARGS)

docs: $(VENV)/.installed           ## write docs/causes.md again, from the causes in the code
	$(BIN)/python -m tfslowtop.diagnosis.document > docs/causes.md

screenshots: $(VENV)/.installed-dev  ## make screenshots/ anew, from real runs
	$(BIN)/python screenshots/make.py

install: $(VENV)/.installed        ## only install

clean:           ## remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis

# TensorFlow imports in 2.7 s of CPU with compiled bytecode and in 7 s without, so the install compiles it.
# `-q` twice: files that another Python version is meant for do not compile, and need not.
$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 10) <= v <= (3, 13) else f"tfslowtop needs Python 3.10 to 3.13; {sys.executable} is {v[0]}.{v[1]}. Try: make run PYTHON=python3.12")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-compile --editable .
	@echo "Compiling bytecode, once ..."
	@$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --editable '.[dev]'
	@touch $@
