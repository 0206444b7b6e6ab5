"""N-gram models of the sentences that a language model was trained on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dgltrees.papers.top_down.analyses.scoring import accuracy_of, candidate_scores
from dgltrees.papers.top_down.data.questions import Question
from dgltrees.papers.top_down.models.ngram import NGram
from dgltrees.tasks.splits import load_splits
from dgltrees.training.rundir import fingerprints
from dgltrees.training.trained import TrainedModel


def ngram_report(
    run: TrainedModel,
    order: int = 3,
    questions: Sequence[Question] = (),
    correct: Sequence[int] = (),
    dir: str | None = None,
) -> dict[str, Any]:
    """Train an n-gram model on the sentences and the vocabulary of a language model.

    Arguments:
        run: a trained language model.
        order: the largest number of words of an n-gram.
        questions: questions to answer.
        correct: the index of the correct candidate of each question.
        dir: folder of the data sets; by default that of the run.

    Returns:
        The ``order``, the numbers of training ``words`` and of words in the ``vocabulary``, the
        ``perplexity`` of the validation sentences, and ``accuracy_of`` the answers.

    Raises:
        ConfigError: the data of the run have changed.
    """
    settings = run.settings if dir is None else run.settings.replace("data", dir=dir)
    run.directory.check(settings, fingerprints(settings))
    splits = load_splits(run.task, settings.data, run.max_children)
    trees = splits.train.forest
    model = NGram(trees, order)
    report: dict[str, Any] = {"order": order, "words": trees.num_nodes - len(trees)}
    report["vocabulary"] = model.words
    if splits.valid is not None:
        valid = splits.valid.forest
        loss = -model.log_probs(valid).sum() / (valid.num_nodes - len(valid))
        report["perplexity"] = math.exp(loss)
    if questions:
        scores = candidate_scores(run, questions, score=model.log_probs)
        report.update(accuracy_of(scores, correct))
    return report
