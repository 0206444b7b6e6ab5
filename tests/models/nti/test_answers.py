from __future__ import annotations

import math

import pytest
import torch
from torch.testing import assert_close

from dgltrees.errors import TreeError
from dgltrees.models.nti import AnswerSelector, word_counts
from tests.models.nti.worlds import make, texts


def test_the_answer_composes_the_question() -> None:
    model: AnswerSelector = make("answers")
    one, other = texts([4, 3]), texts([4, 3])
    other.ndata["word"][4:] = (one.ndata["word"][4:] + 1) % 20  # another answer
    questions = [model.encode(batch)[0] for batch in (one, other)]
    assert_close(questions[0].h[:4], questions[1].h[:4])  # leaves do not see it
    assert (questions[0].roots - questions[1].roots).abs().max() > 0
    answer = model.encode(one)[1]
    assert_close(model.question(model_input(model, one), query=answer.roots).h, questions[0].h)
    assert model(one).shape == (1, 1)


def model_input(model: AnswerSelector, batch: object) -> object:
    from dgltrees.models.nti.sentences import pairs

    return pairs(model.input(batch), batch)[0]


def test_word_counts() -> None:
    batch = texts([3, 2, 1, 2])
    batch.ndata["shared"] = torch.tensor([1, 0, 1, 1, 1, 0, 0, 0])
    want = torch.tensor([[math.log(3), math.log(3)], [0.0, 0.0]])
    assert_close(word_counts(batch, "shared"), want, check_dtype=False)
    with pytest.raises(TreeError, match="expected a node column 'common', got only"):
        word_counts(batch, "common")
