from __future__ import annotations

from pathlib import Path

from dgltrees.training.loaded import load
from dgltrees.training.run import train
from tests.training.samples import SAMPLES, quick


def test_nodes_are_reported_beside_roots(tmp_path: Path) -> None:
    result = train(quick("sst-tree"), tmp_path / "run")["valid"]
    assert {"root_accuracy", "node_accuracy", "node_majority", "nodes"} <= set(result)
    assert result["accuracy"] == result["root_accuracy"]
    line = next(load(tmp_path / "run").predict([SAMPLES / "sst" / "dev.txt"]))
    assert line["prediction"] in line["nodes"]
