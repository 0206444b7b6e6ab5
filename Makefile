# `make demo` and `make test` need Python 3.10 or newer, make and git, and nothing before them.
# `make test PYTHON=python3.12` is for another interpreter, in an environment of its own (.venv.12).

PYTHON ?= python3
VENV ?= .venv$(patsubst python3%,%,$(notdir $(PYTHON)))
BIN := $(VENV)/bin

.PHONY: install demo test tests pages papers check style types test-everywhere deletion docs linkcheck oldest newest readme dist wheel pythons bench bench-start custom-trees gpu fuzz kills breaks results golden clean

install: $(VENV)/.with-test

# The package with extras: `test` has all that its tests use.
$(VENV)/.with-%: setup.cfg setup.py .ci/constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint .ci/constraints.txt --editable ".[$*]"
	touch $@

demo: $(VENV)/.with-compile,plots
	$(BIN)/dgltrees demo --out demo

# Threads of OpenMP sleep while they wait: tests, notebooks and checks share the cores.
test test-everywhere docs deletion: export OMP_WAIT_POLICY := PASSIVE

# Two rows of work next to each other. What can run after a failure runs, and the last line says what
# failed. The core's tests run in a copy without the papers, and the others here; the notebooks run as
# pages of the site, and README with the wheel.
test: install
	@rm -rf build/failed && mkdir -p build/failed
	@$(MAKE) -j2 --no-print-directory --output-sync=line tests pages
	@failed=$$(ls build/failed | xargs); test -z "$$failed" && echo "make test: passed" || \
		{ echo "make test: failed: $$failed"; exit 1; }

tests: install
	@$(call each,deletion papers)

pages: install
	@$(call each,style types docs wheel)

each = for part in $(1); do $(MAKE) -j1 --no-print-directory $$part || touch build/failed/$$part; done

papers: install
	$(BIN)/python -m pytest -n auto --dist loadfile tests/papers tests/test_names.py

check: style types

style: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install
	$(BIN)/mypy

# The tests under other conditions: processors, threads, users, folders, orders, interpreters. It
# continues where it stopped; ROWS="plain busy" names some.
test-everywhere: install
	$(BIN)/python -m tests.everywhere $(ROWS)

# Copies without each paper are whole, and the core's tests pass in one without all of them; with
# FULL=1 all tests of every copy run.
deletion: install
	$(BIN)/python -m tests.deletion $(if $(FULL),--full)

