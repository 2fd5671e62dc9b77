# The tasks of this repo. What is longer than a line is a script in tools/.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help up rehearse down status play test unit lint types tools setup render bench pictures docs-check site format lock

BIN := .venv/bin
# Two files of tests side by side, those with labs first: they mostly wait.
PYTEST := $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder

help: ## List these tasks
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS=$$'\t' read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done

up: ## Show the agreement, make the tools, start a lab, run `pulumi up` on it, play borrowing and taking back
	@tools/up

rehearse: ## The production agreement on a lab of its full size, by `pulumi up`
	@tools/rehearse

down: ## Stop the labs and remove all that `make up` wrote (not the cache of tools)
	@tools/down

status: setup ## Show who has what on the lab, and what needs attention
	@$(BIN)/tenancy status

play: setup ## Play on the lab with real jobs: others borrow what is idle, its owner takes it back
	@$(BIN)/tenancy verify --lab lab --only reclaim --narrate

test: lint types ## Everything CI runs: lint, types, unit tests, tests on a real control plane
	@$(BIN)/python -m tenancy.lab.tools lab pulumi languages kai kubevirt
	@tools/browser >/dev/null || true
	@$(PYTEST)

unit: setup ## The tests that need only Python
	@$(PYTEST) -m 'not lab'

lint: setup ## Style, workflows, imports that point one way, rendered files that agree, a current reference, current pictures
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@tools/workflows
	@$(BIN)/lint-imports
	@$(BIN)/tenancy render --check
	@$(MAKE) --no-print-directory docs-check

types: setup ## mypy --strict
	@$(BIN)/mypy

render: setup ## Write rendered/ from tenancy.toml
	@$(BIN)/tenancy render

bench: setup ## Measure the slow things beside what one would run instead
	@$(BIN)/python -m bench

pictures: setup ## Draw docs/pictures from the agreements
	@$(BIN)/python docs/make_pictures.py

docs-check: setup ## Check that docs/reference.md is what the model says, docs/pictures what the agreements say, and every link
	@$(BIN)/python docs/make_reference.py --check
	@$(BIN)/python docs/make_pictures.py --check
	@$(MAKE) --no-print-directory site

site: setup ## Build the documentation as a site, build/site; a wrong link fails
	@set -o pipefail; NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict 2>&1 | { grep -v '^INFO\|^  - ' || true; }

format: setup ## Format the Python code
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix

tools: setup ## Find or build the programs the lab needs (also: .venv/bin/python -m tenancy.lab.tools kai)
	@$(BIN)/python -m tenancy.lab.tools

setup: ## Make .venv from the lock file
	@tools/setup

lock: ## Write the lock files anew from pyproject.toml (docs/decisions/0001)
	@tools/lock
