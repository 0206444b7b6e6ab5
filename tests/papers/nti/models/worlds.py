"""Sentences, models over them, and what all models can be asked."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from dgltrees import TreeBatch
from dgltrees.cells import make_cell
from dgltrees.models import MLP, Classifier, GivenVectors, Input, PairHead, Root, WordEmbedding
from dgltrees.papers.nti.models.attention import GlobalAttention
from dgltrees.papers.nti.models.encoder import NTIEncoder, Sentences, make_leaves
from dgltrees.papers.nti.models.pairs import (
    NodeByNode,
    QuestionAnswerEncoder,
    SentencePairEncoder,
    SharedWordCount,
    TreeMatching,
)
from dgltrees.papers.nti.models.tree_attention import TreeAttention
from dgltrees.trees.builders import chains

WORDS, SIZE = 20, 6

ATTENTIONS = {"global": GlobalAttention, "tree": TreeAttention}


def texts(lengths: Sequence[int], seed: int = 0) -> TreeBatch:
    """Sentences of random words, some of them shared with another sentence."""
    rng = np.random.default_rng(seed)
    columns = {
        "word": rng.integers(0, WORDS, sum(lengths)),
        "shared": rng.integers(0, 2, sum(lengths)),
    }
    return chains(lengths, columns).batch()


def sentences(lengths: Sequence[int], size: int = SIZE) -> Sentences:
    return Sentences(torch.randn(sum(lengths), size), torch.tensor(lengths))


def make_nti_encoder(
    inputs: Input,
    size: int,
    *,
    leaves: Any = "lstm",
    node: str = "nti_lstm",
    branching: int = 2,
    init: Any = "kaiming",
    compile: bool = True,
    node_options: dict[str, Any] | None = None,
    **options: Any,
) -> NTIEncoder:
    """An encoder from the names of its parts; by default NTI-SLSTM-LSTM."""
    leaf = make_leaves(leaves, inputs.size, size, init=init, compile=compile)
    cell = make_cell(
        node,
        input_size=leaf.size,
        hidden_size=size,
        max_children=branching,
        leaf="linear" if leaves == "linear" else "identity",
        init=init,
        **(node_options or {}),
    )
    return NTIEncoder(inputs, leaf, cell, branching=branching, compile=compile, **options)


def nti(size: int = SIZE, hidden_size: int = 0, **options: Any) -> NTIEncoder:
    """An encoder over given vectors, by default of its own size."""
    return make_nti_encoder(GivenVectors("x", size), hidden_size or size, **options)


def word_input(size: int = SIZE) -> WordEmbedding:
    return WordEmbedding("word", WORDS, size, vectors=torch.randn(WORDS, size))


def make(name: str, attention: str = "global", size: int = SIZE, **options: Any) -> nn.Module:
    """A model over words by a short name, three classes or one."""
    words = word_input(size)
    if name == "answers":
        question = nti(size, node="nti_attention", node_options={"query": "given"})
        head = PairHead(size, 1, hidden=16, extra=1)
        pair = QuestionAnswerEncoder(words, question, nti(size))
        return Classifier(pair, Root(), head, features=SharedWordCount("shared"))
    parts = options.pop("encoder", {})
    encoder = make_nti_encoder(words, size, **parts)
    if name == "classifier":
        return Classifier(encoder, Root(), MLP(size, 3, [16]))
    if name == "pairs":
        return Classifier(SentencePairEncoder(encoder), Root(), PairHead(size, 3, hidden=16))
    look = ATTENTIONS[attention](size)
    second = None if options.pop("tied", True) else nti(size, **parts)
    if name == "node_by_node":
        nodes = NodeByNode(encoder, look, second, **options)
        return Classifier(nodes, Root(), PairHead(size, 3, hidden=16))
    output = MLP(2 * size if options.get("full") else size, 3, [16])
    matching = TreeMatching(look, output, **options)
    return Classifier(SentencePairEncoder(encoder, second), nn.Identity(), matching)


MODELS: dict[str, dict[str, Any]] = {
    "classifier": {"name": "classifier"},
    "classifier, no LSTM": {"name": "classifier", "encoder": {"leaves": "identity"}},
    "pairs": {"name": "pairs"},
    "answers": {"name": "answers"},
    **{f"node by node, {a}": {"name": "node_by_node", "attention": a} for a in ATTENTIONS},
    "node by node, no LSTM": {"name": "node_by_node", "encoder": {"leaves": "identity"}},
    "node by node, leaves": {"name": "node_by_node", "leaf_queries": True, "tied": False},
    "matching, untied": {"name": "matching", "tied": False},
    **{f"matching, {a}": {"name": "matching", "attention": a} for a in ATTENTIONS},
    **{
        f"full matching, {a}": {"name": "matching", "attention": a, "full": True}
        for a in ATTENTIONS
    },
    "matching, code": {"name": "matching", "root_query": False, "last_step": True},
}
