"""How long it takes from nothing to a result: ``make bench-start``.

Every row is a new process with an empty cache of compiled code; the first two rows are what torch
and scikit-learn take alone. Trees are dictionaries of some ten nodes, drawn from a seed.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

TREES, EPOCHS, SIZES, REPEATS = 200, 3, (8, 16, 24, 32, 48, 64), 3


def trees(count: int) -> list[dict[str, Any]]:
    """Nested dictionaries with a name and a number in every node."""
    rng = np.random.default_rng(0)

    def tree(depth: int) -> dict[str, Any]:
        node = {"op": "abcdef"[rng.integers(6)], "rows": float(rng.random())}
        children = [tree(depth + 1) for _ in range(rng.integers(0, 4))] if depth < 5 else []
        return {**node, "children": children}

    return [tree(0) for _ in range(count)]


def imports(code: str) -> float:
    """Seconds of processor time that the imports of a new process take, start included."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; import time; print(time.process_time())"],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def fits() -> dict[str, float]:
    """Seconds of fits and predictions in this process, after the imports."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    from dgltrees.estimators import TreeRegressor

    X = trees(TREES)
    y = [float(str(tree).count("op")) for tree in X]
    flat = np.random.default_rng(0).random((TREES, 10))

    def seconds(call: Any, times: int = 1) -> float:
        start = time.perf_counter()
        for _ in range(times):
            call()
        return (time.perf_counter() - start) / times

    model = TreeRegressor(epochs=EPOCHS)
    return {
        "scikit-learn's boosting on ten flat features": seconds(
            lambda: HistGradientBoostingRegressor().fit(flat, y)
        ),
        f"first fit of {TREES} trees, {EPOCHS} epochs": seconds(lambda: model.fit(X, y)),
        "second fit": seconds(lambda: model.fit(X, y)),
        f"{len(SIZES)} hidden sizes": seconds(
            lambda: [TreeRegressor(epochs=EPOCHS, hidden_size=h).fit(X, y) for h in SIZES]
        ),
        "prediction of one tree": seconds(lambda: model.predict(X[:1]), 50),
        "one epoch compiled, with an empty cache": seconds(
            lambda: TreeRegressor(epochs=1, compile=True).fit(X, y)
        ),
    }


def table() -> dict[str, float]:
    """Seconds by row, each the least of some processes."""
    codes = {
        "import torch, sklearn.base": "import torch, sklearn.base",
        "import dgltrees.estimators": "import dgltrees.estimators",
    }
    rows = {name: min(imports(code) for _ in range(REPEATS)) for name, code in codes.items()}
    found: list[dict[str, float]] = []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
            command = [sys.executable, "-m", "tests.benchmarks.start", "fits"]
            done = subprocess.run(
                command, env=environment, stdout=subprocess.PIPE, text=True, check=True
            )
            found.append(json.loads(done.stdout))
    return {**rows, **{name: min(each[name] for each in found) for name in found[0]}}


if __name__ == "__main__":
    if sys.argv[1:] == ["fits"]:
        print(json.dumps(fits()))
    else:
        for name, seconds in table().items():
            print(f"{name:50} {seconds:8.3f} s")
