"""Blanks filled by language models, with and without a parser."""

import numpy as np
import pytest

from dgltrees import ConfigError, TrainedModel
from dgltrees.formats import tokenize
from dgltrees.formats.sentences import Sentence
from dgltrees.papers.top_down.analyses.parse import parse
from dgltrees.papers.top_down.analyses.scoring import (
    CandidateScores,
    accuracy_of,
    answers,
    candidate_scores,
    log_probs,
)
from dgltrees.papers.top_down.data.questions import Question
from dgltrees.papers.top_down.graphs import sentence_forest

QUESTIONS = [
    Question("1", "The _____ didn't water the roses.", ["roses", "gardener", "to", "ferry", "."]),
    Question("2", "Ada counted the _____.", ["counted", "zeppelin", "stars", "and", "Late"]),
]


def test_each_candidate_is_a_sentence_of_its_own(
    parser: TrainedModel, tree_lm: TrainedModel, sequence_lm: TrainedModel
) -> None:
    for model in (tree_lm, sequence_lm):
        of_trees = parser if model is tree_lm else None
        scores = candidate_scores(model, QUESTIONS, of_trees).log_probs
        assert scores.shape == (2, 5)
        for row, question in zip(scores, QUESTIONS):
            for score, text in zip(row, question.sentences):
                words = tokenize(text)
                alone = parse(parser, sentence_forest([Sentence(words, [], {}, [0], 0, {})]))
                np.testing.assert_allclose(score, log_probs(model, alone.forest)[0], rtol=1e-4)


def test_trees_need_a_parser_and_sequences_none(
    parser: TrainedModel, tree_lm: TrainedModel, sequence_lm: TrainedModel
) -> None:
    assert np.isfinite(candidate_scores(sequence_lm, QUESTIONS).log_probs).all()
    with pytest.raises(ConfigError, match="no --parser for the language model at .* only words"):
        candidate_scores(sequence_lm, QUESTIONS, parser)
    with pytest.raises(ConfigError, match=r"missing a parser for the language model"):
        candidate_scores(tree_lm, QUESTIONS)


def test_the_likeliest_is_the_answer() -> None:
    log_probs = np.log(np.array([[0.1, 0.4, 0.2, 0.2, 0.1], [0.3, 0.1, 0.2, 0.2, 0.2]]))
    scores = CandidateScores(log_probs, np.full((2, 5), 3))  # words outside the blank
    lines = answers(QUESTIONS, scores)
    assert [(line["id"], line["answer"]) for line in lines] == [("1", "b"), ("2", "a")]
    assert lines[0]["log_probs"] == pytest.approx(log_probs[0].tolist(), abs=1e-6)
    expected = {"accuracy": 0.5, "correct": 1, "ties": 0, "questions": 2}
    assert accuracy_of(scores, [1, 2]) == expected


def test_unknown_words_lose_to_known_ones_and_tie(sequence_lm: TrainedModel) -> None:
    """Two words that the model does not know make the same sentence, in whatever order."""
    unknown, known = ["zeppelin", "dirigible"], ["and", "the", "stars"]
    assert not {*unknown} & {*sequence_lm.vocabularies["word"].names}
    text = "Ada counted the _____."
    scores = candidate_scores(sequence_lm, [Question("1", text, [*unknown, *known])])
    np.testing.assert_allclose(*scores.log_probs[0, :2], rtol=1e-6)
    of_question = scores.unknown[0, -1]
    assert (scores.unknown - of_question).tolist() == [[1, 1, 0, 0, 0]]
    scores.log_probs[0] = [-1, -1, -4, -3, -5]
    assert accuracy_of(scores, [3]) == {"accuracy": 1.0, "correct": 1, "ties": 0, "questions": 1}
    assert answers([Question("1", text, [])], scores)[0]["answer"] == "d"
    scores.unknown[:] = of_question + 1
    assert answers([Question("1", text, [])], scores)[0]["answer"] is None
    for correct in (0, 1):
        expected = {"accuracy": 0.0, "correct": 0, "ties": 1, "questions": 1}
        assert accuracy_of(scores, [correct]) == expected
