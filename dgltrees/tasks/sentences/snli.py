"""Natural language inference: does a premise entail a hypothesis, contradict it, or neither?

Bowman et al. (2015), with the models of Munkhdalai and Yu, "Neural Tree Indexers for Text
Understanding" (EACL 2017), section 4.1. SICK's pairs are read too.
"""

from __future__ import annotations

from dgltrees.formats import FORMATS
from dgltrees.formats.entailment import read_entailment
from dgltrees.tasks.sentences.base import SentenceTask, sentence_reader
from dgltrees.tasks.sentences.models import make_pair_classifier
from dgltrees.tasks.sentences.settings import PairModel, SentenceSettings

__all__ = ["SNLI"]


SNLI = SentenceTask(
    "snli",
    SentenceSettings,
    PairModel,
    sentence_reader(lambda path, _, rules: read_entailment(path, rules=rules)),
    make_pair_classifier,
    max_children=1,
    reads=FORMATS["entailment"].description,
)