# Ten thousand damaged inputs for every reader of files; `make test` takes a hundred.
fuzz: install
	FUZZ=10000 $(BIN)/python -m pytest -n auto tests/fuzz $(wildcard tests/papers/*/test_fuzz.py)

# A hundred kills of a run of every row of the tables of tasks, each of which must go on; `make test`
# takes one.
kills: install
	KILLS=100 $(BIN)/python -m pytest -n auto -k kill tests/training tests/tasks tests/papers

# Sixty statements, broken one at a time: which breaks do the tests of their folder catch? Hours on one
# core; it continues where it stopped. REPLAY=FILE breaks the places of a file of results again.
breaks: install
	$(BIN)/python -m tests.breaks $(if $(REPLAY),--replay $(REPLAY))

# The runs of datasets/results/quick_checks.yaml, trained again and compared: `make results`, or
# `make results NAME=listops-sum-c25`; NAME=--write writes new numbers. NAME=rrnet/mee lists the runs
# of a table of datasets/results, and NAME="rrnet/mee 3" trains the third again.
results: install
	$(BIN)/python -m tests.papers.results $(NAME)

# Settings, parameters, losses, predictions, texts and names next to their records in tests/golden;
# WRITE=1 writes these. NAME="listops lrt" compares presets; BASE=COMMIT trains them with a commit too
# and compares all bits. JOBS=2 trains in two processes.
golden: install
	$(BIN)/python -m tests.golden $(NAME) $(if $(WRITE),--write) $(if $(BASE),--base $(BASE)) \
		$(if $(JOBS),--jobs $(JOBS))

# The site, without the network: begin at build/docs/index.html. SPHINXOPTS="-D nb_execution_mode=off"
# shows the notebooks as they are stored.
docs: install
	$(BIN)/sphinx-build -n -W --keep-going -q -E -j auto -d build/doctrees $(SPHINXOPTS) docs build/docs

# The core's tests with the lowest versions of dependencies that setup.cfg allows, or with the highest,
# each in an environment of its own. torch is that of .ci/constraints.txt in both: PyPI has no build
# of its oldest version for the CPU alone.
oldest: EXTRAS := compile,plots,arrow
newest: EXTRAS := test
oldest newest:
	$(PYTHON) -m venv .venv.$@
	mkdir -p build
	sed -n 's/^[ a-z=]* \([A-Za-z-]*\)>=\([0-9.]*\).*/\1==\2/p' setup.cfg | grep -v torch > build/oldest.txt
	.venv.$@/bin/python -m pip install --quiet --upgrade --constraint .ci/constraints.txt \
		$(if $(filter oldest,$@),--constraint build/oldest.txt) --editable ".[$(EXTRAS)]" \
		hypothesis nltk pandas pytest pytest-benchmark pytest-xdist tensorly
	.venv.$@/bin/python -m pytest -q tests --ignore tests/papers --ignore tests/benchmarks --ignore tests/gpu \
		--ignore tests/test_names.py # NumPy's types have another text in each version

# The external links of the site; needs the network.
linkcheck: install
	$(BIN)/sphinx-build -b linkcheck -d build/doctrees -D nb_execution_mode=off docs build/linkcheck

# README.md with the outputs of its code, its tables and its picture.
readme: install
	$(BIN)/python -m tests.papers.readme

# What is released: a source distribution and a wheel, in build/dist.
dist: install
	rm -rf build/dist
	$(BIN)/python -m build --no-isolation --outdir build/dist . > build/dist.log

# The wheel, installed where nothing else is, runs README outside of the clone.
wheel: dist
	rm -rf build/wheel
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip install --quiet --no-compile --constraint .ci/constraints.txt build/dist/*.whl
	cd build && wheel/bin/python ../tests/papers/readme.py --check

# Every other interpreter at hand reads every file, and shows the help, which needs no other package.
PYTHONS ?= $(wildcard $(HOME)/.pyenv/versions/3.*/bin/python)
pythons:
	@for python in $(PYTHONS); do \
		$$python -c 'import sys; sys.exit(sys.version_info < (3, 10))' || continue; \
		$$python --version && $$python -W error -B -m dgltrees --help > /dev/null && \
		$$python -W error -c 'import pathlib, sys; [compile(path.read_bytes(), str(path), "exec") \
			for room in ("dgltrees", "tests") for path in pathlib.Path(room).rglob("*.py")]' || exit 1; \
	done

clean:
	rm -rf $(VENV) demo build *.egg-info

# Speed, as ratios within one run, and memory; tables stand at the end. torch_geometric and dyNET38
# take part where they are installed. OMP_NUM_THREADS says how many cores.
bench: install
	$(BIN)/python -m pytest tests/benchmarks $(wildcard tests/papers/*/test_*_benchmark.py) \
		--override-ini addopts= --benchmark-only \
		--benchmark-columns=median,min,rounds --benchmark-sort=mean -W default -q

# Imports, first fits and predictions, in seconds, next to torch and scikit-learn alone.
bench-start: install
	$(BIN)/python -m tests.benchmarks.start

# Our estimators next to flat features on nine tasks, whose files are in the folder DGLTREES_DATA;
# LightGBM and tree-sitter's C++ take part. Hours on one core; it continues where it stopped.
custom-trees: install
	$(BIN)/python -m pip install --quiet lightgbm tree-sitter-cpp
	$(BIN)/python -m tests.benchmarks.custom_trees

# On a machine with CUDA: the laws of every cell there, then nodes a second beside torch's LSTM and
# the CPU. Without one the laws say that they are skipped, and the table stops in a line.
gpu: install
	$(BIN)/python -m pytest tests/gpu $(wildcard tests/papers/*/test_gpu.py) -rs
	$(BIN)/python -m tests.benchmarks.device
