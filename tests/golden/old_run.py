"""What the runs in ``run``, which an older state of the package has trained, predict.

They were made by::

    train classify --data.train datasets/samples/plans/train.jsonl --data.tree plan
        --data.children Plans --data.target speed --out tests/golden/run/classify
    train mee --data.root datasets/samples --out tests/golden/run/mee

each with ``--model.hidden_size 8 --model.embedding 4 --training.epochs 3 --training.batch_size 10
--training.accelerator cpu`` and no cell compiled.
"""

from __future__ import annotations

import json
from typing import Any

from dgltrees.cells.compiled.kernels import compiled
from tests.golden.rows import FOLDER, SAMPLES, rounded, run

FILES = {"classify": SAMPLES / "plans" / "train.jsonl", "mee": SAMPLES / "mee" / "test5.tsv"}
DIGITS = 5


def record() -> dict[str, Any]:
    """Predictions and metrics of both runs, rounded."""
    rows = fast()
    for name, file in FILES.items():
        rows[f"{name}: predict"] = rounded(_lines("predict", name, "--input", str(file)), DIGITS)
        rows[f"{name}: evaluate"] = rounded(_lines("evaluate", name, "--test", str(file)), DIGITS)
    return rows


def fast() -> dict[str, Any]:
    """The predicted classes alone, which hardly depend on rounding."""
    lines = {name: _lines("predict", name, "--input", str(file)) for name, file in FILES.items()}
    return {
        f"{name}: classes": [line["prediction"] for line in lines[name]] for name in sorted(lines)
    }


def _lines(command: str, name: str, *flags: str) -> list[dict[str, Any]]:
    with compiled(False):
        printed = run([command, str(FOLDER / "run" / name), *flags])
    if set(printed) != {"out"}:
        raise RuntimeError(f"{name}: {printed}")
    return [json.loads(line) for line in printed["out"].splitlines()]
