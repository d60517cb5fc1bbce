# make lab    JupyterLab on the tour        make lint   style, types, import directions
# make demo   the same without a browser    make bench  the benchmarks (minutes)
# make test   the tests                     make clean  removes .venv and what was built
# make gpu-check   on a machine with a GPU and CuPy: is the engine right there, and how fast (minutes)
# make gpu-emulated   all GPU tests on the emulator, whole: matrix, corpus, 20 schedules (minutes)
# make pythons    builds and uses pqlab with every Python from 3.11 on that is here (minutes)
# make sanitize   the tests again, native code watched by AddressSanitizer and UBSan (minutes)
.PHONY: lab demo test gpu-check gpu-emulated pythons sanitize lint style types imports cxx-style format docs bench clean
.DEFAULT_GOAL := lab

PYTHON := .venv/bin/python
BUILT_FROM := pyproject.toml CMakeLists.txt $(wildcard pqlab/native/*.cuh pqlab/native/cpu/*.* pqlab/native/cpu/simd/*)
CXX_FILES := $(wildcard pqlab/native/*.cuh pqlab/native/cpu/*.* pqlab/native/cpu/simd/* pqlab/gpu/*.cuh \
	pqlab/gpu/emulator/*.[ch]pp tests/kernels/* tests/fuzz/*.[ch]pp)

lab: .venv/.lab
	@$(PYTHON) tools/lab.py

demo: .venv/.core
	@$(PYTHON) tools/demo.py

# PYTEST="-n 2 -k footer" adds to the command line.
test: .venv/.test
	@$(PYTHON) -m pytest $(PYTEST)

# GPU_CHECK="--device emulated" checks the same without a GPU.
gpu-check: .venv/.test
	@$(PYTHON) tools/gpu_check.py $(GPU_CHECK)

gpu-emulated: .venv/.test
	@PQLAB_GPU_WHOLE=1 $(PYTHON) -m pytest -n 2 tests/test_gpu_*.py $(PYTEST)

pythons:
	@tools/try_pythons

sanitize: .venv/.test
	@tools/sanitize $(PYTEST)

FUZZ_SECONDS ?= 600
fuzz: .venv/.test
	@tools/fuzz $(FUZZ_SECONDS) $(FUZZ_TARGETS)

# `make -k lint` goes on after the first that fails.
lint: style types imports cxx-style

style: .venv/.dev
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .

types: .venv/.dev
	.venv/bin/mypy

imports: .venv/.dev
	.venv/bin/lint-imports

cxx-style: .venv/.dev
	.venv/bin/clang-format --dry-run -Werror $(CXX_FILES)

format: .venv/.dev
	.venv/bin/ruff check --fix --exit-zero .
	.venv/bin/ruff format .
	.venv/bin/clang-format -i $(CXX_FILES)

docs: .venv/.test
	$(PYTHON) tools/generate_docs.py

bench: .venv/.bench .venv/.test
	$(PYTHON) -m benchmarks.footer
	$(PYTHON) -m benchmarks.decode
	$(PYTHON) -m benchmarks.iterate
	$(PYTHON) -m benchmarks.remote
	$(PYTHON) -m benchmarks.datasets
	$(PYTHON) -m benchmarks.widgets

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

# One stamp per extra: nothing is installed twice.
.venv/.%: $(BUILT_FROM)
	@tools/install $*
	@touch $@
