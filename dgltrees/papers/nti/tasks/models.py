"""The models of tasks on plain sentences, as the settings describe them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn

from dgltrees.cells import CELLS
from dgltrees.errors import ConfigError
from dgltrees.models.classifier import Classifier
from dgltrees.models.heads import MLP
from dgltrees.models.inputs import Input
from dgltrees.models.readout import Root
from dgltrees.options import Options, options_of
from dgltrees.papers.nti.models.attention import GlobalAttention
from dgltrees.papers.nti.models.encoder import NTIEncoder, make_leaves
from dgltrees.papers.nti.models.pairs import (
    NodeByNode,
    QuestionAnswerEncoder,
    SentencePairEncoder,
    SharedWordCount,
    TreeMatching,
)
from dgltrees.papers.nti.models.tree_attention import TreeAttention
from dgltrees.tasks.pair_head import make_pair_head
from dgltrees.tasks.pretrained import Words, make_words
from dgltrees.tasks.sequence_encoders import encoder_settings
from dgltrees.tasks.trees.base import cell_name, make_cell_of
from dgltrees.trees import Vocabulary

__all__ = [
    "make_answer_selector",
    "make_nti",
    "make_pair_classifier",
    "make_sentence_classifier",
    "nti_name",
]

Names = Mapping[str, Vocabulary]

_SHARED = "shared"


def make_sentence_classifier(model: Options, vocabs: Names) -> nn.Module:
    """Make a classifier of sentences."""
    words, classes = _words(model, vocabs), len(vocabs["target"])
    chosen = encoder_settings(model)
    encoder = chosen.make(model, words)
    dropout, init = model["head_dropout"], model["init"]
    head = MLP(encoder.size, classes, model["head"], dropout=dropout, init=init)
    return chosen.classifier(model, encoder, head)


def make_pair_classifier(model: Options, vocabs: Names) -> nn.Module:
    """Make a classifier of pairs of sentences, with the interaction that the settings name."""
    words, classes = _words(model, vocabs), len(vocabs["target"])
    if model["encoder"] != "nti":
        chosen = encoder_settings(model)
        sequential = chosen.make(model, words)
        head = make_pair_head(model, sequential.size, classes)
        return chosen.classifier(model, sequential, head)
    encoder, interaction = make_nti(model, words, words.size), model["interaction"]
    if interaction == "none":
        head = make_pair_head(model, encoder.size, classes)
        return Classifier(SentencePairEncoder(encoder), Root(), head)
    attention, dropout = _attention(model), model["attention_dropout"]
    if interaction == "node_by_node":
        head = make_pair_head(model, encoder.size, classes)
        return Classifier(NodeByNode(encoder, attention, dropout=dropout), Root(), head)
    full = interaction == "full_matching"
    matching = TreeMatching(
        attention,
        MLP(
            encoder.size * (1 + full),
            classes,
            model["head"],
            dropout=model["head_dropout"],
            init=model["init"],
        ),
        full=full,
        root_query=model["root_query"],
        last_step=model["last_step"],
        dropout=dropout,
        init=model["init"],
    )
    return Classifier(SentencePairEncoder(encoder), nn.Identity(), matching)


def make_answer_selector(model: Options, vocabs: Names) -> nn.Module:
    """Make a model with one logit per question and sentence: whether the sentence answers it."""
    words = _words(model, vocabs)
    encoder: nn.Module
    if model["encoder"] == "nti":
        answer = make_nti(model, None, words.size)
        head = make_pair_head(model, answer.size, 1, extra=int(model["word_count"]))
        question = make_nti(model.replace(cell="anf"), None, words.size, query="given")
        encoder = QuestionAnswerEncoder(words, question, answer)
    else:
        sequential = encoder_settings(model).make(model, words)
        head = make_pair_head(model, sequential.size, 1, extra=int(model["word_count"]))
        encoder = sequential
    features = SharedWordCount(_SHARED) if model["word_count"] else None
    return Classifier(encoder, Root(), head, features=features)


def _words(model: Options, vocabs: Names) -> Words:
    return make_words(model, vocabs, frozen=model.get("fixed_words", False))


def make_nti(model: Options, words: Input | None, size: int, **cell: Any) -> NTIEncoder:
    """Make an NTI encoder over vectors of ``size``; ``cell`` are arguments of its cell."""
    linear = model["leaves"] == "linear"
    if linear and "leaf" not in options_of(CELLS[model["cell"]]):
        raise ConfigError(
            f"model.cell {model['cell']} has a map of its own for leaves (no argument 'leaf'); "
            "choose another of model.leaves than linear"
        )
    leaves = make_leaves(model["leaves"], size, model["hidden_size"], init=model["init"])
    branching = model.get("branching", 2)
    named = {"max_children": branching, "leaf": "linear" if linear else "identity", **cell}
    accepted = options_of(CELLS[model["cell"]])
    arguments = {name: value for name, value in named.items() if name in accepted}
    return NTIEncoder(
        words,
        leaves,
        make_cell_of(model, leaves.size, **arguments),
        trees=model["trees"],
        branching=branching,
        stride=model.get("stride"),
        padding=model.get("padding", "left"),
        width=model.get("width"),
        pad=model.get("pad", "fixed"),
        dropout=model["input_dropout"],
    )


def _attention(model: Options) -> GlobalAttention | TreeAttention:
    options: dict[str, Any] = {name: model[name] for name in ("score", "mask_pads", "init")}
    if model["attention"] == "global":
        return GlobalAttention(model["hidden_size"], **options)
    options["variant"] = "code" if model["attention"] == "tree_code" else "paper"
    return TreeAttention(model["hidden_size"], **options)


def nti_name(model: Options) -> str:
    """The paper's name of a model with these settings."""
    nodes = {
        "s_lstm": "SLSTM",
        "chainer_s_lstm": "chainer SLSTM",
        "anf": "ANF",
        "selective_s_lstm": "selective SLSTM",
    }
    leaves = {"identity": "", "linear": "-linear", "lstm": "-LSTM", "bilstm": "-BiLSTM"}
    name = f"NTI-{nodes.get(model['cell'], cell_name(model))}{leaves[model['leaves']]}"
    interaction = model.get("interaction", "none")
    return name if interaction == "none" else f"{name} {interaction.replace('_', ' ')}"
