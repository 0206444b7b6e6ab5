"""Presets of every cell after two epochs on a few examples, with cells compiled where they can be.

Compiled sums are of another order, and their dropout is drawn otherwise than ``trained`` has it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from tests.golden.rows import rounded
from tests.golden.trained import train

PRESETS = [
    *("boolsent", "boolsent-symmetric", "classify", "classify-pairs", "inex", "label", "rank"),
    *("listops-full-c3", "listops-hosvd-c10-r3", "listops-canonical-c50-r20", "listops-sum-c25"),
    *("listops-one-hot-hosvd-c20-r3", "listops-rnn-hosvd-c20-r3", "listops-tensor-train-c50-r4"),
    *("listops-symmetric-hosvd-c20-r3", "logic-rrnet", "logic-tree", "logic-bilstm"),
    *("lrt-full-c10", "lrt-hosvd-c20-r5", "lrt-sum-c10", "lrt-tensor-train-c50-r20", "mee"),
    *("mee-reinforce", "parser", "ptb-small", "regress", "regress-nodes", "regress-pairs"),
    *("sick", "sick-fullmatching-global", "sick-node-global", "sick-rrnet", "sick-slstm"),
    *("snli-slstm-lstm-node-tree", "sst-phrases-small", "sst-tree", "tree-lm", "tree-lm-ld"),
    "wikiqa-small",
]


def record() -> dict[str, Any]:
    """A row for each preset: the metrics of each epoch, and the norms of all weights."""
    rows = {}
    for name in PRESETS:
        with tempfile.TemporaryDirectory() as folder:
            metrics, weights = train(name, Path(folder) / "run")
        norms = {key: float(tensor.double().norm()) for key, tensor in weights.items()}
        rows[name] = {"epochs": rounded(metrics, 4), "norms": rounded(norms, 4)}
    return rows
