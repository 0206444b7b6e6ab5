"""Natural language inference: does a premise entail a hypothesis, contradict it, or neither?

Bowman et al. (2015), with the models of Munkhdalai and Yu, "Neural Tree Indexers for Text
Understanding" (EACL 2017), section 4.1. SICK's pairs are read too.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Optional

from dgltrees.tasks.pretrained import with_pretrained
from dgltrees.tasks.sentence_models import make_pair_classifier
from dgltrees.tasks.sentences import SentenceTask, new_words
from dgltrees.tasks.settings import DataSettings
from dgltrees.trees import Examples, Vocabulary
from dgltrees.trees.readers.entailment import read_entailment

__all__ = ["SNLI"]


def _read(
    path: Path, settings: DataSettings, vocabs: Optional[Mapping[str, Vocabulary]]
) -> Examples:
    words = vocabs["word"] if vocabs else new_words()
    return read_entailment(
        path,
        vocabs={"word": words},
        lower=settings.lower,
        max_words=settings.max_words,
        truncate=settings.truncate,
    )


SNLI = SentenceTask("snli", with_pretrained(_read), make_pair_classifier, max_children=1)
