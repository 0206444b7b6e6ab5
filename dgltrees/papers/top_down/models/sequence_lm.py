"""LSTM language models over sentences, in one direction or in both: the baselines."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence, unpack_sequence

from dgltrees.cells.initial import uniform
from dgltrees.options import Count, checked
from dgltrees.papers.top_down.models.base import LanguageModel, Predictions, half
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import lasts, starts, within

__all__ = ["BidirectionalLM", "SequenceLM"]


@checked
class _SequenceModel(LanguageModel):
    """The base of models that run LSTMs over the nodes of each tree in order, ROOT first."""

    directions: ClassVar[int]

    def __init__(
        self,
        words: Count,
        hidden_size: Count,
        *,
        embedding: Count | None = None,
        layers: Count = 1,
        **options: Any,
    ) -> None:
        s, size = half(hidden_size, embedding), self.directions * hidden_size
        super().__init__(words, size, s, **options)
        self.lstms = nn.ModuleList(nn.LSTM(s, hidden_size, layers) for _ in range(self.directions))
        uniform(self.lstms)

    def run(self, direction: int, x: Tensor, batch: TreeBatch) -> Tensor:
        """The state after each row of ``x``, ``(N, d)``; each sentence starts from zeros."""
        sentences = list(x.split_with_sizes(batch.sizes.tolist()))
        packed = pack_sequence(sentences, enforce_sorted=False)
        states, _ = self.lstms[direction](packed)
        return torch.cat(unpack_sequence(states))


@checked
class SequenceLM(_SequenceModel):
    r"""An LSTM language model, the baseline of Table 1 in Zhang, Lu and Lapata (2016).

    .. math:: P(S) = \prod_{t=1}^n P(w_t | ROOT, w_1, \dots, w_{t-1})

    ROOT stands for the beginning of the sentence and, with ``end``, for its end. Batches are of
    trees whose nodes are in word order after ROOT, with a node column ``word``; edges are not
    used.

    Arguments:
        words: V, the size of the vocabulary with ROOT.
        hidden_size: d.
        embedding: s, the size of a word vector; by default d/2.
        layers: the number of layers.
        tied, dropout, vectors: see ``LanguageModel``; tied needs s = d.
        end: predict the end of every sentence too; ``log_prob`` is that of the sentence with it.

    Raises:
        ConfigError: sizes do not fit.
    """

    directions = 1

    def __init__(
        self, words: Count, hidden_size: Count, *, end: bool = False, **options: Any
    ) -> None:
        super().__init__(words, hidden_size, **options)
        self.end = end

    def forward(self, batch: TreeBatch) -> Predictions:
        """Predict all words except ROOT in node order; with ``end``, also the end, as ROOT."""
        h = self.run(0, self.embed(batch), batch)
        rows = before = torch.arange(batch.num_nodes)
        before = (before - 1).index_copy(0, starts(batch.sizes), lasts(batch.sizes))
        if not self.end:
            rows = rows[before < rows]
        before, rows = before[rows].to(h.device), rows.to(h.device)
        h = self.dropout(h.index_select(0, before))
        return Predictions(h, batch.ndata["word"].index_select(0, rows), rows)


class BidirectionalLM(_SequenceModel):
    r"""An LSTM language model in both directions: a word from all words before and after it.

    .. math:: \prod_{t=1}^n P(w_t | ROOT, w_1, \dots, w_{t-1};\, w_{t+1}, \dots, w_n, ROOT)

    Two LSTMs run up to the word from both sides, and it is predicted from both of their states.
    The product is a score, not a probability of the sentence. For arguments and batches see
    :class:`SequenceLM`; tied embeddings need s = 2 d.
    """

    directions = 2

    def forward(self, batch: TreeBatch) -> Predictions:
        """Predict all words except ROOT, in the order of the nodes."""
        x = self.embed(batch)
        first = torch.repeat_interleave(starts(batch.sizes), batch.sizes)
        place = within(batch.sizes)
        words_of = torch.repeat_interleave(batch.sizes, batch.sizes) - 1
        # Backwards: ROOT, then the last word down to the first.
        backwards = first + torch.where(place > 0, words_of + 1 - place, 0)
        rows = torch.nonzero(place > 0)[:, 0]
        before, after = rows - 1, (first + words_of - place)[rows]
        device = x.device
        f = self.run(0, x, batch).index_select(0, before.to(device))
        b = self.run(1, x.index_select(0, backwards.to(device)), batch)
        h = self.dropout(torch.cat([f, b.index_select(0, after.to(device))], 1))
        rows = rows.to(device)
        return Predictions(h, batch.ndata["word"].index_select(0, rows), rows)
