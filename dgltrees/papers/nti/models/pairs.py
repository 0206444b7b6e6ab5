"""Encoders of pairs of sentences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from dgltrees.errors import TreeError
from dgltrees.models.heads import wide
from dgltrees.models.inputs import Input
from dgltrees.papers.nti.models.encoder import NTIEncoder
from dgltrees.papers.nti.models.encoding import EncodingPair, NTIEncoding
from dgltrees.papers.nti.models.sentences import Sentences, split_pairs
from dgltrees.trees.batch import TreeBatch

__all__ = ["PairEncoder", "QuestionAnswerEncoder", "SentencePairEncoder", "SharedWordCount"]


class PairEncoder(nn.Module, ABC):
    """The base class of modules that encode pairs of sentences.

    In a batch, the two sentences of a pair are adjacent.

    Attributes:
        input: maps every token to its vector.
        size: c, the size of a state.
    """

    input: Input
    size: int
    __call__: Callable[..., EncodingPair]

    @property
    @abstractmethod
    def single(self) -> NTIEncoder:
        """The encoder of a sentence that is read on its own."""

    @abstractmethod
    def forward(self, batch: TreeBatch) -> EncodingPair:
        """Encode both sentences of each pair, as trees over their tokens.

        Raises:
            TreeError: the number of sentences is odd.
        """

    def encode_alone(self, batch: TreeBatch) -> NTIEncoding:
        """Encode all sentences of a batch independently of each other."""
        return self.single.encode(Sentences(self.input(batch), batch.sizes))

    def make_trees(self, lengths: ArrayLike) -> TreeBatch:
        """The trees over sentences of these lengths."""
        return self.single.make_trees(lengths)


class SentencePairEncoder(PairEncoder):
    """Encodes the two sentences of a pair independently: Munkhdalai and Yu (EACL 2017), Table 1.

    Arguments:
        encoder: builds trees over the tokens of both sentences.
    """

    def __init__(self, encoder: NTIEncoder) -> None:
        super().__init__()
        self.encoder, self.size = encoder, encoder.size

    @property
    def input(self) -> Input:  # type: ignore[override]
        """The module that maps every token to its vector."""
        return self.encoder.input

    @property
    def single(self) -> NTIEncoder:
        """The encoder of both sentences."""
        return self.encoder

    def forward(self, batch: TreeBatch) -> EncodingPair:
        """Encode both sentences of each pair; see :class:`PairEncoder`."""
        first, second = split_pairs(self.input(batch), batch)
        return EncodingPair(self.encoder.encode(first), self.encoder.encode(second))


class QuestionAnswerEncoder(PairEncoder):
    """NTI-ANF-LSTM: the question is encoded with the answer's vector as the query of its cell.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), section 4.2.

    Arguments:
        inputs: gives every token its vector.
        question: encodes questions, without inputs of its own; its cell needs a node field ``q``
            (NTI-ANF-LSTM).
        answer: encodes answers, without inputs of its own (NTI-SLSTM-LSTM), to the question's size.
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
    """The feature log(1 + n), with n the words of a sentence that also occur in the other.

    Munkhdalai and Yu (EACL 2017) mention "a simple word count feature" without a formula (footnote
    6); this formula is a choice of this package.

    Arguments:
        column: the node column that is 1 for words that also occur in the other sentence, else 0.
    """

    zero: Tensor

    def __init__(self, column: str) -> None:
        super().__init__()
        self.column = column
        self.register_buffer("zero", torch.zeros(()), persistent=False)  # has the model's dtype

    def forward(self, batch: TreeBatch) -> Tensor:
        """The feature of each sentence of a batch, ``(T, 1)``.

        Raises:
            TreeError: there is no such column.
        """
        if self.column not in batch.ndata:
            raise TreeError(
                f"expected a node column {self.column!r}, got only {sorted(batch.ndata)}"
            )
        shared = batch.ndata[self.column].to(wide(self.zero))
        count = shared.new_zeros(batch.num_trees).index_add(0, batch.tree_of_node, shared)
        return torch.log1p(count).unsqueeze(1)
