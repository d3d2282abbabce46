# twixt: `make run` opens the window, `make test` runs the tests. Each first installs what is missing.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
ARGS   ?=
FUZZ   ?= 100000

# For running: software OpenGL and the display libraries that glfw loads. For the tests: displays (Xvfb, sway), the
# reference compiler of shaders, and a browser and node for the page.
GL_PACKAGES      := libgl1 libegl1 libgl1-mesa-dri libglx-mesa0 libx11-6 libxcursor1 libxi6 libxinerama1 libxrandr2 \
                    libwayland-client0 libwayland-cursor0 libwayland-egl1 libxkbcommon0
DISPLAY_PACKAGES := xvfb sway weston xdotool glslang-tools chromium nodejs iproute2
RUN_PACKAGES     := $(GL_PACKAGES) python3-venv
PACKAGES         := $(RUN_PACKAGES) $(DISPLAY_PACKAGES)

# Prints the part of pip's output that a user needs: progress, on a terminal; warnings, except those about places in
# pip's configuration that do not exist; and all lines if there is an error. Ends with pip's exit code.
define PIP_LINES
BEGIN { code = 1; terminal = !system("test -t 1") }
/^pip ended with [0-9]+$$/ { code = $$4; next }
/^WARNING: (Location|Url) .* is ignored/ { next }
{ lines[++count] = $$0 }
/^ERROR/ { refused = 1 }
/^(WARNING|DEPRECATION)/ { erase(); print > "/dev/stderr"; count-- }
/^(Collecting|Processing|Requirement already satisfied)/ { tell(++found " of " all " found") }
/^Installing collected packages/ { erase(); if (all) print "setup: installing the packages" }
END { erase(); if (code || refused) for (i = 1; i <= count; i++) print lines[i] > "/dev/stderr"; if (code) print way_out > "/dev/stderr"; exit code }
function tell(text) { if (terminal && all) { printf "\rsetup: %s", text; fflush(); told = 1 } }
function erase() { if (told) printf "\r%24s\r", ""; told = 0 }
endef
export PIP_LINES

WAY_OUT := setup: pip failed, see its message above; to try again, run the same make (PIP_FIND_LINKS=FOLDER make: packages from a folder)

# 1: packages to install, 2: their number, or nothing if the progress is not to be shown.
pip_install = { $(BIN)/python -m pip install --disable-pip-version-check --no-input --no-color --progress-bar off --no-compile $(1) \
  2>&1; echo "pip ended with $$?"; } | awk -v all=$(2) -v way_out="$(WAY_OUT)" "$$PIP_LINES"

# 1: system packages. Installs those that are missing, or prints the command that installs them.
define system_install
@installed=" $$(dpkg-query -W -f '$${Package}:$${db:Status-Status} ' $(1) 2>/dev/null)"; missing=""; count=0; \
for p in $(1); do case "$$installed" in *" $$p:installed "*) ;; \
  *) missing="$$missing $$p"; count=$$((count + 1)) ;; esac; done; \
if ! command -v dpkg-query >/dev/null 2>&1; then \
  echo "setup: this is not Debian or Ubuntu; install an OpenGL 3.3 driver yourself, and for the tests Xvfb, sway and weston"; \
elif [ -z "$$missing" ]; then :; \
elif [ "$$(id -u)" = 0 ]; then \
  echo "setup: installing $$count system packages, which takes a minute or two:$$missing"; \
  said=$$(apt-get update -qq 2>&1 && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing 2>&1) || \
  { code=$$?; printf '%s\n' "$$said" >&2; exit $$code; }; \
else \
  echo "setup: some system packages are missing; to install them, run:"; \
  echo "  sudo apt-get install --no-install-recommends$$missing"; \
fi
endef

.NOTPARALLEL:
.PHONY: help setup packages run-packages docs-packages types run test pythons check docs reference bench fuzz mutants \
        coverage frozen kill-orders soak clean

help:           ## print this list
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: packages types $(VENV)/ready   ## install everything that is missing

packages:
	$(call system_install,$(PACKAGES))

run-packages:
	$(call system_install,$(RUN_PACKAGES))

docs-packages:
	$(call system_install,python3-venv)

# The package as a folder of its own name, for editors and type checkers: they do not compute `__path__`.
types:
	@mkdir -p build/types/twixt && for part in cli ipc sim render relay py.typed; do \
	  ln -sfn ../../../$$part build/types/twixt/$$part; done
	@ln -sfn ../../../twixt.py build/types/twixt/__init__.py
	@ln -sfn ../../../sim/engines/viewers/mujoco_viewer.py build/types/twixt/mujoco_viewer.py

# Packages are installed in two parts: those that running twixt needs, then all others. Bytecode of twixt is made here,
# so that the first start does not wait for it. Bytecode of other packages is made when they are imported, which saves
# half of pip's time.
# Copies that hatchling installs, or another package `twixt`, would be imported instead of what is edited here.
$(VENV)/ready-to-run: requirements.txt pyproject.toml | run-packages
$(VENV)/ready-to-run: SAYS = into $(VENV), to run twixt: about half a minute, 290 MB
$(VENV)/ready-to-run: THEN = echo "setup: installing twixt"; \
	$(call pip_install,--no-deps --no-build-isolation --editable .); \
	for site in $(VENV)/lib/python*/site-packages; do rm -rf $$site/twixt $$site/twixt-*info $$site/twixt_viewer.py; done; \
	$(BIN)/python -m compileall -q twixt_viewer.py twixt.py cli ipc sim render relay bench

