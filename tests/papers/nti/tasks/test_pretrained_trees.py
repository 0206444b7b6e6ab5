"""Vectors of a pretrained encoder for the words of trees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from dgltrees import load
from dgltrees.errors import ConfigError
from dgltrees.models.pretrained import PretrainedEncoder
from dgltrees.papers.nti.tasks.sst import SST
from dgltrees.settings.layers import Settings, layered
from dgltrees.tasks.pretrained import VECTOR
from dgltrees.tasks.splits import load_splits
from dgltrees.training.run import train
from tests.models.test_pretrained import folder  # noqa: F401  (a fixture)
from tests.training.samples import quick

TREES = "(3 (2 a) (4 (2 Abc) (2 d)))\n(1 (1 e) (2 d))\n"


@pytest.fixture
def sst(folder: Path, tmp_path: Path) -> Path:  # noqa: F811
    path = tmp_path / "trees.txt"
    path.write_text(TREES)
    return path


def test_leaves_have_the_vectors_of_their_sentence_rare_words_too(
    sst: Path,
    folder: Path,  # noqa: F811
) -> None:
    data = SST.data(train=str(sst), valid=str(sst), min_count=2, pretrained=str(folder))
    splits = load_splits(SST, data)
    expected = PretrainedEncoder(folder)([["a", "Abc", "d"], ["e", "d"]])
    for part in splits.all:
        vectors = torch.from_numpy(part.forest.columns[VECTOR])
        is_leaf = torch.from_numpy(part.forest.degree == 0)
        torch.testing.assert_close(vectors[is_leaf], expected)
        assert not vectors[~is_leaf].any()
    assert "Abc" not in splits.train.schema["word"].names


def tree_settings(sst: Path, folder: Path, **changes: Any) -> Settings:  # noqa: F811
    settings = quick("sst-tree", {"train": str(sst), "valid": str(sst), "min_count": 1})
    model = {"words": "pretrained", "embedding": 8, "hidden_size": 4}
    sections = {"data": {"pretrained": str(folder)}, "model": model}
    return Settings(layered(layered(settings.to_dict(), sections), changes))


@pytest.mark.parametrize("bidirectional", [False, True])
def test_trees_are_learned_and_predicted_with_them(
    sst: Path,
    folder: Path,  # noqa: F811
    tmp_path: Path,
    bidirectional: bool,
) -> None:
    settings = tree_settings(sst, folder, model={"bidirectional": bidirectional})
    train(settings, tmp_path / "run")
    assert len(list(load(tmp_path / "run").predict([sst]))) == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": {"words": "table"}}, "together, got only data.pretrained"),
        ({"data": {"pretrained": None}}, "got only model.words pretrained"),
        ({"model": {"embedding": 7}}, "expected model.embedding 8.*got 7"),
    ],
)
def test_settings_that_do_not_fit(
    sst: Path,
    folder: Path,  # noqa: F811
    tmp_path: Path,
    changes: dict[str, Any],
    message: str,
) -> None:
    with pytest.raises(ConfigError, match=message):
        train(tree_settings(sst, folder, **changes), tmp_path / "run")
