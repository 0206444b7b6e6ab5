"""Vectors of a pretrained encoder for the words of sentences and of trees."""

# ruff: noqa: F811  (fixtures)

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dgltrees import ConfigError, Forest, TreeError, load
from dgltrees.models import GivenVectors
from dgltrees.models.pretrained import PretrainedEncoder
from dgltrees.papers.nti.tasks.pairs import NLI
from dgltrees.papers.nti.tasks.settings import SentenceSettings
from dgltrees.papers.nti.tasks.sst import SST, SST_PHRASES
from dgltrees.papers.nti.tasks.words import VECTOR
from dgltrees.settings.layers import Settings, layered
from dgltrees.tasks.splits import load_examples, load_splits
from dgltrees.training.run import train
from tests.models.test_pretrained import folder  # noqa: F401  (a fixture)
from tests.tasks.build import build
from tests.tasks.test_pretrained import (
    assert_kept_with_the_run,
    encoder,  # noqa: F401  (a fixture)
)
from tests.training.samples import quick

LINES = "entailment\t( a ( Abc d ) )\t( a d )\nneutral\t( e d )\t( ( a b ) e )\n"


@pytest.fixture
def data(folder: Path, tmp_path: Path) -> SentenceSettings:
    """Settings of two pairs to learn from, which are the ones to watch too."""
    train = tmp_path / "train.txt"
    train.write_text(LINES)
    return SentenceSettings(
        train=str(train), valid=str(train), lower=True, min_freq=2, pretrained=str(folder)
    )


def test_words_have_the_vectors_of_the_encoder_rare_ones_and_capitals_too(
    data: SentenceSettings, folder: Path
) -> None:
    splits = load_splits(NLI, data)
    encoder = PretrainedEncoder(folder)
    expected = encoder([["a", "Abc", "d"], ["a", "d"], ["e", "d"], ["a", "b", "e"]])
    for part in splits.all:
        torch.testing.assert_close(torch.from_numpy(part.forest.columns[VECTOR]), expected)
    assert "Abc" not in splits.train.forest.vocabs["word"].names


SIZES = {"words": "pretrained", "embedding": 8, "hidden_size": 6, "head_hidden_sizes": [5]}


@pytest.mark.parametrize("encoder", ["nti", "lstm"])
def test_a_model_reads_the_vectors(data: SentenceSettings, encoder: str) -> None:
    train = load_splits(NLI, data).train
    model = build(NLI, train, **SIZES, encoder=encoder)
    NLI.init_from_data(model, data, train)
    assert NLI.parameters(model)["cell"] == sum(p.numel() for p in model.parameters())
    batch, targets = NLI.batch(train, np.arange(2))
    NLI.losses(model, batch, targets).sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_phrases_are_learned_and_whole_sentences_evaluated(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "trees.txt"
    path.write_text("(3 (2 a) (4 (2 d) (2 e)))\n")
    settings = SST_PHRASES.data(train=str(path), pretrained=str(folder))
    phrases = load_examples(SST_PHRASES, settings, [path])
    assert phrases.forest.columns[VECTOR].shape == (8, 8)  # 1 + 1 + 1 + 2 + 3 words
    for vocabulary in phrases.schema.values():
        vocabulary.freeze()
    whole = load_examples(SST_PHRASES, settings, [path], phrases.schema)
    expected = PretrainedEncoder(folder)([["a", "d", "e"]])
    torch.testing.assert_close(torch.from_numpy(whole.forest.columns[VECTOR]), expected)


@pytest.mark.parametrize(
    ("model", "changes", "message"),
    [
        ({"words": "table"}, {}, "together, got only data.pretrained"),
        ({}, {"pretrained": None}, "got only model.words pretrained"),
        ({"embedding": 7}, {}, "expected model.embedding 8.*got 7"),
        ({}, {"vectors": "train.txt"}, "no data.vectors with data.pretrained"),
    ],
)
def test_settings_that_do_not_fit(
    data: SentenceSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    model: dict[str, Any],
    changes: dict[str, Any],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    train = load_splits(NLI, data).train
    built = build(NLI, train, **{**SIZES, **model})
    with pytest.raises(ConfigError, match=message):
        NLI.init_from_data(built, replace(data, **changes), train)


def test_given_vectors_of_another_size_are_refused() -> None:
    batch = Forest.build([-1], columns={"v": np.zeros((1, 3), np.float32)}).batch([0])
    assert GivenVectors("v", 3)(batch).shape == (1, 3)
    with pytest.raises(TreeError, match=r"'v' of shape \(N, 4\), got \(1, 3\)"):
        GivenVectors("v", 4)(batch)
    with pytest.raises(TreeError, match="'w' of shape .*, got only"):
        GivenVectors("w", 3)(batch)


TREES = "(3 (2 a) (4 (2 Abc) (2 d)))\n(1 (1 e) (2 d))\n"


@pytest.fixture
def sst(folder: Path, tmp_path: Path) -> Path:
    path = tmp_path / "trees.txt"
    path.write_text(TREES)
    return path


def test_leaves_have_the_vectors_of_their_sentence_rare_words_too(sst: Path, folder: Path) -> None:
    data = SST.data(train=str(sst), valid=str(sst), min_freq=2, pretrained=str(folder))
    splits = load_splits(SST, data)
    expected = PretrainedEncoder(folder)([["a", "Abc", "d"], ["e", "d"]])
    for part in splits.all:
        vectors = torch.from_numpy(part.forest.columns[VECTOR])
        is_leaf = torch.from_numpy(part.forest.degree == 0)
        torch.testing.assert_close(vectors[is_leaf], expected)
        assert not vectors[~is_leaf].any()
    assert "Abc" not in splits.train.schema["word"].names


def tree_settings(sst: Path, folder: Path, **changes: Any) -> Settings:
    settings = quick("sst-tree", {"train": str(sst), "valid": str(sst), "min_freq": 1})
    model = {"words": "pretrained", "embedding": 8, "hidden_size": 4}
    sections = {"data": {"pretrained": str(folder)}, "model": model}
    return Settings(layered(layered(settings.to_dict(), sections), changes))


@pytest.mark.parametrize("bidirectional", [False, True])
def test_trees_are_learned_and_predicted_with_them(
    sst: Path, folder: Path, tmp_path: Path, bidirectional: bool
) -> None:
    settings = tree_settings(sst, folder, model={"bidirectional": bidirectional})
    train(settings, tmp_path / "run")
    assert len(list(load(tmp_path / "run").predict([sst]))) == 2


def test_settings_of_trees_that_do_not_fit(sst: Path, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected model.embedding 8.*got 7"):
        train(tree_settings(sst, folder, model={"embedding": 7}), tmp_path / "run")


def test_an_encoder_is_kept_with_the_run(sst: Path, encoder: Path, tmp_path: Path) -> None:
    assert_kept_with_the_run(tree_settings(sst, encoder), sst, encoder, tmp_path)