$(VENV)/ready: requirements-dev.txt requirements.txt $(VENV)/ready-to-run | packages
$(VENV)/ready: SAYS = into $(VENV), for tests and benches: about a minute, 220 MB more
$(VENV)/ready: THEN = :

$(VENV)/ready-to-run $(VENV)/ready: NEXT = ; the first start of twixt takes a second or two longer, because it compiles the drawing code

$(VENV)/ready-for-docs: requirements-docs.txt | docs-packages
$(VENV)/ready-for-docs: SAYS = into $(VENV), to build the pages: about half a minute, 100 MB
$(VENV)/ready-for-docs: THEN = :

# If the creation of a virtual environment was interrupted, it has a python and no pip. It is then made again.
$(VENV)/ready-to-run $(VENV)/ready $(VENV)/ready-for-docs:
	@set -e; began=$$(date +%s); all=$$(cat $(filter requirements%,$^) | grep -c ==); mkdir -p $(VENV); \
	if command -v flock >/dev/null; then exec 9>>$(VENV)/being-made; \
	  flock -n 9 || { echo "setup: waiting, because another make installs into $(VENV)"; flock 9; }; \
	  if [ -e $@ ] && [ -z "$$(find $^ -newer $@)" ]; then exit 0; fi; fi; \
	$(BIN)/python -m pip --version >/dev/null 2>&1 || { echo "setup: creating a virtual environment in $(VENV)"; "$(PYTHON)" -m venv $(VENV); }; \
	echo "setup: installing Python packages ($$all) $(SAYS)"; \
	$(call pip_install,-r $<,$$all); \
	$(THEN); \
	touch $@; echo "setup: done in $$(($$(date +%s) - began)) s$(NEXT)"

run: $(VENV)/ready-to-run  ## run the default world in a window (without a display: offscreen, with a report)
	@$(BIN)/twixt run $(ARGS)

test: setup     ## run all tests, most of them in parallel
	$(BIN)/python -m tests.suite $(ARGS)

pythons: setup  ## run the tests without a window under each installed Python from 3.11 (ARGS=--quick: few tests)
	@$(BIN)/python -m tests.pythons $(ARGS)

check: setup    ## check format, lint and types, and run the fast tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m tests.suite -m "not stress and not display and not slow" $(ARGS)

docs: $(VENV)/ready-for-docs  ## build the pages as a site, in build/docs; broken links are errors
	@rm -rf build/docs  # a second build does not report the links of pages that are the same
	@$(BIN)/python -m sphinx -q -W --keep-going -j auto -c docs . build/docs $(ARGS)
	@echo "docs: build/docs/index.html"

reference: setup   ## write the pages that are generated from docstrings and from --help
	@$(BIN)/python -m docs.reference
	@$(BIN)/python -m docs.command_line

bench: setup    ## measure costs, each with its physical limit (ARGS="channel --quick"; ARGS=--help: list of benches)
	$(BIN)/python -m bench $(ARGS)

fuzz: setup     ## test each decoder with 100,000 corrupt inputs (FUZZ=1000: fewer; ARGS="head --seed 1")
	nice env FUZZ=$(FUZZ) $(BIN)/python -P -m tests.long.hostile.fuzz $(ARGS)

mutants: setup  ## check that the tests find wrong lines in the channel and the schedule (takes long)
	@$(call pip_install,-r requirements-mutants.txt)
	nice $(BIN)/python -m tests.mutants --out docs/mutants.md $(ARGS)

coverage: setup ## measure which lines and branches of ipc/ the tests reach
	@$(call pip_install,-r requirements-mutants.txt)
	@rm -rf build/coverage && mkdir -p build/coverage
	$(BIN)/python -m coverage run -m pytest -q tests/ipc tests/sim tests/cli tests/bench -m "not display" \
	  --deselect tests/ipc/session/test_session_processes.py::test_taking_a_name_needs_the_standard_library_alone \
	  --deselect tests/sim/world/test_bodies_columns.py::test_a_rule_in_the_script_itself_is_refused_with_the_way_out $(ARGS)
	-@$(BIN)/python -m coverage combine --quiet 2>/dev/null  # processes that were killed leave half a file
	$(BIN)/python -m coverage report

frozen: setup   ## build programs with PyInstaller that open a window, and count the starts of each (takes minutes)
	nice $(BIN)/python -m tests.frozen

kill-orders: setup   ## test that nothing is left after ORDERS=1000 random orders of starts, stops and kills (SEED=N)
	$(BIN)/python -m tests.long.endings --orders $(or $(ORDERS),1000) $(if $(SEED),--seed $(SEED)) $(ARGS)

soak: setup     ## test for an hour that nothing grows while viewers attach, leave and are killed (SOAK_S: seconds)
	$(BIN)/python -m tests.long.soak.soak $(ARGS)

clean:          ## remove the files of setup and of the tests
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist *.egg-info
