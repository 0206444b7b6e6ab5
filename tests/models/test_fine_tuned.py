from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from dgltrees.errors import ConfigError, TreeError
from dgltrees.models import FineTunedWords, SubwordEncoder
from dgltrees.models.fine_tuned import PretrainedEncoder, fine_tuned_parameters, freeze_layers
from dgltrees.models.subwords import SubwordTokenizer, read_transformer
from dgltrees.trees import Forest
from tests.models.test_pretrained import PARTS, SENTENCES, folder  # noqa: F401  (a fixture)


def encoder_of(folder: Path) -> SubwordEncoder:  # noqa: F811
    encoder = SubwordEncoder(8)
    encoder.attach(SubwordTokenizer(folder), read_transformer(folder))
    return encoder.eval()


def test_sub_words_of_words_and_texts(folder: Path) -> None:  # noqa: F811
    tokenizer = SubwordTokenizer(folder)
    assert (tokenizer.before, tokenizer.after, tokenizer.pad) == ([2], [3], 0)
    assert tokenizer.names.names == [*PARTS, "[MASK]"]
    words = tokenizer.words([["a", "abc"], ["\u200b", "d"]])
    assert words.tolist() == [[4, -1, -1], [4, 5, 6], [-1, -1, -1], [7, -1, -1]]
    assert tokenizer.texts(["d ab", "e"]).tolist() == [[2, 7, 4, 5, 3], [2, 8, 3, -1, -1]]
    assert tokenizer.texts(["a " * 20]).shape == (1, 12)  # what the encoder reads
    assert tokenizer.words([]).shape == (0, 1)


def test_vectors_are_those_of_the_encoder_and_have_gradients(folder: Path) -> None:  # noqa: F811
    frozen, tuned, tokenizer = (
        PretrainedEncoder(folder),
        encoder_of(folder),
        SubwordTokenizer(folder),
    )
    ids = torch.from_numpy(tokenizer.words(SENTENCES)).long()
    words = tuned.words(ids, torch.tensor([2, 1, 4]))
    torch.testing.assert_close(words, frozen(SENTENCES))
    texts = ["ab ab", "e", "ab ab", "a b c d e"]
    table = torch.from_numpy(tokenizer.texts(texts)).long()
    missing = torch.cat([table, torch.full_like(table[:1], -1)])
    vectors = tuned.texts(missing)
    expected = np.concatenate([frozen.texts(texts), np.zeros((1, 8), np.float32)])
    torch.testing.assert_close(vectors, torch.from_numpy(expected))
    (words.square().sum() + vectors.square().sum()).backward()
    assert all(p.grad is not None and p.grad.any() for p in fine_tuned_parameters(tuned))


def test_trees_of_which_some_nodes_have_words(folder: Path) -> None:  # noqa: F811
    tokenizer = SubwordTokenizer(folder)
    table = np.full((4, 3), -1)
    table[[1, 3]] = tokenizer.words([["abc"], ["d"]])
    vocabs = {"subword": tokenizer.names}
    forest = Forest.build(
        [-1, 0, -1, 0], offsets=[0, 2, 4], columns={"subword": table}, vocabs=vocabs
    )
    inputs = FineTunedWords("subword", 8)
    inputs.encoder = encoder_of(folder)
    vectors = inputs(forest.batch())
    assert not vectors[[0, 2]].any()
    torch.testing.assert_close(vectors[[1, 3]], PretrainedEncoder(folder)([["abc"], ["d"]]))
    with pytest.raises(TreeError, match="expected a node column 'subword', got only"):
        inputs(Forest.build([-1]).batch())


@pytest.mark.parametrize(("layers", "frozen"), [(0, set()), (1, {"embeddings", "encoder.layer.0"})])
def test_lower_layers_can_stay(folder: Path, layers: int, frozen: set[str]) -> None:  # noqa: F811
    transformer = read_transformer(folder)
    freeze_layers(transformer, layers)
    parts = ("embeddings", "encoder.layer.0", "encoder.layer.1")
    for part in parts:
        trained = {p.requires_grad for n, p in transformer.named_parameters() if n.startswith(part)}
        assert trained == {part not in frozen}
    with pytest.raises(ConfigError, match="data.frozen_layers to be below 2.*got 2"):
        freeze_layers(transformer, 2)
