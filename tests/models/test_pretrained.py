import os
import sys
from pathlib import Path

import pytest
import torch

from dgltrees.errors import ConfigError
from dgltrees.models.pretrained import PretrainedEncoder

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


def test_texts_have_the_mean_of_their_states_with_special_tokens(folder: Path) -> None:
    from transformers import BertModel

    model = BertModel.from_pretrained(folder).eval()
    texts = ["d ab", "e", "", "d ab", "a " * 20]
    rows = [[2, 7, 4, 5, 3], [2, 8, 3], [2, 3], [2, 7, 4, 5, 3], [2, *[4] * 10, 3]]  # the limit: 12
    with torch.no_grad():
        expected = [model(torch.tensor([row])).last_hidden_state[0].mean(0) for row in rows]
    found = torch.from_numpy(PretrainedEncoder(folder).texts(texts))
    torch.testing.assert_close(found, torch.stack(expected))
