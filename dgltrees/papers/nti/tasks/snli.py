"""Natural language inference: does a premise entail a hypothesis, contradict it, or neither?

Bowman et al. (2015), with the models of Munkhdalai and Yu, "Neural Tree Indexers for Text
Understanding" (EACL 2017), section 4.1. SICK's pairs are read too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dgltrees._files import PathLike
from dgltrees.formats import FORMATS
from dgltrees.papers.nti.data.entailment import companions, stream_entailment
from dgltrees.papers.nti.data.pairs import WordRules
from dgltrees.papers.nti.tasks.base import SentenceTask, sentence_reader
from dgltrees.papers.nti.tasks.models import make_pair_classifier
from dgltrees.papers.nti.tasks.settings import PairModel, SentenceSettings
from dgltrees.trees import Examples

__all__ = ["SNLI"]


def _read(
    path: PathLike, settings: SentenceSettings, rules: WordRules, *, labeled: bool, trees: int
) -> Iterator[Examples]:
    return stream_entailment(path, trees, rules=rules, labeled=labeled)


@dataclass(frozen=True)
class SNLITask(SentenceTask):
    """A task on pairs of sentences, which may be in files of their own."""

    def companions(self, path: Path) -> list[Path]:
        """The files of sentences beside one of labels, where they exist."""
        return [each for each in companions(path) if each.exists()]


SNLI = SNLITask(
    "snli",
    SentenceSettings,
    PairModel,
    {"entailment": sentence_reader(_read)},
    make_pair_classifier,
    max_children=1,
    reads=FORMATS["entailment"].description,
)
