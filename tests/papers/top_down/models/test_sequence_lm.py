"""The sequential language models against reading one word after the other."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from torch import Tensor, nn
from torch.testing import assert_close

from dgltrees import TreeBatch
from dgltrees.papers.top_down.models.language_model import BidirectionalLM, SequenceLM
from tests.trees.dependencies import forest_of, sentences

V, D = 20, 4


def make(kind: type[nn.Module], **options: Any) -> Any:
    torch.manual_seed(0)
    model = kind(V, D, **options).double()
    with torch.no_grad():
        for p in model.parameters():
            p.uniform_(-0.8, 0.8)
    return model


def read(model: Any, direction: int, words: list[int]) -> Tensor:
    """The state after all ``words``."""
    states, _ = model.lstms[direction](model.embed.weight[words].unsqueeze(1))
    return states[-1, 0]


def log_p(model: Any, state: Tensor, word: int) -> Tensor:
    return torch.log_softmax(model.output @ state, 0)[word]


def sentences_of(batch: TreeBatch) -> list[list[int]]:
    return [words.tolist() for words in batch.ndata["word"].split(batch.sizes.tolist())]


@pytest.mark.parametrize("options", [{}, {"layers": 2}, {"tied": True, "embedding": D}])
@given(trees=sentences(max_words=6))
def test_left_to_right(options: dict[str, Any], trees: list[list[int]]) -> None:
    batch = forest_of(trees).batch()
    with torch.no_grad():
        for end in (False, True):
            model = make(SequenceLM, **options, end=end)
            expected = []
            for words in sentences_of(batch):
                targets = [*words[1:], words[0]] if end else words[1:]
                parts = [
                    log_p(model, read(model, 0, words[: t + 1]), w) for t, w in enumerate(targets)
                ]
                expected.append(sum(parts))
            assert_close(model.log_prob(batch), torch.stack(expected))


@pytest.mark.parametrize("options", [{}, {"layers": 2}])
@given(trees=sentences(max_words=6))
def test_from_both_sides(options: dict[str, Any], trees: list[list[int]]) -> None:
    model, batch = make(BidirectionalLM, **options), forest_of(trees).batch()
    with torch.no_grad():
        expected = []
        for words in sentences_of(batch):
            total = torch.zeros(()).double()
            for t in range(1, len(words)):
                before = read(model, 0, words[:t])
                after = read(model, 1, [words[0], *reversed(words[t + 1 :])])
                total += log_p(model, torch.cat([before, after]), words[t])
            expected.append(total)
        assert_close(model.log_prob(batch), torch.stack(expected))


@pytest.mark.parametrize(
    ("kind", "size", "count"),
    [
        (SequenceLM, 300, 29.948),
        (SequenceLM, 400, 40.171),
        (SequenceLM, 450, 45.327),
        (BidirectionalLM, 200, 33.156),
        (BidirectionalLM, 300, 50.094),
        (BidirectionalLM, 400, 67.272),
    ],
)
def test_table_1_counts(kind: type[nn.Module], size: int, count: float) -> None:
    model = kind(65_346, size)
    assert round(sum(p.numel() for p in model.parameters()) / 1e6, 3) == count


def test_parameters_begin_in_a_small_box() -> None:
    for model in (SequenceLM(V, 40), BidirectionalLM(V, 40)):
        for name, p in model.named_parameters():
            assert 0.09 < p.abs().max() <= 0.1, name


def test_dropout_stands_before_the_output_layer() -> None:
    batch = forest_of([[0, 1, 1], [2, 0]]).batch()
    for kind in (SequenceLM, BidirectionalLM):
        model, plain = make(kind, dropout=0.5).train(), make(kind)
        h, kept = model(batch).h, plain(batch).h
        assert ((h == 0) | ((h - 2 * kept).abs() < 1e-12)).all()
        assert 0 < int((h == 0).sum()) < h.numel()
