# `make demo` and `make test` need Python 3.9 to 3.11, make and git, and nothing before them.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: install demo test check bench gpu fuzz clean

install: $(VENV)/.installed

# torch first, in a range that the CPU build satisfies; then the package with all that its tests use.
$(VENV)/.installed: setup.cfg setup.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet "torch>=2.2,<2.14"
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $@

demo: install
	$(BIN)/dgltrees demo --out demo

test: check
	$(BIN)/python -m pytest -n auto --dist loadfile
	$(BIN)/python -m pytest --nbmake --override-ini filterwarnings=default notebooks

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Ten thousand damaged inputs for every reader of files; `make test` takes a hundred.
fuzz: install
	FUZZ=10000 $(BIN)/python -m pytest -n auto tests/fuzz

clean:
	rm -rf $(VENV) demo build *.egg-info

# Speed, as ratios within one run, and memory; tables stand at the end. torch_geometric and dyNET38
# take part where they are installed. OMP_NUM_THREADS says how many cores.
bench: install
	$(BIN)/python -m pytest tests/benchmarks --override-ini addopts= --benchmark-only \
		--benchmark-columns=median,min,rounds --benchmark-sort=mean -W default -q

# On a machine with CUDA: the laws of every cell there, then nodes a second beside torch's LSTM and
# the CPU. Without one the laws say that they are skipped, and the table stops in a line.
gpu: install
	$(BIN)/python -m pytest tests/gpu -rs
	$(BIN)/dgltrees bench --device cuda
