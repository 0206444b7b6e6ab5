"""Scores of sentences under a language model, and completion by the most probable candidate.

Zhang, Lu and Lapata, "Top-down Tree Long Short-Term Memory Networks" (NAACL 2016), section 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from dgltrees.analyses.require import require
from dgltrees.errors import ConfigError
from dgltrees.formats import tokenize
from dgltrees.formats.sentences import Sentence
from dgltrees.models.streaming import batches_of_similar, run_batched
from dgltrees.papers.top_down.analyses.parse import parse
from dgltrees.papers.top_down.data.questions import Question
from dgltrees.papers.top_down.graphs import generation_batch, generation_forest, sentence_forest
from dgltrees.papers.top_down.models.add_decisions import JointTreeLM
from dgltrees.papers.top_down.models.biaffine import BiaffineParser
from dgltrees.papers.top_down.models.language_model import LanguageModel
from dgltrees.papers.top_down.models.ngram import NGram
from dgltrees.papers.top_down.models.tree_lm import TreeLM
from dgltrees.papers.top_down.tasks.reading import LABEL, TreeLMSettings
from dgltrees.papers.top_down.tasks.tree_lm import Objective
from dgltrees.tasks.splits import load_splits
from dgltrees.training.device import OneDevice
from dgltrees.training.rundir import fingerprints
from dgltrees.training.trained import TrainedModel
from dgltrees.trees import Forest
from dgltrees.trees.words import UNKNOWN, recode

if TYPE_CHECKING:
    from lightning_fabric import Fabric

_LETTERS = "abcde"
_TIED = 1e-6
"""Log-probabilities with a smaller relative difference are considered equal."""

Model = LanguageModel | JointTreeLM


class CandidateScores(NamedTuple):
    """Scores of the sentences with each candidate.

    Attributes:
        log_probs: ``(Q, 5)``, the log-probabilities.
        unknown: ``(Q, 5)``, the numbers of words that the model does not know.
    """

    log_probs: NDArray[np.float64]
    unknown: NDArray[np.int64]

    @property
    def likeliest(self) -> NDArray[np.bool_]:
        """The most probable candidates, ``(Q, 5)``, of those with the fewest unknown words.

        The probability of an unknown word is that of thousands of rare words together. It is no
        measure of a single one, and is not compared with that of a known word.
        """
        fewest = self.unknown == self.unknown.min(1, keepdims=True)
        scores = np.where(fewest, self.log_probs, -np.inf)
        return np.asarray(scores >= scores.max(1, keepdims=True) * (1 + _TIED))  # log P is negative


def language_model(run: TrainedModel) -> LanguageModel:
    """Return the language model of a run, over trees or over sequences."""
    return require(run, run.model, Objective, "a language model (task tree-lm)").model


def tree_language_model(run: TrainedModel) -> TreeLM:
    """Return the language model over trees of a run."""
    expected = "a language model over trees (task tree-lm, model.language_model tree)"
    return require(run, getattr(run.model, "model", None), TreeLM, expected)


def language_model_settings(run: TrainedModel) -> TreeLMSettings:
    """Return the data settings of a language model."""
    return require(run, run.settings.data, TreeLMSettings, "a language model (task tree-lm)")


def log_probs(run: TrainedModel, forest: Forest, *, max_nodes: int = 20_000) -> NDArray[np.float64]:
    """Return the log-probability of each sentence given its tree, by the full softmax, ``(T,)``."""
    model = language_model(run)
    words = generation_forest(_known_words(run, forest))
    return generation_log_probs(model, words, run.fabric, max_nodes=max_nodes)


def _known_words(run: TrainedModel, forest: Forest) -> Forest:
    """Return the trees with the words of a language model's vocabulary, and no other column."""
    lower = language_model_settings(run).lower
    if LABEL not in run.vocabularies:
        raise ConfigError(
            "expected a language model of dependency trees, got one that learned from other trees "
            f"({run.settings.data.train}); train one on CoNLL-U"
        )
    coded = recode(forest, {"word": run.vocabularies["word"]}, lower=lower)
    return coded.with_columns({"word": coded.columns["word"]}, {"word": coded.vocabs["word"]})


