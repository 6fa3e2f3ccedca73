# Needs Python 3.11 or newer and make. Everything else goes into .venv (or, as root on Debian and Ubuntu, comes by apt-get).
#
#   make demo       compile three picture kernels, run them on a photograph, check them, show their inner loops
#   make test       the tests
#   make help       the rest

PYTHON ?=#         the Python to make the environment with; the first that is new enough when empty
JOBS ?= auto#      test processes
ARGS ?=#           more arguments for the command behind a target, e.g. make test ARGS='-k poly', make demo ARGS=photo.jpg

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
SOURCES := $(shell find src -name '*.py')
NATIVE := build/.native
NATIVE_BUILD := --build-lib build/native --build-temp build/objects
MYPYC := LOOPWRIGHT_MYPYC=1
WHEEL := bdist_wheel --bdist-dir build/wheels/bdist --dist-dir dist
# What bdist_wheel itself runs, setuptools warns of.
QUIET := -W 'ignore:setup.py install is deprecated'

# Commands that show or measure speed use the native build once there is one.
RUN_FAST := PYTHONPATH=build/native

.PHONY: help demo test test-native test-wheels random-kernels generated-programs mutants bench native profiled wheels lint types contract format lock clean
.DEFAULT_GOAL := help

help:
	@echo 'make demo         picture kernels on a photograph: checked, timed, their inner loops listed (ARGS=your-photo.jpg)'
	@echo 'make test         the tests, but the long runs (ARGS="-k poly" for some, ARGS="-m slow" for the long runs)'
	@echo 'make bench        the figures, beside their peers (ARGS=compile for one table)'
	@echo 'make native       compile the compiler itself with mypyc and a C compiler; demo and bench then use it'
	@echo 'make profiled     the same, twice: by what runs how often the first time (0.9 of the compile time; for wheels that are given away)'
	@echo 'make test-native  all tests, the long runs too, on the native build'
	@echo 'make wheels       a pure-Python and a native wheel, in dist/; make test-wheels installs and tries both'
	@echo 'make random-kernels   10,000 random kernels beside plain Python, on every target (ARGS="--count 500" for fewer)'
	@echo 'make generated-programs   20,000 C programs of Csmith'"'"'s beside clang -O0 (hours; ARGS="--count 500" for fewer)'
	@echo 'make mutants      300 faults put into the core, one at a time: do the tests notice? (hours)'
	@echo 'make lint types contract   style, types, import rules'
	@echo 'make format       put the style right'
	@echo 'make lock         resolve requirements/*.txt anew from pyproject.toml'
	@echo 'make clean        remove environments and whatever was built'

demo: $(VENV)/.demo $(wildcard $(NATIVE))
	@$(RUN_FAST) $(BIN)/loopwright demo $(ARGS)

test: $(VENV)/.test
	@.ci/packages
	$(BIN)/python -m pytest -n $(JOBS) --build=pure -m "not slow" $(ARGS)

test-native: $(VENV)/.test $(NATIVE)
	@.ci/packages
	$(RUN_FAST) $(BIN)/python -m pytest -n $(JOBS) --build=native $(ARGS)

# The slow runs, which no change has to wait for.
random-kernels: $(VENV)/.test
	@.ci/packages
	$(BIN)/python -m tests.random_kernels $(ARGS)

generated-programs: $(VENV)/.test
	@.ci/packages
	$(BIN)/python -m tests.programs.generated --count 20000 $(ARGS)

mutants: $(VENV)/.test
	@.ci/packages
	$(PIP) cosmic-ray==8.7.0
	$(BIN)/python -m tests.mutation $(ARGS)

bench: $(VENV)/.bench
	@.ci/packages bench
	@if command -v $${CC:-gcc} >/dev/null; then $(MAKE) --no-print-directory native; fi
	@$(RUN_FAST) $(BIN)/loopwright bench $(ARGS)

native: $(NATIVE)

# The native wheel is made of what `make native` built, so that what is tested and measured is what is installed.
wheels: $(NATIVE)
	rm -rf dist build/wheels
	find build/native -name __pycache__ -type d -prune -exec rm -rf {} +
	$(BIN)/python $(QUIET) setup.py --quiet build --build-base build/wheels/pure $(WHEEL)
	$(MYPYC) $(BIN)/python $(QUIET) setup.py --quiet build $(NATIVE_BUILD) $(WHEEL)
	@ls dist/*.whl

test-wheels: wheels
	$(BIN)/python -m pytest -n $(JOBS) --wheels=dist tests/test_wheels.py $(ARGS)

$(NATIVE): $(SOURCES) $(wildcard corpora/*.lwc native/*.h) setup.py $(VENV)/.test
	@.ci/packages
	@command -v $${CC:-gcc} >/dev/null || { echo 'make native needs a C compiler (gcc)' >&2; exit 1; }
	rm -rf build
	$(MYPYC) $(BIN)/python setup.py --quiet build $(NATIVE_BUILD)
	@touch $@

# The native build made twice, with gcc: to count what of it runs how often while two corpora are recorded, and by those counts. It compiles kernels in 0.9 of the time.
profiled: $(VENV)/.test
	@.ci/packages
	@command -v gcc >/dev/null || { echo 'make profiled needs gcc' >&2; exit 1; }
	rm -rf build
	LOOPWRIGHT_PROFILE=make CC=gcc $(MYPYC) $(BIN)/python setup.py --quiet build $(NATIVE_BUILD)
	$(foreach collection,kernels programs,$(RUN_FAST) $(BIN)/loopwright corpus record --collection $(collection) -o build/$(collection).lwc &&) true
	find build/native build/objects \( -name '*.so' -o -name '*.o' \) -exec rm {} +
	LOOPWRIGHT_PROFILE=use CC=gcc $(MYPYC) $(BIN)/python setup.py --quiet build $(NATIVE_BUILD)
	@touch $(NATIVE)

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.test
	$(BIN)/mypy

contract: $(VENV)/.test
	$(BIN)/lint-imports

# --- environments: one, to which each of these adds its part -----------------------------------------------------

$(BIN)/python:
	@.ci/venv $(VENV) $(PYTHON)

$(VENV)/.base: requirements/base.txt pyproject.toml setup.py | $(BIN)/python
	$(PIP) --require-hashes -r requirements/base.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.demo $(VENV)/.test $(VENV)/.bench: $(VENV)/.%: requirements/%.txt $(VENV)/.base
	$(PIP) --require-hashes -r $<
	@touch $@

# Resolved once for every supported Python, all sets at the same versions.
lock:
	test -x .venv-lock/bin/uv || { .ci/venv .venv-lock $(PYTHON) && .venv-lock/bin/python -m pip install --quiet uv==0.13.8; }
	mkdir -p build
	.venv-lock/bin/uv pip compile -q pyproject.toml --all-extras --universal --python-version 3.11 -o build/all.txt --no-header
	for set in 'base build' 'demo demo' 'test demo,test,lint,tuning' 'bench demo,bench,tuning'; do \
		set -- $$set; \
		.venv-lock/bin/uv pip compile -q pyproject.toml $$(printf ' --extra %s' $$(echo $$2 | tr , ' ')) -c build/all.txt \
			--universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command 'make lock' -o requirements/$$1.txt; \
	done

clean:
	rm -rf $(VENV) .venv-lock build dist demo-output bench-output .hypothesis .*_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
