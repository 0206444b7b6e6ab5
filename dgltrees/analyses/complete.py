"""Sentence completion: the candidate that makes the likeliest sentence.

Zhang, Lu and Lapata, "Top-down Tree Long Short-Term Memory Networks" (NAACL 2016), section 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from dgltrees.analyses.parse import TrainedParser, chains
from dgltrees.analyses.scoring import TrainedLanguageModel
from dgltrees.errors import ConfigError
from dgltrees.formats import Question, tokenize
from dgltrees.formats.sentences import Sentence

__all__ = ["accuracy_of", "answers", "candidate_scores"]

_LETTERS = "abcde"


def candidate_scores(
    model: TrainedLanguageModel,
    questions: Sequence[Question],
    parser: Optional[TrainedParser] = None,
) -> NDArray[np.float64]:
    """``(Q, 5)`` log P of the sentence with each candidate, each parsed on its own.

    Arguments:
        model: the language model.
        questions: the questions.
        parser: for models over trees; those over sequences need none.

    Raises:
        ConfigError: the model reads trees and there is no parser.
    """
    if model.needs_trees and parser is None:
        raise ConfigError(
            f"expected --parser DIR, since the language model at {model.path} reads trees, got none"
        )
    forest = chains([_sentence(text) for one in questions for text in one.sentences])
    if model.needs_trees and parser is not None:
        forest = parser.parse(forest).forest
    return model.log_probs(forest).reshape(len(questions), len(_LETTERS))


def _sentence(text: str) -> Sentence:
    words = tokenize(text)
    return Sentence(words, [], {}, [0] * len(words), 0, {})


def answers(questions: Sequence[Question], scores: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Of each question its ``id``, the ``answer`` and the ``log_probs`` of the candidates."""
    return [
        {
            "id": question.id,
            "answer": _LETTERS[int(row.argmax())],
            "log_probs": [round(value, 6) for value in row.tolist()],
        }
        for question, row in zip(questions, scores)
    ]


def accuracy_of(scores: NDArray[np.float64], right: Sequence[int]) -> dict[str, Any]:
    """``accuracy``, and of how many ``questions`` how many are ``correct``."""
    correct = int((scores.argmax(1) == np.array(right)).sum())
    return {"accuracy": correct / len(right), "correct": correct, "questions": len(right)}
