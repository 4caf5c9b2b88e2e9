# The only command surface of this repository. Everything it installs stays in the checkout: .venv, .m2,
# src/milepost/jars. All paths are relative, so that the checkout may lie under a path with spaces; the
# record that something was installed lies inside it, so that deleting a folder is enough to get it anew.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
UV_VERSION := 0.13.7

PY := .venv/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet
LAYERS := $(PY) -c 'from importlinter.cli import import_linter; import_linter()' lint --no-cache --no-logo
JARS := src/milepost/jars
ENGINE := $(JARS)/spark/milepost-engine.jar
FLINK := .cache/flink
ARCHIVE := .cache/driver.jsa
POMS := java/pom.xml $(wildcard java/*/pom.xml)
JAVA_SOURCES := $(shell find java -type d -name target -prune -o -type f -print)

# Not the tests: their misspelt keys and commands are meant.
SPELLED := $(wildcard *.md) .ci .github Makefile bench docs examples java/engine/src/main ops src

# Percent of the lines of src/ that the tests without a JVM run, at least.
COVERAGE_FLOOR := 88

# Each worker has a Kafka, an HBase and a Spark of its own, about 4 GiB; 0 is one test after the other in one process.
WORKERS ?= 2

.PHONY: help demo test golden chaos lint prose coverage fmt jars bench browser docs clean lock screenshots wheel venv \
        test-unit test-spark test-system test-java flink prerequisites FORCE

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

demo: venv jars ## Run Kafka -> Spark -> HBase with two crashes, and verify exactly-once
	@.venv/bin/milepost demo exactly-once

test: venv jars browser flink $(ARCHIVE) ## Run lint, JUnit and all tests with two workers, then the tests that need the machine alone
	@WORKERS='$(WORKERS)' exec .ci/suite

lint: venv ## Check style, types, import layers, dead code, spelling and banned phrases
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check --quiet .
	@$(PY) -m mypy
	@$(LAYERS)
	@$(PY) -m vulture
	@$(PY) -m codespell_lib $(SPELLED)
	@$(PY) .ci/prose

prose: venv ## List the phrases of .ci/banned-phrases.txt that documentation, messages and comments still use
	@$(PY) .ci/prose

fmt: venv ## Format the code and apply the fixes of the linter
	@$(PY) -m ruff format .
	@$(PY) -m ruff check --fix .

jars: $(ENGINE) ## Build the engine jar; gather the jars of the Kafka connector, Kafka and HBase, and the chart library

bench: venv jars ## Measure throughput, latency, and the cost of the coordinator, savepoints and a flood of requests
	@$(PY) bench/throughput.py
	@$(PY) bench/sink.py
	@$(PY) bench/latency.py
	@$(PY) bench/spine.py
	@$(PY) bench/savepoint.py
	@$(PY) bench/rest_load.py

docs: venv ## Regenerate docs/reference
	@mkdir -p .cache docs/reference
	@$(PY) -m milepost.config.reference > .cache/config.md
	@$(PY) -m milepost.rest.metrics.reference > .cache/metrics.md
	@$(PY) -m milepost.cli.reference > .cache/cli.md
	@mv .cache/config.md .cache/metrics.md .cache/cli.md docs/reference/

wheel: venv jars ## Build dist/milepost-*.whl with all jars
	@rm -rf dist
	@$(PY) -m hatchling build --target wheel

lock: venv ## Update requirements.lock to the newest versions that pyproject.toml allows
	@$(PIP) install 'uv==$(UV_VERSION)'
	@mkdir -p .cache
	@$(PY) -m uv pip compile pyproject.toml --group dev --universal --python-version 3.10 --upgrade --quiet \
	  --generate-hashes --no-annotate --no-emit-index-url --no-emit-find-links \
	  --custom-compile-command 'make lock' --output-file .cache/requirements.lock > /dev/null
	@if grep -n '://' .cache/requirements.lock; then echo 'The lock file must not name a registry.' >&2; exit 1; fi
	@mv .cache/requirements.lock requirements.lock

clean: ## Remove everything that make installed or built; your data in .milepost is kept
	rm -rf .venv .m2 .cache dist $(JARS) java/*/target .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find bench src tests -type d -name __pycache__ -prune -exec rm -rf {} + 2> /dev/null || true

test-unit: venv jars ## Only the tests without a JVM; seconds
	@$(PY) -m pytest tests/unit tests/test_shape.py

# Slipcover, since on Python 3.11 it costs about a third of what a tracer does. Child processes are not counted.
# The warning: pytest finds the plug-in of Slipcover imported already.
coverage: venv jars ## The tests without a JVM, with the share of src/ that they run; fails below the floor
	@mkdir -p .cache
	@failed=0; \
	$(PY) -m slipcover --source src/milepost --json --out .cache/coverage.json --fail-under $(COVERAGE_FLOOR) \
	  -m pytest -W ignore::pytest.PytestAssertRewriteWarning tests/unit || failed=1; \
	$(PY) .ci/coverage .cache/coverage.json $(COVERAGE_FLOOR); \
	exit $$failed

test-spark: venv jars $(ARCHIVE) ## Run the tests on a local Spark
	@$(PY) -m pytest tests/spark

test-system: venv jars browser flink $(ARCHIVE) ## Run the tests on a real Kafka and a real HBase
	@$(PY) -m pytest tests/system

flink: $(FLINK)/.gathered ## Gather Flink's command line and dashboard for the tests

browser: venv ## Find or install a Chromium for the dashboard tests
	@.ci/browser

screenshots: venv jars browser ## Regenerate the screenshots of docs/dashboard.md
	@MILEPOST_SCREENSHOTS=docs/images $(PY) -m pytest tests/system/test_dashboard.py

golden: venv jars ## Regenerate the golden savepoints of tests/golden
	@$(PY) -m pytest tests/system/regenerate_golden.py

chaos: venv jars ## Run the long kill tests, which are not part of make test; takes minutes
	@$(PY) -m pytest -m chaos tests/system

test-java: venv jars ## Run the JUnit tests
	@java/maven --projects engine test
	@echo 'JUnit: passed.'

# ---- how things get into the checkout -------------------------------------------------------------------

venv: .venv/.milepost

prerequisites:
	@PYTHON='$(PYTHON)' .ci/prerequisites

$(PY): | prerequisites
	@echo 'Creating .venv …'
	@rm -rf .venv
	@$(PYTHON) -m venv .venv

.venv/.packages: requirements.lock $(PY)
	@echo 'Installing the locked Python packages into .venv …'
	@$(PIP) install --retries 10 --require-hashes --requirement requirements.lock
	@touch $@

# An editable install knows its absolute path: a checkout that was moved or copied must do it again.
.venv/.place: FORCE | $(PY)
	@[ -e $@ ] && [ "$$(cat $@)" = "$$PWD" ] || printf '%s\n' "$$PWD" > $@

.venv/.milepost: pyproject.toml .venv/.packages .venv/.place
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

# Emptied first: Maven leaves the jar of a former version beside the new one. The group that no test is in
# makes Maven fetch its JUnit runner and run nothing, so that `make test` needs no network after `make jars`.
$(JARS)/.gathered: $(POMS) java/maven | prerequisites
	@echo 'Gathering the jars with Maven …'
	@rm -rf $(JARS)
	@java/maven --projects '!flink' -Dgroups=none package
	@touch $@

# Flink's own command line and dashboard, which the tests run against a job; the wheel does not carry them.
$(FLINK)/.gathered: $(POMS) java/maven | prerequisites
	@echo "Gathering Flink's command line and dashboard for the tests …"
	@rm -rf $(FLINK)
	@java/maven --projects flink package
	@touch $@

# The drivers of the tests start in half the time with it. It belongs to the jars at their places and to the JVM.
$(ARCHIVE): $(ENGINE) .venv/.milepost tests/class_archive.py tests/jvm.py
	@echo 'Archiving the classes of a driver for the tests …'
	@$(PY) -m tests.class_archive $@

$(ENGINE): $(JAVA_SOURCES) $(JARS)/.gathered
	@java/maven --projects engine -Dmaven.test.skip=true package
	@touch $@
