import os
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from dgltrees.errors import ConfigError, TreeError
from dgltrees.models import FineTunedWords, SubwordEncoder
from dgltrees.models.fine_tuned import PretrainedEncoder, fine_tuned_parameters, freeze_layers
from dgltrees.models.subwords import SubwordTokenizer, read_transformer
from dgltrees.trees import Forest

PARTS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "##b", "##c", "d", "e"]
SENTENCES = [["a", "abc"], ["d"], ["e", "d", "ab", "a"]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small encoder with random weights, saved as Hugging Face does."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    pytest.importorskip("transformers", reason="needs transformers")
    from transformers import BertConfig, BertModel, BertTokenizerFast

    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("encoder")
    (path / "vocab.txt").write_text("\n".join(PARTS) + "\n")
    tokenizer = BertTokenizerFast.from_pretrained(path, model_max_length=12)
    tokenizer.save_pretrained(path)
    config = BertConfig(
        vocab_size=len(PARTS),
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=12,
    )
    BertModel(config).save_pretrained(path)
    return path


def _by_hand(path: Path, ids: list[int], spans: list[tuple[int, int]]) -> torch.Tensor:
    """Vectors of one sentence from the ids of its sub-words, without a tokenizer."""
    from transformers import BertModel

    model = BertModel.from_pretrained(path).eval()
    with torch.no_grad():
        states = model(torch.tensor([[2, *ids, 3]])).last_hidden_state[0]
    return torch.stack([states[1 + start : 1 + stop].mean(0) for start, stop in spans])


def test_a_word_has_the_mean_of_its_parts(folder: Path) -> None:
    found = PretrainedEncoder(folder)(SENTENCES)
    expected = [
        _by_hand(folder, [4, 4, 5, 6], [(0, 1), (1, 4)]),
        _by_hand(folder, [7], [(0, 1)]),
        _by_hand(folder, [8, 7, 4, 5, 4], [(0, 1), (1, 2), (2, 4), (4, 5)]),
    ]
    torch.testing.assert_close(found, torch.cat(expected))


def test_batches_change_nothing_and_nothing_is_trained(folder: Path) -> None:
    encoder = PretrainedEncoder(folder)
    one_by_one = [encoder([sentence]) for sentence in SENTENCES]
    torch.testing.assert_close(torch.cat(one_by_one), encoder(SENTENCES))
    assert encoder.size == 8
    assert not encoder(SENTENCES).requires_grad
    assert encoder([]).shape == (0, 8)


def test_a_word_without_parts_has_zeros(folder: Path) -> None:
    found = PretrainedEncoder(folder)([["a", "\u200b", "d"]])
    assert not found[1].any()
    assert found[0].any()
    assert found[2].any()


def test_too_long(folder: Path) -> None:
    with pytest.raises(ConfigError, match="at most 12 sub-words.*got 15 in one of 13 words"):
        PretrainedEncoder(folder)([["a"] * 13, ["d"]])


def test_folders_that_are_not_encoders(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="with the config.json of a pretrained encoder, got"):
        PretrainedEncoder(tmp_path / "none")
    (tmp_path / "config.json").write_text((folder / "config.json").read_text())
    with pytest.raises(ConfigError, match="missing weights as .safetensors"):
        PretrainedEncoder(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"none")
    with pytest.raises(ConfigError, match="cannot be loaded"):
        PretrainedEncoder(tmp_path)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ConfigError, match=r"pip install 'dgltrees\[transformers\]'"):
        PretrainedEncoder(folder)


def encoder_of(folder: Path) -> SubwordEncoder:
    encoder = SubwordEncoder(8)
    encoder.attach(SubwordTokenizer(folder), read_transformer(folder))
    return encoder.eval()


def test_sub_words_of_words_and_texts(folder: Path) -> None:
    tokenizer = SubwordTokenizer(folder)
    assert (tokenizer.before, tokenizer.after, tokenizer.pad) == ([2], [3], 0)
    assert tokenizer.names.names == [*PARTS, "[MASK]"]
    words = tokenizer.words([["a", "abc"], ["\u200b", "d"]])
    assert words.tolist() == [[4, -1, -1], [4, 5, 6], [-1, -1, -1], [7, -1, -1]]
    assert tokenizer.texts(["d ab", "e"]).tolist() == [[2, 7, 4, 5, 3], [2, 8, 3, -1, -1]]
    assert tokenizer.texts(["a " * 20]).shape == (1, 12)  # what the encoder reads
    assert tokenizer.words([]).shape == (0, 1)


def test_vectors_are_those_of_the_encoder_and_have_gradients(folder: Path) -> None:
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


def test_trees_of_which_some_nodes_have_words(folder: Path) -> None:
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
def test_lower_layers_can_stay(folder: Path, layers: int, frozen: set[str]) -> None:
    transformer = read_transformer(folder)
    freeze_layers(transformer, layers)
    parts = ("embeddings", "encoder.layer.0", "encoder.layer.1")
    for part in parts:
        trained = {p.requires_grad for n, p in transformer.named_parameters() if n.startswith(part)}
        assert trained == {part not in frozen}
    with pytest.raises(ConfigError, match="data.frozen_layers to be below 2.*got 2"):
        freeze_layers(transformer, 2)
