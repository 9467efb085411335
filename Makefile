# `make demo` and `make test` do everything; `make help` lists the rest.

RUNS_REDRAFT := import sys; sys.exit(not (3, 10) <= sys.version_info[:2] < (3, 15))
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do \
	$$python -c '$(RUNS_REDRAFT)' 2>/dev/null && echo $$python && break; done)
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help demo test setup test-setup models lint format protocol picture bench bench-quality \
	bench-report build release-check clean

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

demo: setup ## set up what is missing, then edit a copy of a file with the local model
	@$(BIN)/redraft demo

test: setup models test-setup ## set up what is missing, then run all tests
	$(BIN)/pytest

setup: ## make .venv and build the engine, unless that is done
	@test -n "$(PYTHON)" && $(PYTHON) -c '$(RUNS_REDRAFT)' || { echo "redraft needs Python 3.10 to" \
	"3.14, found: $(or $(PYTHON),none); name another one with make PYTHON=/path/to/python3 ..." >&2; exit 1; }
	@$(PYTHON) .ci/bootstrap.py

test-setup: setup ## install what the tests of editors need, unless it is here; apt-get only as root
	@$(BIN)/python -m tests.editors.setup

models: setup ## fetch the models the tests use, unless they are here
	@$(BIN)/redraft models fetch qwen2.5-coder-1.5b smollm2-135m

lint: setup ## check style, types and import layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup ## format the code and fix what can be fixed
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

protocol: setup ## generate what the plug-ins and docs/protocol.md say of the wire
	$(BIN)/python editors/generate_protocol.py

picture: setup ## draw docs/edit.svg, the picture in the README, from a run of the demo
	$(BIN)/python docs/picture.py

MODEL ?= qwen2.5-coder-1.5b
RESULTS := docs/results
BENCH = $(BIN)/redraft bench
DEV_BENCH = $(BIN)/python -m redraft_bench
EDITS = --model $(MODEL) --scope file $(if $(TASKS),--tasks $(TASKS))

# Each benchmark runs even where one before it failed.
bench: setup models ## measure on this machine into docs/results; MODEL=, TASKS=, QUESTIONS= choose
	-$(BENCH) cost --model $(MODEL) --depths 512,1024,2048,4096 --json $(RESULTS)/cost.json
	-$(BENCH) edits $(EDITS) --json $(RESULTS)/edits.json
	-$(DEV_BENCH) workloads --model $(MODEL) $(if $(QUESTIONS),--tasks $(QUESTIONS)) \
		--json $(RESULTS)/workloads.json
	-$(BENCH) latency --model $(MODEL) --json $(RESULTS)/latency.json
	-$(DEV_BENCH) codemod --model $(MODEL) --repeat 3 --json $(RESULTS)/codemod.json
	-$(DEV_BENCH) memory --model $(MODEL) --json $(RESULTS)/memory.json
	-$(DEV_BENCH) drafter --json $(RESULTS)/drafter.json
	-$(BENCH) exact --model $(MODEL) --json $(RESULTS)/exact.json
	-$(DEV_BENCH) exact-quantizations --model smollm2-135m \
		--json $(RESULTS)/exact-quantizations.json
	@rm -f $(RESULTS)/peers.json # it would be continued, not measured again
	-$(DEV_BENCH) peers $(EDITS) --json $(RESULTS)/peers.json
	-$(DEV_BENCH) simulate --json $(RESULTS)/simulate.json

QUALITY = $(DEV_BENCH) quality --model $(MODEL) --set $(1) --data $(2) --json $(RESULTS)/quality-$(1).json

bench-quality: setup models ## measure whether edits are right: CANITEDIT=, HUMANEVALFIX=, EDITEVAL= files
	$(if $(CANITEDIT),-$(call QUALITY,canitedit,$(CANITEDIT)))
	$(if $(HUMANEVALFIX),-$(call QUALITY,humanevalfix,$(HUMANEVALFIX)))
	$(if $(EDITEVAL),-$(call QUALITY,editeval,$(EDITEVAL)))

bench-report: setup ## write docs/benchmarks.md, its notebook and plots from docs/results
	$(DEV_BENCH) report

build: setup ## build the wheel and the sdist into dist/
	$(BIN)/python -m build --no-isolation

release-check: test-setup ## build all parts of a release into dist/, install each and run it
	PYTHONPATH=. $(BIN)/python .ci/release.py

clean: ## remove .venv and all build products; the models and the wheel of the engine stay in the cache
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find server lookup tests .ci -name __pycache__ -type d -prune -exec rm -rf {} +
