"""Encoders of sentence pairs, node-by-node attention, and tree matching."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from dgltrees.cells.base import BaseCell
from dgltrees.cells.initial import Init, initialize
from dgltrees.errors import TreeError
from dgltrees.models.heads import ClassHead, wide
from dgltrees.models.inputs import Input, node_column
from dgltrees.papers.nti.models.attention import Attended, AttentionOverTrees, GlobalAttention
from dgltrees.papers.nti.models.encoder import NTIEncoder, NTIEncoding, Sentences
from dgltrees.settings import Fraction
from dgltrees.traversal import Edges, Nodes, run_cell
from dgltrees.traversal.views import Groups
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import mask_of, ranges


class EncodingPair(NamedTuple):
    """Encodings of the first and of the second sentences of ``E`` pairs.

    Attributes:
        first: the encodings of premises or questions.
        second: the encodings of hypotheses or answers.
    """

    first: NTIEncoding
    second: NTIEncoding

    @property
    def roots(self) -> Tensor:
        """Vectors of all sentences, ``(2 E, c)``; the two of a pair are adjacent."""
        return torch.stack([self.first.roots, self.second.roots], 1).flatten(0, 1)


def split_pairs(vectors: Tensor, batch: TreeBatch) -> tuple[Sentences, Sentences]:
    """Split a batch of adjacent pairs into the first and the second sentences."""
    if batch.num_trees % 2:
        raise TreeError(f"expected pairs of sentences, got a batch of {batch.num_trees}")
    second = torch.repeat_interleave(torch.arange(batch.num_trees) % 2, batch.sizes)
    first, other = (
        Sentences(
            vectors.index_select(0, torch.nonzero(second == k)[:, 0].to(vectors.device)),
            batch.sizes[k::2],
        )
        for k in range(2)
    )
    return first, other


class PairEncoder(nn.Module, ABC):
    """Base class of modules that encode pairs of sentences.

    In a batch, the two sentences of a pair are adjacent.

    Attributes:
        input: the module that maps tokens to vectors.
        size: c, the size of a state.
    """

    input: Input
    size: int
    __call__: Callable[..., EncodingPair]

    @property
    @abstractmethod
    def single(self) -> NTIEncoder:
        """The encoder of single sentences."""

    @abstractmethod
    def forward(self, batch: TreeBatch) -> EncodingPair:
        """Encode both sentences of each pair, as trees over their tokens."""

    def encode_alone(self, batch: TreeBatch) -> NTIEncoding:
        """Encode all sentences of a batch independently of each other."""
        return self.single.encode(Sentences(self.input(batch), batch.sizes))

    def make_trees(self, lengths: ArrayLike) -> TreeBatch:
        """Build the trees over sentences with these numbers of tokens, ``(T,)``."""
        return self.single.make_trees(lengths)


class SentencePairEncoder(PairEncoder):
    """Encoder of the sentences of a pair independently: Munkhdalai and Yu (EACL 2017), Table 1.

    The text says only of node-by-node attention that the weights of both are tied (section 4.1).

    Arguments:
        encoder: the encoder of both sentences, or with ``second`` of the first ones.
        second: the encoder of the second sentences, without ``inputs``; by default the same.
    """

    def __init__(self, encoder: NTIEncoder, second: NTIEncoder | None = None) -> None:
        super().__init__()
        self.encoder, self.untied, self.size = encoder, second, encoder.size

    @property
    def second(self) -> NTIEncoder:
        """The encoder of the second sentences."""
        return self.encoder if self.untied is None else self.untied

    @property
    def input(self) -> Input:  # type: ignore[override]
        """The module that maps tokens to vectors."""
        return self.encoder.input

    @property
    def single(self) -> NTIEncoder:
        """The encoder of the first sentences."""
        return self.encoder

    def forward(self, batch: TreeBatch) -> EncodingPair:
        """Encode both sentences of each pair; see :class:`PairEncoder`."""
        first, second = split_pairs(self.input(batch), batch)
        return EncodingPair(self.encoder.encode(first), self.second.encode(second))


class QuestionAnswerEncoder(PairEncoder):
    """NTI-ANF-LSTM: encoder of questions with the answer's vector as the query of the cell.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), section 4.2.

    Arguments:
        inputs: the module that maps tokens to vectors.
        question: the encoder of questions, without ``inputs``; its cell needs a node field ``q``
            (NTI-ANF-LSTM).
        answer: the encoder of answers, without ``inputs``, of the same size (NTI-SLSTM-LSTM).
    """

    def __init__(self, inputs: Input, question: NTIEncoder, answer: NTIEncoder) -> None:
        super().__init__()
        self.input, self.question, self.answer = inputs, question, answer
        self.size = answer.size

    @property
    def single(self) -> NTIEncoder:
        """The encoder of answers."""
        return self.answer

    def forward(self, batch: TreeBatch) -> EncodingPair:
        """Encode question and answer of each pair; see :class:`PairEncoder`."""
        first, second = split_pairs(self.input(batch), batch)
        answer = self.answer.encode(second)
        return EncodingPair(self.question.encode(first, query=answer.roots), answer)


class SharedWordCount(nn.Module):
    """Feature log(1 + n), with n the number of words that also occur in the other sentence.

    Munkhdalai and Yu (EACL 2017) mention "a simple word count feature" without a formula (footnote
    6); the formula is a choice of this package.

    Arguments:
        column: the node column that is 1 for words that also occur in the other sentence, else 0.
    """

    zero: Tensor

    def __init__(self, column: str) -> None:
        super().__init__()
        self.column = column
        self.register_buffer("zero", torch.zeros(()), persistent=False)  # has the model's dtype

    def forward(self, batch: TreeBatch) -> Tensor:
        """Return the feature of each sentence of a batch, ``(T, 1)``."""
        shared = node_column(batch, self.column).to(wide(self.zero))
        count = shared.new_zeros(batch.num_trees).index_add(0, batch.tree_of_node, shared)
        return torch.log1p(count).unsqueeze(1)


class NodeByNode(SentencePairEncoder):
    """Encoder of pairs with node-by-node attention of the second sentence over the first.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), section 4.1, say
    only that the model "attends over the premise tree nodes at every time step of hypothesis
    encoding", with the weights of both trees tied. The computation at a node is inferred from this
    and from the number of parameters in Table 1. The cell computes (h_p, c_p), and q = h_p attends
    to the premise's tree. Then h_tree of (15), or of tree attention, replaces h_p before it is sent
    to the parent; c_p is not changed. Leaves do not attend by default, as no S-LSTM computes them;
    the text allows that they do. A leaf LSTM starts the hypothesis with the state and memory after
    the premise.

    Arguments:
        encoder, second: the encoders, see :class:`SentencePairEncoder`.
        attention: global or tree attention of the encoder's size.
        dropout: the probability of dropout on the attention vectors.
        leaf_queries: let the leaves of the second sentence attend too.
    """

    def __init__(
        self,
        encoder: NTIEncoder,
        attention: AttentionOverTrees,
        second: NTIEncoder | None = None,
        *,
        dropout: Fraction = 0.0,
        leaf_queries: bool = False,
    ) -> None:
        super().__init__(encoder, second)
        self.attention, self.leaf_queries = attention, leaf_queries
        self.dropout = nn.Dropout(dropout)

    def forward(self, batch: TreeBatch) -> EncodingPair:
        """Encode both sentences of each pair.

        Returns:
            the encodings; ``attention`` of the second one has the weights of all its nodes.

        Raises:
            TreeError: the number of sentences is odd.
        """
        first, second = split_pairs(self.input(batch), batch)
        premise = self.encoder.encode(first)
        return EncodingPair(premise, self.encode_second(second, premise))

    def encode_second(self, sentences: Sentences, premise: NTIEncoding) -> NTIEncoding:
        """Encode hypotheses, whose nodes attend to the encoded premises."""
        encoder = self.second
        trees, ndata, parts = encoder.plant(sentences, premise.final)
        ndata["tree"] = trees.tree_of_node.to(premise.states.device)
        attending = _Attending(
            encoder.cell, self.attention, self.dropout, premise, self.leaf_queries
        )
        # the attending cell holds the tensors of one batch, so no code can be compiled for all
        state = run_cell(attending, trees, ndata, compile=False)
        memory, weights = state.get("c"), state["weights"]
        return NTIEncoding(trees, state["h"], memory=memory, attention=weights, **parts)


class _Attending:
    """Wrapper of a cell in which each inner node attends to a premise after its update.

    With ``leaves``, the leaves attend too.
    """

    group_by = "tree"  # gives the number of queries per tree and level on the host

    def __init__(
        self,
        cell: BaseCell,
        attention: AttentionOverTrees,
        dropout: nn.Module,
        premise: NTIEncoding,
        leaves: bool,
    ) -> None:
        self.cell, self.attention, self.dropout, self.premise = cell, attention, dropout, premise
        self.leaves = leaves
        self.keys = attention.keys(premise)  # the same at all levels
        self.slots: int | None = cell.slots

    def prepare(self, ndata: Any) -> dict[str, Tensor]:
        return self.cell.prepare(ndata)

    def message(self, edges: Edges) -> dict[str, Tensor]:
        return self.cell.message(edges)

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        received = torch.ones_like(nodes.data["tree"], dtype=torch.bool)
        return {**self.cell.reduce(nodes), "received": received}

    def update(self, nodes: Nodes) -> dict[str, Tensor]:
        state: dict[str, Tensor] = self.cell.update(nodes)
        h, (trees, number) = state["h"], self.premise.table.mask.shape
        if not self.leaves and "received" not in nodes.data:
            return {**state, "weights": h.new_zeros(len(h), number)}
        place, queries = _places(cast(Groups, nodes.groups))
        place = place.to(h.device, non_blocking=True)
        q = h.new_zeros(trees * queries, h.shape[1]).index_copy(0, place, h)
        attended = self.attention(q.view(trees, queries, -1), self.premise, keys=self.keys)
        h, weights = (each.flatten(0, 1).index_select(0, place) for each in attended)
        return {**state, "h": self.dropout(h), "weights": weights}


def _places(groups: Groups) -> tuple[Tensor, int]:
    """Return the index of each row in a padded table, a row per tree, and the table's width."""
    tree, count = np.array(groups).T
    queries = int(count.max())
    return torch.from_numpy(ranges(tree * queries, count)), queries


