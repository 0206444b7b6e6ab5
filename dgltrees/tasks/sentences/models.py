"""The models of tasks on plain sentences, as the settings describe them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Union

from torch import nn

from dgltrees.cells import cell_options
from dgltrees.errors import ConfigError
from dgltrees.models import (
    MLP,
    GivenVectors,
    SequenceClassifier,
    SequencePairClassifier,
    WordEmbedding,
)
from dgltrees.models.nti import (
    AnswerSelector,
    BidirectionalLSTMLeaves,
    GlobalAttention,
    IdentityLeaves,
    LSTMLeaves,
    NodeByNode,
    NTIClassifier,
    NTIEncoder,
    NTIPairClassifier,
    PairHead,
    TreeAttention,
    TreeMatching,
)
from dgltrees.models.rrnet import ClassAnswer, PairAnswer, RRNetEncoder
from dgltrees.tasks.rrnet.base import ReadingEncoder, make_reading_encoder, reader
from dgltrees.tasks.sentences.pretrained import VECTOR
from dgltrees.tasks.settings import ModelSettings
from dgltrees.tasks.trees.build import settings_cell
from dgltrees.trees import Vocabulary

__all__ = [
    "make_answer_selector",
    "make_pair_classifier",
    "make_pair_head",
    "make_sentence_classifier",
]

Names = Mapping[str, Vocabulary]
Words = Union[GivenVectors, WordEmbedding]

_SHARED = "shared"


def make_sentence_classifier(settings: ModelSettings, vocabs: Names) -> nn.Module:
    """A class for every sentence."""
    words, classes = _words(settings, vocabs), len(vocabs["target"])
    _refuse_interaction(settings)
    made = _encoder(settings, words)
    head = MLP(made.size, classes, settings.head, dropout=settings.head_dropout, init=settings.init)
    if isinstance(made, NTIEncoder):
        return NTIClassifier(words, made, head)
    if isinstance(made, RRNetEncoder):
        return reader(settings, made, ClassAnswer(head))
    return SequenceClassifier(made, head)


def make_pair_classifier(settings: ModelSettings, vocabs: Names) -> nn.Module:
    """A class for every pair of sentences, with as much interaction as the settings say."""
    words, classes = _words(settings, vocabs), len(vocabs["target"])
    made = _encoder(settings, words)
    if not isinstance(made, NTIEncoder):
        _refuse_interaction(settings)
        pair_head = make_pair_head(settings, made.size, classes)
        if isinstance(made, RRNetEncoder):
            return reader(settings, made, PairAnswer(pair_head))
        return SequencePairClassifier(made, pair_head)
    if settings.interaction == "none":
        return NTIPairClassifier(words, made, make_pair_head(settings, made.size, classes))
    attention = _attention(settings)
    dropout = settings.attention_dropout
    if settings.interaction == "node_by_node":
        head = make_pair_head(settings, made.size, classes)
        return NodeByNode(words, made, attention, head, dropout=dropout)
    full = settings.interaction == "full_matching"
    return TreeMatching(
        words,
        made,
        attention,
        MLP(
            made.size * (1 + full),
            classes,
            settings.head,
            dropout=settings.head_dropout,
            init=settings.init,
        ),
        full=full,
        root=settings.root_query,
        last_step=settings.last_step,
        dropout=dropout,
        init=settings.init,
    )


def make_answer_selector(settings: ModelSettings, vocabs: Names) -> nn.Module:
    """One logit for every pair of a question and a sentence: whether it answers."""
    words = _words(settings, vocabs)
    _refuse_interaction(settings)
    answer = _encoder(settings, words)
    if isinstance(answer, RRNetEncoder):
        raise ConfigError(
            "expected model.encoder nti, lstm, bilstm or transformer for questions, got rrnet"
        )
    head = make_pair_head(settings, answer.size, 1, extra=2 * settings.word_count)
    shared = _SHARED if settings.word_count else None
    if not isinstance(answer, NTIEncoder):
        return SequencePairClassifier(answer, head, shared=shared)
    question = _nti(replace(settings, gate="anf"), words.size, query="given")
    return AnswerSelector(words, question, answer, head, shared=shared)


def make_pair_head(settings: ModelSettings, size: int, classes: int, *, extra: int = 0) -> PairHead:
    """What compares two vectors of ``size``, and ``extra`` features; see :class:`PairHead`.

    Raises:
        ConfigError: ``model.head`` is not one hidden layer.
    """
    if len(settings.head) != 1:
        raise ConfigError(
            f"expected model.head to be the size of one hidden layer for pairs of sentences, got "
            f"{settings.head}; the paper has 1024"
        )
    return PairHead(
        size,
        classes,
        hidden=settings.head[0],
        extra=extra,
        dropout=settings.head_dropout,
        init=settings.init,
    )


def _words(settings: ModelSettings, vocabs: Names) -> Words:
    if settings.words == "pretrained":
        if settings.fixed_words:
            raise ConfigError("expected no model.fixed_words with model.words pretrained")
        return GivenVectors(VECTOR, settings.embedding)
    size = len(vocabs["word"])
    return WordEmbedding("word", size, settings.embedding, frozen=settings.fixed_words)


def _encoder(settings: ModelSettings, words: Words) -> Union[NTIEncoder, ReadingEncoder]:
    if settings.encoder == "nti":
        return _nti(settings, words.size)
    return make_reading_encoder(settings, words, dropout=settings.input_dropout)


def _nti(settings: ModelSettings, size: int, **cell: Any) -> NTIEncoder:
    """An encoder of Neural Tree Indexers; ``cell``: further arguments of its cell."""
    linear = settings.leaves == "linear"
    if linear and "leaf" not in cell_options(settings.gate):
        raise ConfigError(
            f"model.gate {settings.gate} has a map of its own for leaves; choose another of "
            "model.leaves than linear"
        )
    kinds = {"lstm": LSTMLeaves, "bilstm": BidirectionalLSTMLeaves}
    made = (
        kinds[settings.leaves](size, settings.hidden_size, init=settings.init)
        if settings.leaves in kinds
        else IdentityLeaves(size)
    )
    return NTIEncoder(
        made,
        settings_cell(
            settings,
            made.size,
            max_children=settings.branching,
            leaf="linear" if linear else "identity",
            score=settings.score,
            **cell,
        ),
        trees=settings.trees,
        branching=settings.branching,
        stride=settings.stride,
        padding=settings.padding,
        width=settings.width,
        pad=settings.pad,
        dropout=settings.input_dropout,
        backend=settings.backend,
    )


def _attention(settings: ModelSettings) -> Union[GlobalAttention, TreeAttention]:
    options: dict[str, Any] = {
        "score": settings.score,
        "mask_pads": settings.mask_pads,
        "init": settings.init,
    }
    if settings.attention == "global":
        return GlobalAttention(settings.hidden_size, **options)
    variant = "code" if settings.attention == "tree_code" else "paper"
    return TreeAttention(settings.hidden_size, variant=variant, **options)


def _refuse_interaction(settings: ModelSettings) -> None:
    if settings.interaction != "none":
        raise ConfigError(
            f"expected model.interaction none, got {settings.interaction}: it is between the trees "
            "over two sentences of the task snli (model.encoder nti)"
        )
