"""Blanks filled by language models, with and without a parser."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dgltrees import ConfigError
from dgltrees.analyses.complete import accuracy_of, answers, candidate_scores
from dgltrees.analyses.parse import TrainedParser, chains
from dgltrees.analyses.scoring import TrainedLanguageModel
from dgltrees.formats import Question, tokenize
from dgltrees.formats.sentences import Sentence

QUESTIONS = [
    Question("1", "The _____ didn't water the roses.", ["roses", "gardener", "to", "ferry", "."]),
    Question("2", "Ada counted the _____.", ["counted", "zeppelin", "stars", "and", "Late"]),
]


def test_each_candidate_is_a_sentence_of_its_own(
    parser_run: Path, tree_lm_run: Path, sequence_lm_run: Path
) -> None:
    parser = TrainedParser(parser_run)
    for path in (tree_lm_run, sequence_lm_run):
        model = TrainedLanguageModel(path)
        scores = candidate_scores(model, QUESTIONS, parser)
        assert scores.shape == (2, 5)
        for row, question in zip(scores, QUESTIONS):
            for score, text in zip(row, question.sentences):
                words = tokenize(text)
                alone = parser.parse(chains([Sentence(words, [], {}, [0], 0, {})]))
                np.testing.assert_allclose(score, model.log_probs(alone.forest)[0], rtol=1e-4)


def test_a_sequence_model_needs_no_parser(tree_lm_run: Path, sequence_lm_run: Path) -> None:
    model = TrainedLanguageModel(sequence_lm_run)
    assert np.isfinite(candidate_scores(model, QUESTIONS)).all()
    with pytest.raises(ConfigError, match=r"expected --parser DIR, .* reads trees, got none"):
        candidate_scores(TrainedLanguageModel(tree_lm_run), QUESTIONS)


def test_the_likeliest_is_the_answer() -> None:
    scores = np.log(np.array([[0.1, 0.4, 0.2, 0.2, 0.1], [0.3, 0.1, 0.2, 0.2, 0.2]]))
    found = answers(QUESTIONS, scores)
    assert [(each["id"], each["answer"]) for each in found] == [("1", "b"), ("2", "a")]
    assert found[0]["log_probs"] == pytest.approx(scores[0].tolist(), abs=1e-6)
    assert accuracy_of(scores, [1, 2]) == {"accuracy": 0.5, "correct": 1, "questions": 2}
