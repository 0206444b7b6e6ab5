from __future__ import annotations

import math

import pytest
import torch
from torch.testing import assert_close

from dgltrees.errors import TreeError
from dgltrees.papers.nti.models.pairs import SharedWordCount, split_pairs
from tests.papers.nti.models.worlds import make, texts


def test_the_answer_composes_the_question() -> None:
    model = make("answers")
    encoder, one, other = model.encoder, texts([4, 3]), texts([4, 3])
    other.ndata["word"][4:] = (one.ndata["word"][4:] + 1) % 20  # another answer
    questions = [encoder(batch).first for batch in (one, other)]
    assert_close(questions[0].states[:4], questions[1].states[:4])  # leaves do not see it
    assert (questions[0].roots - questions[1].roots).abs().max() > 0
    question, _ = split_pairs(encoder.input(one), one)
    encoding = encoder.question.encode(question, query=encoder(one).second.roots)
    assert_close(encoding.states, questions[0].states)
    assert model(one).shape == (1, 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_shared_words_are_counted(dtype: torch.dtype) -> None:
    batch = texts([3, 2, 1, 2])
    batch.ndata["shared"] = torch.tensor([1, 0, 1, 1, 1, 0, 0, 0])
    want = torch.tensor([[math.log(3)], [math.log(3)], [0.0], [0.0]], dtype=dtype)
    assert_close(SharedWordCount("shared").to(dtype)(batch), want)
    with pytest.raises(TreeError, match="expected a node column 'common', got only"):
        SharedWordCount("common")(batch)
