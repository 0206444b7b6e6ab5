"""Nearest trees, and the vectors that they are compared by."""

import json
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from dgltrees import ConfigError, load
from dgltrees.analyses.similar_trees import similar_trees
from dgltrees.cli import main
from tests.training.samples import SAMPLES

PLANS = str(SAMPLES / "plans" / "train.jsonl")
QUICK = "--training.epochs 1 --model.hidden_size 4 --model.embedding 4 --data.baselines false"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = str(tmp_path_factory.mktemp("similar") / "run")
    layout = "--data.tree_path plan --data.children_key Plans --data.target seconds"
    words = [*layout.split(), *QUICK.split(), "--data.train", PLANS, "--out", out]
    assert main(["train", "regress", *words]) == 0
    return out


def test_neighbours_are_the_trees_of_nearest_vectors(run: str) -> None:
    loaded = load(run)
    h = loaded.encode([PLANS]).astype(float)
    cosine = (h @ h.T) / np.linalg.norm(h, axis=1)[:, None] / np.linalg.norm(h, axis=1)
    np.fill_diagonal(cosine, -np.inf)
    for row in similar_trees(loaded, [PLANS], [3, 7], number=4):
        expected = np.sort(cosine[row["query"]])[::-1][:4]
        assert [each["cosine"] for each in row["nearest"]] == pytest.approx(expected, abs=1e-5)
        assert row["query"] not in [each["example"] for each in row["nearest"]]
    (row,) = similar_trees(loaded, [PLANS], [0], number=1000)
    assert len(row["nearest"]) == len(h) - 1


def test_the_command(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["similar", run, "--input", PLANS, "--query"]
    assert main([*argv, "5", "1", "--number", "2"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["query"], len(line["nearest"])) for line in lines] == [(5, 2), (1, 2)]
    for wrong in (["a"], ["1", "--of", "phrases"]):
        assert main([*argv, *wrong]) == 2
        assert "expected --query to be indices of trees" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="expected queries from 0 to 59, got 60"):
        similar_trees(load(run), [PLANS], [60])
    with pytest.raises(ConfigError, match="expected queries and a number"):
        similar_trees(load(run), [PLANS], [])


def test_vectors_as_parquet_equal_those_as_npy(
    run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["encode", run, "--input", PLANS, "--batch_size", "25", "--out"]
    for name in ("v.npy", "v.parquet"):
        assert main([*argv, str(tmp_path / name)]) == 0
    table = parquet.read_table(tmp_path / "v.parquet")
    assert table["example"].to_pylist() == list(range(60))
    np.testing.assert_array_equal(table["vector"].to_pylist(), np.load(tmp_path / "v.npy"))
    assert main([*argv, str(tmp_path / "v.csv")]) == 2
    assert "expected --out to end in .npy or .parquet, got" in capsys.readouterr().err
