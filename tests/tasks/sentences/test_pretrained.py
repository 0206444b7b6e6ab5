from __future__ import annotations

import pytest
import torch

from dgltrees.errors import ConfigError, TreeError
from dgltrees.models import GivenVectors
from dgltrees.models.pretrained import PretrainedEncoder
from dgltrees.tasks.sentences.pretrained import VECTOR
from dgltrees.tasks.settings import DataSettings, ModelSettings
from dgltrees.tasks.splits import load_examples, load_splits, vocabularies
from dgltrees.tasks.table import get_task
from tests.models.test_pretrained import folder  # noqa: F401  (a fixture)

LINES = "entailment\t( a ( Abc d ) )\t( a d )\nneutral\t( e d )\t( ( a b ) e )\n"


@pytest.fixture
def data(folder, tmp_path):  # noqa: F811
    """Settings of two pairs to learn from, one of them to watch, and their files."""
    train = tmp_path / "train.txt"
    train.write_text(LINES)
    return DataSettings(
        train=str(train), valid=str(train), lower=True, min_count=2, pretrained=str(folder)
    )


def test_words_have_the_vectors_of_the_encoder_rare_ones_and_capitals_too(data, folder):  # noqa: F811
    splits = load_splits(get_task("snli"), data)
    encoder = PretrainedEncoder(folder)
    expected = encoder([["a", "Abc", "d"], ["a", "d"], ["e", "d"], ["a", "b", "e"]])
    for part in splits.all:
        torch.testing.assert_close(torch.from_numpy(part.forest.columns[VECTOR]), expected)
    assert "Abc" not in splits.train.forest.vocabs["word"].names


@pytest.mark.parametrize("encoder", ["nti", "lstm"])
def test_a_model_reads_them(data, encoder):
    task = get_task("snli")
    splits = load_splits(task, data)
    settings = ModelSettings(
        gate="s_lstm",
        encoder=encoder,
        words="pretrained",
        embedding=8,
        hidden_size=6,
        head=[5],
        branching=2,
    )
    model = task.build(settings, vocabularies(splits.train))
    task.start(model, data, splits.train)
    assert task.parameters(model)["table"] == sum(p.numel() for p in model.parameters())
    batch, targets = task.batch(splits.train, torch.arange(2).numpy())
    task.losses(model, batch, targets).sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_whole_sentences_of_a_treebank(folder, tmp_path):  # noqa: F811
    path = tmp_path / "trees.txt"
    path.write_text("(3 (2 a) (4 (2 d) (2 e)))\n")
    settings = DataSettings(train=str(path), pretrained=str(folder))
    task = get_task("sst-phrases")
    phrases = load_examples(task, settings, [path])
    assert phrases.forest.columns[VECTOR].shape == (8, 8)  # 1 + 1 + 1 + 2 + 3 words
    for vocabulary in vocabularies(phrases).values():
        vocabulary.freeze()
    whole = load_examples(task, settings, [path], vocabularies(phrases))
    expected = PretrainedEncoder(folder)([["a", "d", "e"]])
    torch.testing.assert_close(torch.from_numpy(whole.forest.columns[VECTOR]), expected)


@pytest.mark.parametrize(
    ("model", "changes", "text"),
    [
        ({}, {}, "together, got only data.pretrained"),
        ({"words": "pretrained"}, {"pretrained": None}, "got only model.words pretrained"),
        ({"words": "pretrained", "embedding": 7}, {}, "expected model.embedding 8.*got 7"),
        ({"words": "pretrained"}, {"vectors": "train.txt"}, "no data.vectors with data.pretrained"),
    ],
)
def test_settings_that_do_not_fit(data, tmp_path, monkeypatch, model, changes, text):
    monkeypatch.chdir(tmp_path)
    task = get_task("snli")
    splits = load_splits(task, data)
    for name, value in changes.items():
        setattr(data, name, value)
    options = {"gate": "s_lstm", "embedding": 8, "hidden_size": 6, "head": [5], **model}
    made = task.build(ModelSettings(**options), vocabularies(splits.train))
    with pytest.raises(ConfigError, match=text):
        task.start(made, data, splits.train)


def test_given_vectors_of_another_size():
    from dgltrees.trees import Forest

    batch = Forest.build([-1], columns={"v": torch.zeros(1, 3).numpy()}).batch([0])
    assert GivenVectors("v", 3)(batch).shape == (1, 3)
    with pytest.raises(TreeError, match=r"'v' of shape \(N, 4\), got \(1, 3\)"):
        GivenVectors("v", 4)(batch)
    with pytest.raises(TreeError, match="'w' of shape .*, got only"):
        GivenVectors("w", 3)(batch)
