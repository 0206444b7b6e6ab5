"""Every preset after two epochs on a few examples, on one thread, with no cell compiled."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from safetensors.torch import load_file

from dgltrees.cells.compiled.kernels import compiled
from dgltrees.settings.catalog import preset_names
from tests.golden.rows import rounded, run, sha
from tests.golden.samples import WITHOUT_DATA, flags, values

LIMIT = 40
SLOW = {"lrt-full-c100", "ptb", "ptb-recur", "ptb-trees-reinforce"}
"""Presets that read half as many examples."""


def record() -> dict[str, Any]:
    """A row for each preset: the metrics of each epoch, and a hash of all weights."""
    rows = {}
    for name in preset_names():
        if name != WITHOUT_DATA:
            with tempfile.TemporaryDirectory() as folder, compiled(False):
                metrics, weights = train(name, Path(folder) / "run")
            whole = "".join(f"{name} {sha(weights[name], 16)}\n" for name in sorted(weights))
            rows[name] = {"epochs": rounded(metrics, 6), "weights": sha(whole, 16)}
    return rows


def train(preset: str, out: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Metrics by epoch, and weights by name, of two epochs.

    Raises:
        RuntimeError: the command failed.
    """
    limit = LIMIT // 2 if preset in SLOW else LIMIT
    layer = values(preset, limit, epochs=2, batch_size=10)
    printed = run(["train", preset, *flags(layer), "--out", str(out)])
    if "status" in printed:
        raise RuntimeError(f"{preset}: {printed['err']}")
    lines = (out / "metrics.jsonl").read_text("utf-8").splitlines()
    metrics = [json.loads(line) for line in lines]
    for each in metrics:
        del each["checksum"]  # of files whose layout may change; the weights are compared
    return metrics, load_file(out / "weights.safetensors")
