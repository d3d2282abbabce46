# twixt: `make run` opens the window, `make test` runs the tests. Each first installs what is missing.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
ARGS   ?=
FUZZ   ?= 100000

# Software OpenGL and the display libraries that glfw loads; Xvfb and sway are the displays of the tests.
GL_PACKAGES      := libgl1 libegl1 libgl1-mesa-dri libglx-mesa0 libx11-6 libxcursor1 libxi6 libxinerama1 libxrandr2 \
                    libwayland-client0 libwayland-cursor0 libwayland-egl1 libxkbcommon0
DISPLAY_PACKAGES := xvfb sway xdotool
PACKAGES         := $(GL_PACKAGES) $(DISPLAY_PACKAGES) python3-venv

.PHONY: help setup packages run test check bench fuzz mutants coverage kill-orders soak clean

help:           ## this list
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: packages $(VENV)/ready   ## install everything that is missing

packages:
	@missing=""; for p in $(PACKAGES); do \
	  dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done; \
	if ! command -v dpkg-query >/dev/null 2>&1; then \
	  echo "setup: not a Debian system; needed here: an OpenGL 3.3 driver, and for the tests Xvfb and sway"; \
	elif [ -z "$$missing" ]; then :; \
	elif [ "$$(id -u)" = 0 ]; then \
	  echo "setup: installing system packages:$$missing"; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	else \
	  echo "setup: some system packages are missing; to install them, type:"; \
	  echo "  sudo apt-get install --no-install-recommends$$missing"; \
	fi

$(VENV)/ready: requirements.txt requirements-dev.txt pyproject.toml | packages
	@echo "setup: Python packages into $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@rm -rf $(VENV)/lib/python*/site-packages/twixt  # a copy, which would run instead of what is edited here
	@touch $@

run: setup      ## the default world, in a window (offscreen with a report where there is no display)
	@$(BIN)/twixt run $(ARGS)

test: setup     ## all tests
	$(BIN)/python -m pytest $(ARGS)

check: setup    ## format, lint, types, fast tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@mkdir -p build/types/twixt && for part in cli ipc sim render; do ln -sfn ../../../$$part build/types/twixt/$$part; done
	@ln -sfn ../../../twixt.py build/types/twixt/__init__.py
	cd build/types && ../../$(BIN)/mypy --config-file ../../pyproject.toml
	$(BIN)/python -m pytest -m "not stress and not display" $(ARGS)

bench: setup    ## what everything costs, each beside its physical limit (ARGS=--quick: that it works)
	$(BIN)/twixt bench $(ARGS)

fuzz: setup     ## a hundred thousand spoilt inputs for each reader of what others wrote (FUZZ=1000, ARGS="head --seed 1")
	nice env FUZZ=$(FUZZ) $(BIN)/python -P -m tests.hostile.fuzz $(ARGS)

mutants: setup  ## whether the tests notice a wrong line of the channel and of the schedule (long)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-mutants.txt
	nice $(BIN)/python -m tests.mutants --out docs/mutants.md $(ARGS)

coverage: setup ## lines and branches of ipc/ that the tests reach
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-mutants.txt
	@rm -rf build/coverage && mkdir -p build/coverage
	$(BIN)/python -m coverage run -m pytest -q tests/ipc tests/sim tests/cli -m "not display" \
	  --deselect tests/ipc/test_session_processes.py::test_taking_a_name_needs_the_standard_library_alone \
	  --deselect tests/sim/test_bodies_columns.py::test_a_rule_in_the_script_itself_is_refused_with_the_way_out $(ARGS)
	-@$(BIN)/python -m coverage combine --quiet 2>/dev/null  # processes that were killed leave half a file
	$(BIN)/python -m coverage report

kill-orders: setup   ## ORDERS=1000 random orders of starting, stopping and killing: nothing is left (SEED=N repeats one)
	$(BIN)/python -m tests.endings --orders $(or $(ORDERS),1000) $(if $(SEED),--seed $(SEED)) $(ARGS)

soak: setup     ## an hour of viewers that come, go and are killed (SOAK_S seconds): nothing grows
	$(BIN)/python -m tests.soak.soak $(ARGS)

clean:          ## remove what setup and the tests made
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist *.egg-info
