"""The base of language models: word vectors, an output layer, and log-probabilities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn

from dgltrees.cells.initial import uniform
from dgltrees.errors import ConfigError
from dgltrees.models.inputs import WordEmbedding
from dgltrees.models.softmax import softmax_nll
from dgltrees.options import Count, Fraction, checked
from dgltrees.trees.batch import TreeBatch

__all__ = ["LanguageModel", "Predictions"]


class Predictions(NamedTuple):
    """The P words that a model predicts in a batch, and the states it predicts them from.

    Attributes:
        h: ``(P, d)``, the states.
        words: ``(P,)``, the words.
        node: ``(P,)``, the node of each word in the batch; ROOT for symbols that mark an end and
            have no node.
    """

    h: Tensor
    words: Tensor
    node: Tensor


@checked
class LanguageModel(nn.Module, ABC):
    """A model of the words of trees, with word vectors and an output layer without bias.

    All parameters are drawn from U(-0.1, 0.1), as in the paper.

    Arguments:
        words: V, the size of the vocabulary with ROOT.
        state_size: the size of the states that words are predicted from.
        embedding: s, the size of a word vector.
        tied: use the word vectors as output embeddings, for which the sizes must be equal.
        dropout: the probability of dropout between the states and the output layer.
        vectors: ``(V, s)`` the initial word vectors; by default they are drawn.

    Raises:
        ConfigError: sizes do not fit, or the probability is not in [0, 1).
    """

    start: int | None = None
    """The id of START, if START and STOP are generated; that of STOP is the next."""

    def __init__(
        self,
        words: Count,
        state_size: Count,
        embedding: Count,
        *,
        tied: bool = False,
        dropout: Fraction = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        if tied and embedding != state_size:
            raise ConfigError(
                f"expected word vectors of the size {state_size} of the states to tie them to the "
                f"output layer, got size {embedding}; give both one size (model.hidden_size, "
                "model.embedding), or tie nothing (model.tied false)"
            )
        self.embed = WordEmbedding("word", words, embedding, vectors=vectors)
        if vectors is None:
            uniform(self.embed)
        self.dropout = nn.Dropout(dropout)
        self.W_ho = (
            None if tied else nn.Parameter(torch.empty(words, state_size).uniform_(-0.1, 0.1))
        )

    @property
    def output(self) -> Tensor:
        """The output embeddings, ``(V, d)``."""
        return self.embed.weight if self.W_ho is None else self.W_ho

    @abstractmethod
    def forward(self, batch: TreeBatch) -> Predictions:
        """The predictions of all words except ROOT."""

    def label_scores(self, h: Tensor, words: Tensor) -> Tensor | None:
        """The scores of the labels of dependencies, ``(P, K)``; None if the model has no labels.

        Arguments:
            h: ``(P, d)`` the states that the words are predicted from.
            words: ``(P,)`` the words.
        """
        return None

    def log_prob(self, batch: TreeBatch) -> Tensor:
        """The log-probability of each sentence, ``(T,)``, by the full softmax."""
        return self.total(self(batch), batch)

    def total(self, predictions: Predictions, batch: TreeBatch) -> Tensor:
        """The log-probability of the predictions of each tree, ``(T,)``."""
        nll = softmax_nll(predictions.h, self.output, predictions.words)
        tree = batch.tree_of_node.index_select(0, predictions.node)
        return nll.new_zeros(batch.num_trees).index_add(0, tree, -nll)


def half(hidden_size: int, embedding: int | None) -> int:
    """The size of word vectors: by default half that of the states, as in the paper."""
    return max(1, hidden_size // 2) if embedding is None else embedding
