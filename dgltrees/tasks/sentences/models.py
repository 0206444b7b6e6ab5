"""The models of tasks on plain sentences, as the settings describe them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Optional, Union

from torch import nn

from dgltrees.cells import cell_options
from dgltrees.errors import ConfigError
from dgltrees.models import (
    MLP,
    Classifier,
    GivenVectors,
    PairHead,
    Root,
    WordEmbedding,
)
from dgltrees.models.nti import (
    GlobalAttention,
    NodeByNode,
    NTIEncoder,
    QuestionAnswerEncoder,
    SentencePairEncoder,
    SharedWordCount,
    TreeAttention,
    TreeMatching,
    make_leaves,
)
from dgltrees.tasks.rrnet.base import ReadingEncoder, classifier, make_reading_encoder
from dgltrees.tasks.sentences.pretrained import VECTOR
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


def make_sentence_classifier(settings: Any, vocabs: Names) -> nn.Module:
    """A class for every sentence."""
    words, classes = _words(settings, vocabs), len(vocabs["target"])
    _refuse_interaction(settings)
    encoder = _encoder(settings, words)
    dropout, init = settings.head_dropout, settings.init
    head = MLP(encoder.size, classes, settings.head, dropout=dropout, init=init)
    return classifier(settings, encoder, head)


def make_pair_classifier(settings: Any, vocabs: Names) -> nn.Module:
    """A class for every pair of sentences, with as much interaction as the settings say."""
    words, classes = _words(settings, vocabs), len(vocabs["target"])
    if settings.encoder != "nti":
        _refuse_interaction(settings)
        sequential = make_reading_encoder(settings, words, dropout=settings.input_dropout)
        return classifier(settings, sequential, make_pair_head(settings, sequential.size, classes))
    encoder, dropout = _nti(settings, words, words.size), settings.attention_dropout
    if settings.interaction == "none":
        head = make_pair_head(settings, encoder.size, classes)
        return Classifier(SentencePairEncoder(encoder), Root(), head)
    attention = _attention(settings)
    if settings.interaction == "node_by_node":
        head = make_pair_head(settings, encoder.size, classes)
        return Classifier(NodeByNode(encoder, attention, dropout=dropout), Root(), head)
    full = settings.interaction == "full_matching"
    matching = TreeMatching(
        attention,
        MLP(
            encoder.size * (1 + full),
            classes,
            settings.head,
            dropout=settings.head_dropout,
            init=settings.init,
        ),
        full=full,
        root_query=settings.root_query,
        last_step=settings.last_step,
        dropout=dropout,
        init=settings.init,
    )
    return Classifier(SentencePairEncoder(encoder), nn.Identity(), matching)


def make_answer_selector(settings: Any, vocabs: Names) -> nn.Module:
    """One logit for every pair of a question and a sentence: whether it answers."""
    words = _words(settings, vocabs)
    _refuse_interaction(settings)
    if settings.encoder == "rrnet":
        raise ConfigError(
            "expected model.encoder nti, lstm, bilstm or transformer for questions, got rrnet"
        )
    encoder: nn.Module
    if settings.encoder == "nti":
        answer = _nti(settings, None, words.size)
        head = make_pair_head(settings, answer.size, 1, extra=settings.word_count)
        question = _nti(replace(settings, gate="anf"), None, words.size, query="given")
        encoder = QuestionAnswerEncoder(words, question, answer)
    else:
        sequential = make_reading_encoder(settings, words, dropout=settings.input_dropout)
        head = make_pair_head(settings, sequential.size, 1, extra=settings.word_count)
        encoder = sequential
    features = SharedWordCount(_SHARED) if settings.word_count else None
    return Classifier(encoder, Root(), head, features=features)


def make_pair_head(settings: Any, size: int, classes: int, *, extra: int = 0) -> PairHead:
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


def _words(settings: Any, vocabs: Names) -> Words:
    if settings.words == "pretrained":
        if settings.fixed_words:
            raise ConfigError("expected no model.fixed_words with model.words pretrained")
        return GivenVectors(VECTOR, settings.embedding)
    size = len(vocabs["word"])
    return WordEmbedding("word", size, settings.embedding, frozen=settings.fixed_words)


def _encoder(settings: Any, words: Words) -> Union[NTIEncoder, ReadingEncoder]:
    if settings.encoder == "nti":
        return _nti(settings, words, words.size)
    return make_reading_encoder(settings, words, dropout=settings.input_dropout)


def _nti(settings: Any, words: Optional[Words], size: int, **cell: Any) -> NTIEncoder:
    """An encoder of Neural Tree Indexers over vectors of ``size``; ``cell``: of its cell."""
    linear = settings.leaves == "linear"
    if linear and "leaf" not in cell_options(settings.gate):
        raise ConfigError(
            f"model.gate {settings.gate} has a map of its own for leaves; choose another of "
            "model.leaves than linear"
        )
    leaves = make_leaves(settings.leaves, size, settings.hidden_size, init=settings.init)
    return NTIEncoder(
        words,
        leaves,
        settings_cell(
            settings,
            leaves.size,
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


def _attention(settings: Any) -> Union[GlobalAttention, TreeAttention]:
    options: dict[str, Any] = {
        "score": settings.score,
        "mask_pads": settings.mask_pads,
        "init": settings.init,
    }
    if settings.attention == "global":
        return GlobalAttention(settings.hidden_size, **options)
    options["variant"] = "code" if settings.attention == "tree_code" else "paper"
    return TreeAttention(settings.hidden_size, **options)


def _refuse_interaction(settings: Any) -> None:
    if settings.interaction != "none":
        raise ConfigError(
            f"expected model.interaction none, got {settings.interaction}: it is between the trees "
            "over two sentences of the task snli (model.encoder nti)"
        )
