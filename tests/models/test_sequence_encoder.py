from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from dgltrees.models import SequenceEncoder, WordEmbedding
from dgltrees.trees.builders import chains


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
def test_a_batch_equals_its_sentences(layers: int, bidirectional: bool) -> None:
    torch.manual_seed(0)
    forest = chains([3, 1, 5], {"word": torch.randint(7, (9,)).numpy()})
    encoder = SequenceEncoder(
        WordEmbedding("word", 7, 4), 5, layers=layers, bidirectional=bidirectional
    )
    encoding = encoder(forest.batch())
    found = encoding.roots
    assert found.shape == (3, encoder.size)
    for i in range(3):
        one = forest.batch([i])
        states, _ = encoder.lstm(encoder.input(one))
        ends = [states[-1, :5], states[0, 5:]] if bidirectional else [states[-1]]
        assert_close(found[i], torch.cat(ends))
        assert_close(encoding.states[forest.offsets[i] : forest.offsets[i + 1]], states)


def test_dropout_is_for_training_alone() -> None:
    forest = chains([3], {"word": torch.arange(3).numpy()})
    encoder = SequenceEncoder(WordEmbedding("word", 3, 4), 5, dropout=0.5)
    assert not torch.equal(encoder(forest.batch()).roots, encoder(forest.batch()).roots)
    encoder.eval()
    assert_close(encoder(forest.batch()).roots, encoder(forest.batch()).roots)