class TreeMatching(ClassHead):
    """Head that classifies two sentences by tree matching or full tree matching.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), section 4.1. All
    nodes of the hypothesis, deepest level first and from left to right, attend to the premise's
    tree; the matching LSTM reads the attention vectors, and its last state is classified. Full
    matching does this in both directions with the same weights and concatenates the last states.

    Arguments:
        attention: global or tree attention of the encoder's size c.
        output: the module from last states, of size c, or 2 c in full matching, to logits.
        full: match in both directions.
        root_query: let the root of the querying tree attend too, as in the paper; its code omits
            the root unless it is the only node.
        last_step: let the last state of the matching LSTM attend to all earlier states by a second
            global attention, as in the code.
        dropout: the probability of dropout on the attention vectors.
        init: how the weights of the LSTM are drawn.

    Shapes:
        from the encodings of ``E`` premises and hypotheses to ``(E, classes)``.
    """

    arity = 2

    def __init__(
        self,
        attention: AttentionOverTrees,
        output: nn.Module,
        *,
        full: bool = False,
        root_query: bool = True,
        last_step: bool = False,
        dropout: Fraction = 0.0,
        init: Init = "kaiming",
    ) -> None:
        super().__init__()
        self.attention, self.output = attention, output
        self.full, self.root_query = full, root_query
        size = attention.size
        self.lstm = make_lstm(size, size, init)
        score = attention.score.kind
        self.last = GlobalAttention(size, score=score, init=init) if last_step else None
        self.dropout = nn.Dropout(dropout)

    def attend(self, queries: NTIEncoding, memory: NTIEncoding) -> Attended:
        """Attend from the Q nodes of one tree to the M nodes of another, for each pair."""
        return self.attention(queries.table.states, memory)

    def match(self, queries: NTIEncoding, memory: NTIEncoding) -> Tensor:
        """Return the matching vectors ``(E, c)`` of ``queries``, which attend to ``memory``."""
        vectors = self.dropout(self.attend(queries, memory).h)
        lengths = queries.batch.sizes
        if not self.root_query:
            lengths = (lengths - 1).clamp(min=1)
        states, last = _run(self.lstm, vectors, lengths)
        if self.last is None:
            return last
        earlier = mask_of((lengths - 1).clamp(min=1), states.shape[1])
        attended = self.last.over(last.unsqueeze(1), states, ~earlier.to(states.device))
        return attended.h.squeeze(1)

    def forward(self, pair: EncodingPair) -> Tensor:
        """Compute the logits, ``(E, classes)``."""
        premise, hypothesis = pair
        vector = self.match(hypothesis, premise)
        if self.full:
            vector = torch.cat([vector, self.match(premise, hypothesis)], 1)
        logits: Tensor = self.output(vector)
        return logits


def make_lstm(input_size: int, size: int, init: Init = "kaiming") -> nn.LSTM:
    """Make an LSTM of one layer, ``(T, L, input_size)`` to ``(T, L, size)``, with biases 0."""
    lstm = nn.LSTM(input_size, size, batch_first=True)
    for name, parameter in lstm.named_parameters():
        if name.startswith("weight"):
            initialize(parameter, input_size + size, size, init)
        else:
            nn.init.zeros_(parameter)
    return lstm


def _run(lstm: nn.LSTM, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the states ``(T, L, c)`` and last states ``(T, c)`` of sequences of these lengths."""
    if bool((lengths == lengths[:1]).all()):
        states, (last, _) = lstm(x[:, : int(lengths[0])])
    else:
        packed, (last, _) = lstm(pack_padded_sequence(x, lengths, True, False))
        states, _ = pad_packed_sequence(packed, batch_first=True)
    return states, last[0]
