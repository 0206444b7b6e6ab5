"""Sentence completion: the candidate that makes the likeliest sentence.

Zhang, Lu and Lapata, "Top-down Tree Long Short-Term Memory Networks" (NAACL 2016), section 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.analyses.require import require
from dgltrees.errors import ConfigError
from dgltrees.formats import tokenize
from dgltrees.formats.sentences import Sentence, sentence_forest
from dgltrees.papers.top_down.analyses.parse import parse
from dgltrees.papers.top_down.analyses.scoring import language_model, log_probs
from dgltrees.papers.top_down.data.questions import Question
from dgltrees.papers.top_down.models.biaffine import BiaffineParser
from dgltrees.papers.top_down.models.tree_lm import TreeLM
from dgltrees.training.loaded import LoadedRun

__all__ = ["accuracy_of", "answers", "candidate_scores", "check"]

_LETTERS = "abcde"
_TIED = 1e-6
"""Log-probabilities with a smaller relative difference are considered equal."""


def check(run: LoadedRun, parser: LoadedRun | None = None) -> None:
    """See that a language model has the parser that it needs.

    Raises:
        ConfigError: the model reads trees and there is no parser, or a run has another task.
    """
    if not isinstance(language_model(run), TreeLM):
        return
    if parser is None:
        raise ConfigError(
            f"expected a parser, since the language model at {run.directory.path} reads trees, got "
            "none; name its run as parser (--parser DIR)"
        )
    require(parser, parser.model, BiaffineParser, "a parser")


def candidate_scores(
    run: LoadedRun, questions: Sequence[Question], parser: LoadedRun | None = None
) -> NDArray[np.float64]:
    """The log-probabilities of the sentences with each candidate, ``(Q, 5)``.

    For models over trees, every sentence is parsed separately.

    Arguments:
        run: the run of a language model.
        questions: the questions.
        parser: the run of a parser, for models over trees; those over sequences need none.

    Raises:
        ConfigError: the model reads trees and there is no parser, or a run has another task.
    """
    check(run, parser)
    forest = sentence_forest([_sentence(text) for each in questions for text in each.sentences])
    if parser is not None and isinstance(language_model(run), TreeLM):
        forest = parse(parser, forest).forest
    return log_probs(run, forest).reshape(len(questions), len(_LETTERS))


def _sentence(text: str) -> Sentence:
    words = tokenize(text)
    return Sentence(words, [], {}, [0] * len(words), 0, {})


def _likeliest(scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which candidates are the likeliest of their question, ``(Q, 5)`` bool; ties included."""
    return np.asarray(scores >= scores.max(1, keepdims=True) * (1 + _TIED))  # log P is negative


def answers(questions: Sequence[Question], scores: NDArray[np.float64]) -> list[dict[str, Any]]:
    """For each question its ``id``, the ``answer`` and the ``log_probs`` of the candidates.

    If several candidates are the likeliest, such as two unknown words, ``answer`` is null.
    """
    return [
        {
            "id": question.id,
            "answer": _LETTERS[int(best.argmax())] if best.sum() == 1 else None,
            "log_probs": [round(value, 6) for value in row.tolist()],
        }
        for question, row, best in zip(questions, scores, _likeliest(scores))
    ]


def accuracy_of(scores: NDArray[np.float64], correct: Sequence[int]) -> dict[str, Any]:
    """The ``accuracy``, and the numbers of ``questions``, ``correct`` answers and ``ties``.

    A tie is a question with several likeliest candidates and does not count as correct.

    Arguments:
        scores: ``(Q, 5)``, the result of :func:`candidate_scores`.
        correct: the index of the right candidate of each question, from 0.
    """
    best = _likeliest(scores)
    ties = best.sum(1) > 1
    hits = int((~ties & (best.argmax(1) == np.array(correct))).sum())
    return {
        "accuracy": hits / len(correct),
        "correct": hits,
        "ties": int(ties.sum()),
        "questions": len(correct),
    }
