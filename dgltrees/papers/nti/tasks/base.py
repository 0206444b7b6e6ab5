"""Base of tasks on plain sentences: their words and the initial word vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, cast

import torch
from torch import Tensor, nn

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError
from dgltrees.models.inputs import Input
from dgltrees.models.word_vectors import vectors_of_words
from dgltrees.papers.nti.data.pairs import WordRules
from dgltrees.papers.nti.graphs import full_shape
from dgltrees.papers.nti.tasks.settings import PhraseSettings, SentenceSettings
from dgltrees.papers.nti.tasks.words import check_pretrained, with_pretrained
from dgltrees.tasks.files import data_files
from dgltrees.tasks.sequences import ReaderTask
from dgltrees.tasks.task import Names, Reader
from dgltrees.trees import Forest, LabeledTrees, Vocabulary
from dgltrees.trees.words import UNKNOWN, recode


def sentence_reader(stream: Callable[..., Iterator[LabeledTrees]], *options: str) -> Reader:
    """Make a task's reader from a function that reads words as spelled in the file.

    With a frozen vocabulary the examples are for evaluation, so ``data.supervise`` is ``"root"``.
    """

    def reader(
        path: PathLike, settings: SentenceSettings, vocabs: Names, *, labeled: bool, trees: int
    ) -> Iterator[LabeledTrees]:
        words = vocabs["word"] if vocabs else Vocabulary(unknown=UNKNOWN)
        if words.frozen and isinstance(settings, PhraseSettings):
            settings = replace(settings, supervise="root")
        rules = WordRules(max_words=settings.max_words, truncate=settings.truncate)
        chosen = {name: getattr(settings, name) for name in options}
        for data in stream(path, trees, rules=rules, labeled=labeled, **chosen):
            yield replace(data, forest=with_ids(data.forest, settings, words))

    return reader


def with_ids(sentences: Forest, settings: SentenceSettings, words: Vocabulary) -> Forest:
    """Encode sentences by a vocabulary, in lower case with ``data.lower``.

    The input of a pretrained encoder is the original words.
    """
    named = with_pretrained(sentences, settings)
    return recode(named, {"word": words}, lower=settings.lower)


@dataclass(frozen=True)
class SentenceTask(ReaderTask):
    """Task whose examples are sentences, or pairs of them, as chains of words.

    The ``input`` of a model's encoder is a :class:`~dgltrees.models.WordEmbedding`, or
    :class:`~dgltrees.models.GivenVectors` for the vectors of a pretrained encoder.
    """

    similar: ClassVar[str | None] = "dgltrees.papers.nti.analyses:similar"

    def extend_vocabularies(  # type: ignore[override]
        self, data: LabeledTrees, settings: SentenceSettings, paths: Sequence[Path]
    ) -> None:
        """Add the words of ``paths`` to the vocabulary with ``data.vocabulary_from_all_splits``."""
        if not settings.vocabulary_from_all_splits:
            return
        vocabs = {**data.forest.vocabs, "target": data.targets}
        vocabs["word"].frozen = False
        for path in paths:
            self.read(path, settings, vocabs)
        vocabs["word"].freeze()

    def init_from_data(  # type: ignore[override]
        self, model: nn.Module, settings: SentenceSettings, data: LabeledTrees
    ) -> None:
        """Read the word vectors from files; a warning counts the words without a vector."""
        _check_width(model, settings)
        check_pretrained(model, settings)
        words = _words_of(model)
        paths = data_files(settings, "vectors")
        if words is None:
            if paths:
                raise ConfigError("expected no data.vectors with data.pretrained, got both")
            return
        if not paths:
            if not words.requires_grad:
                raise ConfigError(
                    "missing data.vectors with model.fixed_words; name a file of word vectors, or "
                    "learn the vectors with model.fixed_words false"
                )
            return
        zeros = torch.zeros_like(words)
        vectors = vectors_of_words(paths, data.forest.vocabs["word"], zeros, others="zero")
        with torch.no_grad():
            words.copy_(vectors)

    def word_parameters(self, model: nn.Module) -> Iterable[Tensor]:
        """Return the table of word vectors, if there is one."""
        words = _words_of(model)
        return () if words is None else (words,)


def _check_width(model: nn.Module, settings: SentenceSettings) -> None:
    """Check that the reader refuses or cuts sentences that are too long for the trees.

    Its errors name the file and the line.
    """
    for part in model.modules():
        make_trees: Any = getattr(part, "make_trees", None)
        shape = full_shape(make_trees([1])) if make_trees is not None else None
        width = 1 if shape is None else shape.widths[0]  # 1 if it depends on the sentence
        if width > 1 and (settings.max_words is None or settings.max_words > width):
            raise ConfigError(
                f"expected data.max_words of at most {width} with model.width {width}, got "
                f"{settings.max_words}; longer sentences do not fit into the trees"
            )


def _words_of(model: nn.Module) -> nn.Parameter | None:
    """Return the table of word vectors, if there is one."""
    encoder: Any = model.encoder
    return cast(Input, encoder.input).table