def generation_log_probs(
    model: Model, forest: Forest, fabric: Fabric | OneDevice, *, max_nodes: int = 20_000
) -> NDArray[np.float64]:
    """Return the log-probability of each tree, ``(T,)``."""

    def score(ids: NDArray[np.int64]) -> dict[str, Tensor]:
        batch = generation_batch(forest, ids).to(fabric.device)
        with fabric.autocast():
            return {"score": model.log_prob(batch).double()}

    batches = batches_of_similar(forest.sizes, forest.depths, max_nodes=max_nodes)
    scores = run_batched(score, batches, len(forest), title="score")
    return scores["score"].cpu().numpy() if scores else np.zeros(0)


def check(run: TrainedModel, parser: TrainedModel | None = None, ngram: bool = False) -> None:
    """Check that a language model over trees has a parser, or an n-gram model is used instead."""
    over_trees = isinstance(language_model(run), TreeLM)
    if parser is not None and not over_trees:
        raise ConfigError(
            f"expected no --parser for the language model at {run.directory.path}, which reads "
            "only words; remove it"
        )
    if not over_trees or ngram:
        return
    if parser is None:
        raise ConfigError(
            f"missing a parser for the language model over trees at {run.directory.path}; add "
            "--parser DIR, the run directory of a parser"
        )
    require(parser, parser.model, BiaffineParser, "a parser")


def train_ngram(run: TrainedModel, order: int) -> tuple[NGram, float | None]:
    """Train an n-gram model on the sentences and the vocabulary of a language model."""
    run.directory.check(run.settings, fingerprints(run.settings))
    splits = load_splits(run.task, run.settings.data, run.max_children)
    model = NGram(splits.train.forest, order)
    if splits.valid is None:
        return model, None
    valid = splits.valid.forest
    loss = -model.log_probs(valid).sum() / (valid.num_nodes - len(valid))
    return model, float(np.exp(loss))


def candidate_scores(
    run: TrainedModel,
    questions: Sequence[Question],
    parser: TrainedModel | None = None,
    *,
    ngram: NGram | None = None,
) -> CandidateScores:
    """Return the log-probabilities and unknown words of the sentences with each candidate.

    For models over trees, every sentence is parsed separately.
    """
    check(run, parser, ngram is not None)
    forest = sentence_forest([_sentence(text) for each in questions for text in each.sentences])
    if parser is not None:
        forest = parse(parser, forest).forest
    known, shape = _known_words(run, forest), (len(questions), len(_LETTERS))
    is_unknown = known.columns["word"] == run.vocabularies["word"].encode([UNKNOWN])[0]
    unknown = np.add.reduceat(is_unknown, forest.offsets[:-1], dtype=np.int64)
    scores = log_probs(run, forest) if ngram is None else ngram.log_probs(known)
    return CandidateScores(scores.reshape(shape), unknown.reshape(shape))


def _sentence(text: str) -> Sentence:
    words = tokenize(text)
    return Sentence(words, [], {}, [0] * len(words), 0, {})


def answers(questions: Sequence[Question], scores: CandidateScores) -> list[dict[str, Any]]:
    """Return for each question its ``id``, the ``answer`` and the ``log_probs`` of the candidates.

    See :attr:`CandidateScores.likeliest`. If several candidates are the most probable, such as two
    unknown words and no known one, ``answer`` is None.
    """
    return [
        {
            "id": question.id,
            "answer": _LETTERS[int(best.argmax())] if best.sum() == 1 else None,
            "log_probs": [round(value, 6) for value in row.tolist()],
        }
        for question, row, best in zip(questions, scores.log_probs, scores.likeliest)
    ]


def accuracy_of(scores: CandidateScores, correct: Sequence[int]) -> dict[str, Any]:
    """Return the ``accuracy``, and the numbers of ``questions``, ``correct`` answers and ``ties``.

    A tie is a question with several most probable candidates. It does not count as correct.
    """
    best = scores.likeliest
    ties = best.sum(1) > 1
    hits = int((~ties & (best.argmax(1) == np.array(correct))).sum())
    return {
        "accuracy": hits / len(correct),
        "correct": hits,
        "ties": int(ties.sum()),
        "questions": len(correct),
    }
