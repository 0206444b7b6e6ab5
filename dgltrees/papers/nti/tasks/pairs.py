"""Tasks on pairs of sentences: natural language inference, and answer sentence selection.

The models are those of Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL
2017), sections 4.1 and 4.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import TreeError
from dgltrees.formats import FORMATS
from dgltrees.metrics.ranks import rank_within, ranking
from dgltrees.papers.nti.data.entailment import stream_entailment
from dgltrees.papers.nti.data.wikiqa import stream_wikiqa
from dgltrees.papers.nti.tasks.base import SentenceTask, sentence_reader
from dgltrees.papers.nti.tasks.settings import PairModel, QuestionModel, SentenceSettings
from dgltrees.tasks.task import LOSS, Columns, Metric
from dgltrees.trees import LabeledTrees
from dgltrees.trees.segments import offsets_of

NLI = SentenceTask(
    "nli",
    SentenceSettings,
    PairModel,
    {"entailment": sentence_reader(stream_entailment)},
    max_children=1,
    reads=FORMATS["entailment"].description,
)


@dataclass(frozen=True)
class WikiQATask(SentenceTask):
    """Answer selection: pairs of a question and a sentence, with class 1 for answers."""

    numbered = ("example", "question")
    has_majority = False  # accuracy is not reported, since few sentences are answers

    def groups(self, data: LabeledTrees) -> NDArray[np.int64]:
        """Return the question of each pair, ``(E,)``."""
        return _questions(data)

    def report(
        self, data: LabeledTrees, outputs: Columns, majority: Mapping[str, int]
    ) -> dict[str, Any]:
        """Return the metrics of a ranking by probability."""
        ranks = ranking(
            outputs["probability"],
            self.targets(data) == 1,
            _questions(data),
            np.asarray(data.columns["rank"]),
        )
        if not ranks["questions"]:
            raise TreeError(
                f"expected a question with a right answer, got {ranks['dropped']} without one; MAP "
                "and MRR need them"
            )
        return {**ranks, "loss": float(outputs["loss"].mean()), "examples": len(data)}

    def predictions(self, data: LabeledTrees, outputs: Columns) -> Iterator[dict[str, Any]]:
        """Yield ``example``, ``question``, ``sentence``, ``probability`` and ``rank`` of each pair.

        ``sentence`` is the number in the question. Numbers count from 0, ranks from 1.
        """
        question = _questions(data)
        rank = rank_within(outputs["probability"], question, np.asarray(data.columns["rank"]))
        for example in range(len(data)):
            yield {
                "example": example,
                "question": int(question[example]),
                "sentence": int(data.columns["sentence"][example]),
                "probability": float(f"{outputs['probability'][example]:.9g}"),
                "rank": int(rank[example]),
            }


def _questions(data: LabeledTrees) -> NDArray[np.int64]:
    """Return the question of each pair, ``(E,)``, numbered from 0 over all files."""
    number, sentence = (np.asarray(data.columns[name]) for name in ("question", "sentence"))
    begins = (np.diff(number) != 0) | (np.diff(sentence) <= 0)
    return offsets_of(begins)


WIKIQA = WikiQATask(
    "wikiqa",
    SentenceSettings,
    QuestionModel,
    {"wikiqa": sentence_reader(stream_wikiqa)},
    max_children=1,
    metrics=(Metric("map", label="MAP"), Metric("mrr", label="MRR"), LOSS),
    reads=FORMATS["wikiqa"].description,
)
